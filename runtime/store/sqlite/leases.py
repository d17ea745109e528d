"""Leases on SQLite: a row each, taken over once its time is over or its process is dead."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import cast

from runtime.record import Lease
from runtime.store.sqlite.base import SqliteBase
from runtime.store.sqlite.rows import SqliteRows
from runtime.store.values import micros

_TAKE = """INSERT INTO lease VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, holder = excluded.holder, until = excluded.until
WHERE lease.holder = excluded.holder OR lease.until <= ?"""


class SqliteLeases(SqliteBase):
    """The verbs of `runtime.record.Record` for what only one may do at a time."""

    async def take_lease(self, lease: Lease, at: datetime) -> bool:
        def take(rows: SqliteRows) -> bool:
            values = (lease.name, rows.owner, lease.holder, micros(lease.until), micros(at))
            return rows.execute(_TAKE, values).rowcount > 0

        return cast(bool, await self._do(take))

    async def drop_lease(self, lease: Lease) -> None:
        sql = "DELETE FROM lease WHERE name = ? AND holder = ?"
        await self._do(lambda rows: rows.execute(sql, (lease.name, lease.holder)).rowcount)

    async def lease_held(self, name: str, at: datetime) -> bool:
        return cast(bool, self._look(_held, name, micros(at)))


def _held(connection: sqlite3.Connection, name: str, at: int) -> bool:
    found = connection.execute("SELECT 1 FROM lease WHERE name = ? AND until > ?", (name, at)).fetchone()
    return found is not None
