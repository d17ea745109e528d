"""The console script: it loads nothing itself, so that Ctrl-C is understood from the first moment, and leaves
without taking the interpreter apart, which would cost a tenth of a short command."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn

CANCELLED = 130


def main() -> NoReturn:
    """Load the commands and carry out the command line; Ctrl-C before they are loaded ends it quietly."""
    try:
        from runtime.cli.main import main as carry_out

        carry_out()
    except KeyboardInterrupt:
        sys.exit(CANCELLED)
    except SystemExit as done:
        if not isinstance(done.code, int) or threading.active_count() > 1:
            raise  # the interpreter says the words, or waits for the threads
        leave(done.code)


def leave(code: int) -> NoReturn:
    """End the process: what was said is written, what asked to be called at the end is called."""
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # nobody reads it any more; the interpreter knows what to do
    os._exit(code)
