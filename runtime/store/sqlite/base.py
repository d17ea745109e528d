"""Life of the SQLite store: opening, owners, waiting for what others commit, closing."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.clock import Clock
from runtime.errors import StoreBusy, StoreError, StoreReadOnly
from runtime.record import Interrupted
from runtime.store.migrations import check, migrate
from runtime.store.sqlite import owners
from runtime.store.sqlite.connection import (
    BUSY_MS,
    connect,
    keep_private,
    prepare_file,
    store_error,
    told_as_ours,
    use_wal,
)
from runtime.store.sqlite.reader import Reader
from runtime.store.sqlite.rows import SqliteRows
from runtime.store.sqlite.writer import Committed, Verb, Writer
from runtime.store.waiting import Waiting

if TYPE_CHECKING:
    from runtime.store.sqlite.owners import Lock

POLL_S = 0.005
"""How often other processes' commits are looked for while a session is followed."""
SLOWEST_POLL_S = 0.05
"""How seldom they are looked for, at most, while calls wait."""
REAP_S = 1.0
"""How often a waiting call looks whether those that hold the budget are dead."""


class SqliteBase:
    """One database file, as one process has it open."""

    def __init__(self, path: Path, clock: Clock, *, busy_ms: int = BUSY_MS) -> None:
        self.path = path
        self._clock = clock
        self._busy_ms = busy_ms
        # not from the clock: two processes must differ even where both run on virtual time
        self._owner = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._waiting = Waiting()
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._read: sqlite3.Connection | None = None
        self._lock: Lock | None = None
        self._poller: asyncio.Task[None] | None = None
        self._reaped = time.monotonic()

    # -- opening

    async def open(self) -> None:
        prepare_file(self.path)
        loop = asyncio.get_running_loop()
        writer = Writer(self.path, self._connect, loop, self._notify)
        await writer.start()
        self._writer, self._reader = writer, Reader(self.path)
        try:
            with told_as_ours(self.path):
                self._read = connect(self.path, busy_ms=self._busy_ms, read_only=True)
            self._lock = owners.take(self.path, self._owner)
            if self._lock is None:
                raise StoreReadOnly(
                    f"No lock can be held beside the database {self.path}.",
                    remedy="Allow writing to its folder, or name another file with --db.",
                )
            at = self._clock.now()
            await self._do(lambda rows: owners.register(rows, at))
            with told_as_ours(self.path):
                (self._waiting.pulse,) = self._read.execute("SELECT beats FROM pulse").fetchone()
            await self.reap()
        except BaseException:
            await self.close()
            raise

    def _connect(self) -> SqliteRows:
        """The writing connection, on a database that is ours and up to date. On the writer's thread."""
        deadline = time.monotonic() + self._busy_ms / 1000
        while True:
            try:
                return self._prepare()
            except sqlite3.Error as error:
                told = store_error(error, self.path)
                # switching to the write-ahead log does not wait for other processes by itself
                if not isinstance(told, StoreBusy) or time.monotonic() > deadline:
                    raise told from error
                time.sleep(0.01)

    def _prepare(self) -> SqliteRows:
        connection = connect(self.path, busy_ms=self._busy_ms)
        try:
            check(connection, str(self.path))
            keep_private(self.path)
            use_wal(connection, self.path)
            migrate(connection, str(self.path))
        except BaseException:
            connection.close()
            raise
        return SqliteRows(connection, self._owner)

    async def close(self) -> None:
        if self._writer is None:
            return
        writer, reader = self._writer, self._reader
        self._waiting.close()
        if self._poller is not None:
            self._poller.cancel()
        gone = False
        with suppress(StoreError):
            gone = await writer.run(owners.resign)
        await writer.stop()
        self._writer = None
        if reader is not None:
            await reader.stop()
        if self._read is not None:
            self._read.close()
            self._read = None
        if self._lock is not None:
            if gone:
                owners.drop(self.path, self._owner, self._lock)
            else:
                self._lock.release()

    # -- working

    async def _do(self, verb: Verb, *, durable: bool = False) -> Any:
        if self._writer is None:
            raise _closed()
        return await self._writer.run(verb, durable=durable)

    def _look(self, read: Callable[..., Any], *args: Any) -> Any:
        """A small read, at once: readers of a write-ahead log wait for nobody."""
        if self._read is None:
            raise _closed()
        with told_as_ours(self.path):
            return read(self._read, *args)

    async def _study(self, read: Callable[..., Any], *args: Any) -> Any:
        """A long read, beside the loop."""
        if self._reader is None or self._writer is None:
            raise _closed()
        return await self._reader.run(lambda connection: read(connection, *args))

    async def reap(self) -> list[Interrupted]:
        found = self._look(_others, self._owner)
        ended: list[Interrupted] = []
        for owner in found:
            lock = owners.take(self.path, owner)
            if lock is None:
                continue
            try:
                ended += await self._do(partial(owners.end_runs, owner=owner, at=self._clock.now()))
            except BaseException:
                lock.release()
                raise
            owners.drop(self.path, owner, lock)
        return ended

    # -- waiting

    def _notify(self, committed: Committed) -> None:
        for session in committed.sessions:
            self._waiting.moved(session)
        if committed.pulse is not None:
            self._waiting.beat(committed.pulse)

    async def wait_settled(self, timeout_s: float) -> bool:
        if await self._waiting.missed():
            return True
        deadline, pulse = time.monotonic() + timeout_s, self._waiting.pulse
        while True:
            self._watch()
            if await self._waiting.settled(min(deadline - time.monotonic(), REAP_S)):
                return True
            if self._writer is not None and time.monotonic() - self._reaped > REAP_S:
                self._reaped = time.monotonic()
                with suppress(StoreError):  # the next look may find the file free
                    await self.reap()
            if self._waiting.pulse != pulse:
                return True
            if self._writer is None or time.monotonic() >= deadline:
                return False

    def _watch(self) -> None:
        """Look for what other processes commit for as long as anybody here waits."""
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        seen, pause = -1, POLL_S
        while self._read is not None:
            with suppress(sqlite3.Error):  # whoever waits goes on looking; a verb will tell what is wrong
                (version,) = self._read.execute("PRAGMA data_version").fetchone()
                pause = POLL_S if version != seen else min(SLOWEST_POLL_S, pause * 1.5)
                if version != seen:
                    seen = version
                    self._waiting.all_moved()
                    self._waiting.beat(self._read.execute("SELECT beats FROM pulse").fetchone()[0])
            await asyncio.sleep(POLL_S if self._waiting.followed else pause)
            if not (self._waiting.followed or self._waiting.awaited):
                return


def _others(connection: sqlite3.Connection, owner: str) -> list[str]:
    """Every owner but this one, whether it is registered or only named by a run that has not ended."""
    found = connection.execute(
        "SELECT id FROM owner WHERE id <> ?1 UNION SELECT owner FROM run WHERE finished_at IS NULL"
        " AND owner <> ?1 ORDER BY 1",
        (owner,),
    )
    return [other for (other,) in found.fetchall()]


def _closed() -> StoreError:
    return StoreError("The database is not open.", remedy="Open it first.")
