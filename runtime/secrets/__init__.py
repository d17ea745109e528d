"""Credentials: `detect` recognises them, `redact` replaces the configured ones. Import what is needed."""
