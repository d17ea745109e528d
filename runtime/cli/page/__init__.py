"""A session's timeline as one HTML file."""
