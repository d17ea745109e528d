"""Asking a run to end that another process executes: a mark on its row, which that process looks for."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from typing import cast

from runtime.store.sqlite.base import SqliteBase
from runtime.store.sqlite.rows import SqliteRows

LOOK_S = 0.25
"""How often a process that executes runs looks whether one of them is asked to end (SPEC 3: within 1 s)."""
_ASK = "UPDATE run SET cancel = ? WHERE run_id = ? AND finished_at IS NULL AND cancel IS NULL"
_ASKED = "SELECT run_id, cancel FROM run WHERE finished_at IS NULL AND cancel IS NOT NULL"


class SqliteCancelling(SqliteBase):
    """The verbs of `runtime.record.Record` for ending a run from anywhere."""

    _listeners: dict[str, asyncio.Future[str]] | None = None
    _looking: asyncio.Task[None] | None = None

    async def ask_cancel(self, run_id: str, actor: str) -> bool:
        def ask(rows: SqliteRows) -> bool:
            return rows.execute(_ASK, (actor, run_id)).rowcount > 0

        return cast(bool, await self._do(ask))

    async def cancel_asked(self, run_id: str) -> str:
        if self._listeners is None:
            self._listeners = {}
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._listeners[run_id] = future
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_out(self._listeners))
        try:
            return await future
        finally:
            del self._listeners[run_id]

    async def _look_out(self, listeners: dict[str, asyncio.Future[str]]) -> None:
        """One look for all runs of this process, and only where anything was committed since the last."""
        seen = -1
        while self._read is not None:
            await asyncio.sleep(LOOK_S)
            if not listeners or self._read is None:
                return
            with suppress(sqlite3.Error):  # the next look may find the file free
                (version,) = self._read.execute("PRAGMA data_version").fetchone()
                if version == seen:
                    continue
                for run_id, actor in self._read.execute(_ASKED).fetchall():
                    future = listeners.get(run_id)
                    if future is not None and not future.done():
                        future.set_result(actor)
                seen = version

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        await super().close()
