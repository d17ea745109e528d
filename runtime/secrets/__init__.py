"""Credentials: finding what looks like one, and keeping the user's own out of everything that is stored."""

from runtime.secrets.detect import Found, find_credential
from runtime.secrets.redact import Redactor

__all__ = ["Found", "Redactor", "find_credential"]
