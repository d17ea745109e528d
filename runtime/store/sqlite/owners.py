"""Owners: each process holds a lock file beside the database, which the system frees when it dies."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from runtime.record import Interrupted
from runtime.store.sqlite.rows import SqliteRows
from runtime.store.values import micros
from runtime.store.verbs.runs import interrupt


class Lock(Protocol):
    """A lock that the system frees when the process dies."""

    def release(self, force: bool = False) -> None: ...


class _Flock:
    """flock(2) on a file; two of one process exclude each other too. filelock does the same, at the price of
    an import that would be a tenth of a short run."""

    def __init__(self, path: Path) -> None:
        import fcntl

        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise

    def release(self, force: bool = False) -> None:
        os.close(self._fd)


def lock_file(database: Path, owner: str) -> Path:
    return database.with_name(f"{database.name}.{owner}.lock")


def take(database: Path, owner: str) -> Lock | None:
    """The owner's lock, or None while its process lives; a lock that is out of reach is taken for held."""
    path = lock_file(database, owner)
    try:
        if os.name == "posix":
            return _Flock(path)
        from filelock import FileLock

        lock = FileLock(path, mode=0o600, thread_local=False)
        lock.acquire(blocking=False)
    except OSError:  # filelock's Timeout is one
        return None
    return lock


def drop(database: Path, owner: str, lock: Lock) -> None:
    """Remove the lock's file, then free it."""
    with suppress(OSError):
        lock_file(database, owner).unlink(missing_ok=True)
    lock.release()


def register(rows: SqliteRows, at: datetime) -> None:
    rows.execute("INSERT INTO owner VALUES (?, ?, ?)", (rows.owner, os.getpid(), micros(at)))


def resign(rows: SqliteRows) -> bool:
    """Leave, unless runs are still under way: those are ended by whoever finds the lock free."""
    if rows.runs_of_owner(rows.owner):
        return False
    _leave(rows, rows.owner)
    return True


def _leave(rows: SqliteRows, owner: str) -> None:
    rows.execute("DELETE FROM lease WHERE owner = ?", (owner,))
    rows.execute("DELETE FROM owner WHERE id = ?", (owner,))


def end_runs(rows: SqliteRows, owner: str, at: datetime) -> list[Interrupted]:
    """End what a dead owner left; a second time there is nothing left to do."""
    ended = [interrupt(rows, run, at) for run in rows.runs_of_owner(owner)]
    _leave(rows, owner)
    return ended
