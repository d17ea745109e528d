"""Care of a database file from outside its runs: one at a time, and a copy before anything is changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from filelock import FileLock, Timeout

from runtime.errors import Conflict


def exclusive(database: Path) -> FileLock:
    """The lock of whoever takes care of this database, held; it is freed with the process. Raises Conflict
    while somebody else does."""
    lock = FileLock(database.with_name(f"{database.name}.upkeep.lock"), mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise Conflict(
            "This database is being taken care of by another process.", remedy="Wait until it has ended."
        ) from None
    return lock


def back_up(database: Path, label: str) -> Path:
    """A whole and consistent copy beside the database, for its owner only; runs may go on meanwhile. One that
    is there already under this label is kept: it is from before what was begun then."""
    copy = database.with_name(f"{database.name}.{label}.backup")
    if copy.exists():
        return copy
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    part.touch(mode=0o600, exist_ok=False)
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
    part.replace(copy)
    return copy
