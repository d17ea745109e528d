"""A bar on a terminal that shows how far something has come; in a pipe there is none."""

from __future__ import annotations

import sys

from runtime.cli.streams import is_terminal

WIDTH = 24
"""Cells of the bar."""


class Progress:
    """One line on stderr that is written over; `clear` takes it away before other words."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, what: str, done: int, of: int) -> None:
        """Show that so many of so many are done."""
        if not is_terminal(sys.stderr):
            return
        full = WIDTH * done // of if of else WIDTH
        bar = "█" * full + "░" * (WIDTH - full)
        sys.stderr.write(f"\r\x1b[K{bar} {done:,} of {of:,} {what}")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
