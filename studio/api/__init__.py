"""The HTTP API under /api/v1: a file for each noun, one table of all routes."""
