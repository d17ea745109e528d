"""After an erasure: the write-ahead log is emptied into the file, and the file's bytes are looked at.

`secure_delete` overwrites what is freed, but a page that SQLite has rearranged may keep old bytes between its
cells; where the text is still found, the file is written anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from runtime.store.sqlite.connection import connect

CHUNK = 1 << 22
"""Bytes read at a time."""


class Swept(NamedTuple):
    """`done`: the log is empty and no stale bytes are left. `remains`: the text stands in living data."""

    done: bool
    remains: bool


def sweep(path: Path, traces: Sequence[bytes], busy_ms: int) -> Swept:
    """Leave none of these bytes where nothing refers to them. Readers and writers of other processes are
    waited for, `busy_ms` at most each time."""
    connection = connect(path, busy_ms=busy_ms)
    try:
        done = _checkpoint(connection)
        if done and not found_in(path, traces):
            return Swept(done=True, remains=False)
        try:
            connection.execute("VACUUM")
        except sqlite3.Error:  # another process is at work, or the disk is full: what was erased is erased
            return Swept(done=False, remains=True)
        done = _checkpoint(connection)
    finally:
        connection.close()
    return Swept(done, found_in(path, traces))


def _checkpoint(connection: sqlite3.Connection) -> bool:
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error:
        return False
    return not busy


def found_in(path: Path, traces: Sequence[bytes]) -> bool:
    """Whether any of these bytes stand in the database file or its log."""
    if not traces:
        return False
    overlap = max(map(len, traces)) - 1
    for part in (path, path.with_name(path.name + "-wal")):
        if not part.exists():
            continue
        tail = b""
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                block = tail + chunk
                if any(trace in block for trace in traces):
                    return True
                tail = block[-overlap:] if overlap else b""
    return False
