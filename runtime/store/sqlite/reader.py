"""The reader: a thread with its own connection for long reads, each on one snapshot."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from runtime.store.sqlite.connection import connect, told_as_ours

T = TypeVar("T")


class Reader:
    """Runs one long read after the other beside the loop; writers and small reads never wait for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="farthing-reader")

    async def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read on a snapshot of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, read)

    def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        with told_as_ours(self._path):
            if self._connection is None:
                self._connection = connect(self._path, read_only=True)
            self._connection.execute("BEGIN")
            try:
                return read(self._connection)
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    async def stop(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
