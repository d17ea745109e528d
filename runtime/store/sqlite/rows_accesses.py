"""Rows of how often facts were used."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.record import Access
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import micros


class AccessRows(Transaction):
    """How often facts were used."""

    def count_accesses(self, accesses: Sequence[Access]) -> None:
        self.connection.executemany(
            "INSERT INTO access VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " hits = hits + excluded.hits, last_at = max(last_at, excluded.last_at)",
            [(*access.shelf, access.key, access.hits, micros(access.at)) for access in accesses],
        )
