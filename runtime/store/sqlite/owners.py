"""Owners: each process holds a lock file beside the database, which the system frees when it dies."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock

from runtime.record import Interrupted
from runtime.store.sqlite.rows import SqliteRows
from runtime.store.values import micros
from runtime.store.verbs.runs import interrupt


def lock_file(database: Path, owner: str) -> Path:
    return database.with_name(f"{database.name}.{owner}.lock")


def take(database: Path, owner: str) -> FileLock | None:
    """The owner's lock, or None while its process lives; a lock that is out of reach is taken for held."""
    lock = FileLock(lock_file(database, owner), mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except OSError:  # filelock's Timeout is one
        return None
    return lock


def drop(database: Path, owner: str, lock: FileLock) -> None:
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
    rows.execute("DELETE FROM owner WHERE id = ?", (rows.owner,))
    return True


def end_runs(rows: SqliteRows, owner: str, at: datetime) -> list[Interrupted]:
    """End what a dead owner left; a second time there is nothing left to do."""
    ended = [interrupt(rows, run, at) for run in rows.runs_of_owner(owner)]
    rows.execute("DELETE FROM owner WHERE id = ?", (owner,))
    return ended
