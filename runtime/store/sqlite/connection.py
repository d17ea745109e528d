"""Connections: pragmas, file modes, and SQLite's errors told as ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runtime.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

BUSY_MS = 10_000
"""How long to wait for another process's transaction before StoreBusy."""

CACHE_KB = 16_000
"""Pages that the writing connection keeps in memory, in kibibytes."""


def prepare_file(path: Path) -> None:
    """Make the folder (0700) and the file (0600), so that SQLite gives WAL and shared memory that mode."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except IsADirectoryError:
        raise StoreCorrupt(f"{path} is a folder, not a database.", remedy="Name a file with --db.") from None
    except OSError as error:
        raise StoreReadOnly(
            f"The database {path} cannot be written: {error.strerror}.",
            remedy="Allow writing there, or name another file with --db.",
        ) from error
    os.close(descriptor)


def keep_private(path: Path) -> None:
    """Take a database of ours that others may read back to its owner; its log files follow its mode."""
    with suppress(OSError):
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def connect(path: Path, *, busy_ms: int = BUSY_MS, read_only: bool = False) -> sqlite3.Connection:
    """A connection that leaves transactions to us."""
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256, check_same_thread=False)
    wishes = [f"busy_timeout = {busy_ms}", "trusted_schema = OFF"]
    if read_only:
        wishes.append("query_only = ON")
    else:
        wishes += [f"cache_size = -{CACHE_KB}", "secure_delete = ON", "foreign_keys = ON"]
    try:
        for wish in wishes:
            connection.execute(f"PRAGMA {wish}")
    except BaseException:
        connection.close()
        raise
    return connection


def use_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to write-ahead logging once; processes that start at once may briefly be in each other's way."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreReadOnly(
            f"The database {path} cannot use a write-ahead log.",
            remedy="Keep it on a local disk, or name another file with --db.",
        )


@contextmanager
def told_as_ours(path: Path | str) -> Iterator[None]:
    """SQLite's errors as StoreErrors with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(error, path) from error


def store_error(error: sqlite3.Error, path: Path | str) -> StoreError:
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(
            f"Another process held the database {path} for too long.",
            remedy="Try again; end other programs that keep the file open.",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StoreReadOnly(
            f"The database {path} cannot be written.",
            remedy="Allow writing to the file and its folder, or name another file with --db.",
        )
    if name.startswith("SQLITE_FULL"):
        return StoreFull(
            f"The disk of the database {path} is full.",
            remedy="Free some space and try again; what was stored is safe.",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")):
        return StoreCorrupt(
            f"{path} is not a sound database.",
            remedy="Restore a backup, or name another file with --db.",
        )
    return StoreError(
        f"The database {path} could not be used: {error}.", remedy="Check the disk and try again."
    )
