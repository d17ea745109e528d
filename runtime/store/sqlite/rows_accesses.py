"""Rows of how often facts were used."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.facts import Shelf
from runtime.record import Access
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import instant, micros
from runtime.store.verbs.ageing import raised


class AccessRows(Transaction):
    """How often facts were used."""

    def count_accesses(self, accesses: Sequence[Access]) -> None:
        self.connection.executemany(
            "INSERT INTO access VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " hits = hits + excluded.hits, last_at = max(last_at, excluded.last_at), score = excluded.score",
            [
                (*access.shelf, access.key, access.hits, micros(access.at), self._score(access))
                for access in accesses
            ],
        )

    def forget_uses(self, shelf: Shelf, key: str) -> None:
        sql = (
            "DELETE FROM access WHERE partition = ? AND namespace = ? AND scope = ? AND owner = ? AND key = ?"
        )
        self.execute(sql, (*shelf, key))

    def _score(self, access: Access) -> float | None:
        """The score after this access; what does not fade needs no look at the one before."""
        if access.fading is None:
            return None
        row = self.execute(
            "SELECT hits, last_at, score FROM access"
            " WHERE partition = ? AND namespace = ? AND scope = ? AND owner = ? AND key = ?",
            (*access.shelf, access.key),
        ).fetchone()
        before = None if row is None else access._replace(hits=row[0], at=instant(row[1]), score=row[2])
        return raised(before, access)
