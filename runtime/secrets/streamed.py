"""Text that comes in pieces, with the secrets in it replaced however it is cut."""

from __future__ import annotations

from runtime.secrets.redact import Redactor


class Streamed:
    """The text of one reply. What may be the beginning of a secret is kept back until it is decided."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor, self._kept = redactor, ""

    def add(self, piece: str) -> str:
        """The text that may be shown now that this piece has come."""
        if self._redactor is None:
            return piece
        text = self._kept + piece
        cut = self._redactor.settled(text)
        self._kept = text[cut:]
        return self._redactor.text(text[:cut])

    def end(self) -> str:
        """The rest, after the last piece."""
        rest, self._kept = self._kept, ""
        return rest if self._redactor is None else self._redactor.text(rest)
