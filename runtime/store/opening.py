"""Opens the store that a place calls for; each is imported only when it is the one."""

from __future__ import annotations

from pathlib import Path

from runtime.clock import Clock
from runtime.record import Record


def open_record(path: Path | None, clock: Clock) -> Record:
    """The record of a database file; without a path one in memory, gone with the process.

    It is not open yet: `await record.open()` connects and raises StoreError where that cannot be.
    """
    if path is None:
        from runtime.store.memory.record import MemoryRecord

        return MemoryRecord(clock)
    from runtime.store.sqlite.record import SqliteRecord

    return SqliteRecord(path, clock)
