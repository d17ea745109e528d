"""The browser studio: design flows, run them, inspect what happened."""
