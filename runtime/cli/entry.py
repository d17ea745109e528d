"""The console script: it loads nothing itself, so that Ctrl-C is understood from the first moment."""

from __future__ import annotations

import sys
from typing import NoReturn

CANCELLED = 130


def main() -> NoReturn:
    """Load the commands and carry out the command line; Ctrl-C before they are loaded ends it quietly."""
    try:
        from runtime.cli.main import main as carry_out

        carry_out()
    except KeyboardInterrupt:
        sys.exit(CANCELLED)
