"""The writing connection and its transaction; what it changed is told to those who wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from runtime.store.sqlite.known import Known


class Transaction:
    """Begin, commit and roll back on one connection.

    `touched`: sessions that got events. `pulse`: the new count of what may let waiting calls through.
    """

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self.connection = connection
        self.execute: Callable[..., sqlite3.Cursor] = connection.execute
        self.touched: set[str] = set()
        self.pulse: int | None = None
        self._owner = owner
        self._durable: bool | None = None
        self.known = Known()

    @property
    def owner(self) -> str:
        return self._owner

    def one(self, sql: str, *values: Any) -> Any:
        """The first row, or None."""
        return self.execute(sql, values).fetchone()

    def insert(self, sql: str, values: tuple[Any, ...]) -> int:
        """Insert one row and give its id."""
        row_id = self.execute(sql, values).lastrowid
        assert row_id is not None
        return row_id

    def begin(self, *, durable: bool) -> None:
        """FULL puts the commit on the disk; NORMAL survives the process's death, not the machine's."""
        if durable is not self._durable:
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        self.execute("BEGIN IMMEDIATE")
        self.known.check(self.execute("PRAGMA data_version").fetchone()[0])

    def commit(self) -> None:
        self.execute("COMMIT")

    def savepoint(self) -> None:
        self.execute("SAVEPOINT verb")

    def release(self) -> None:
        self.execute("RELEASE verb")

    def back_to_savepoint(self) -> None:
        """Take one verb back; the transaction goes on."""
        self.execute("ROLLBACK TO verb")
        self.execute("RELEASE verb")
        self.known.forget()

    def rollback(self) -> None:
        self.touched.clear()
        self.pulse = None
        self.known.forget()
        if self.connection.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()
