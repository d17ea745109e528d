"""What the writing connection still knows from its last transactions, so as not to read it again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runtime.ledger import CounterKey
from runtime.store.rows import CallRow, CounterRow, RunRow
from runtime.store.values import PeriodStarts

MOST = 20_000
"""Rows remembered at most before all are forgotten, which bounds memory and costs one read each."""


class Known:
    """A cache of rows. It is true while no other connection has written and nothing was rolled back; the
    transaction asks SQLite for the first and says the second."""

    def __init__(self) -> None:
        self.version = -1
        self.runs: dict[str, RunRow] = {}
        self.next_seq: dict[int, int] = {}
        self.counters: dict[int, CounterRow] = {}
        self.counter_ids: dict[CounterKey, int] = {}
        self.charged: dict[tuple[int, Sequence[str], PeriodStarts], list[int]] = {}
        """The counters in which a run's calls count; forgotten when a counter is added."""
        self.calls: dict[int, CallRow] = {}
        """Calls that were opened here and are open still."""
        self.pasts: dict[tuple[str, str], deque[tuple[int, int | None]]] = {}
        """Tokens and cost of a model's last settled calls, oldest first."""
        self.waiting: bool | None = None
        """Whether any call waits."""

    def forget(self) -> None:
        self.runs.clear()
        self.next_seq.clear()
        self.counters.clear()
        self.counter_ids.clear()
        self.charged.clear()
        self.calls.clear()
        self.pasts.clear()
        self.waiting = None

    def check(self, version: int) -> None:
        """Forget everything once another connection has written, or when it has grown too much."""
        size = len(self.runs) + len(self.next_seq) + len(self.counters) + len(self.charged) + len(self.calls)
        if version != self.version or size > MOST:
            self.forget()
            self.version = version

    def put_counter(self, row: CounterRow) -> None:
        self.counters[row.id] = row
        self.counter_ids[row.key] = row.id
