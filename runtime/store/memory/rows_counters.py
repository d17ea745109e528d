"""Rows of counters and the ledger in memory. A counter is a cache of a fold over ledger rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from runtime.ledger import EVERYONE, RECENT_CALLS, Counter, CounterKey, ModelPast, used_by
from runtime.record import LedgerRow, LimitChange
from runtime.store.memory.state import State
from runtime.store.rows import CounterRow, Delta, RunRow
from runtime.store.values import PeriodStarts, past_of, period_starts


class CounterRows:
    """Counters, holds, ledger rows."""

    def __init__(self, state: State) -> None:
        self._state = state

    def counters(self, keys: Sequence[CounterKey], created: Callable[[CounterRow], None]) -> list[CounterRow]:
        state = self._state
        for key in keys:
            if key not in state.counter_ids:
                created(state.counters[self._create(key) - 1])
        return [state.counters[state.counter_ids[key] - 1] for key in keys]

    def _create(self, key: CounterKey) -> int:
        state = self._state
        counter_id = len(state.counters) + 1
        state.add(state.counters, CounterRow(counter_id, key, fold(state, key)))
        state.put(state.counter_ids, key, counter_id)
        state.add(state.counters_of.setdefault((key.partition, key.pot, key.owner), []), counter_id)
        state.charged.clear()
        return counter_id

    def counters_by_id(self, ids: Sequence[int]) -> list[CounterRow]:
        return [self._state.counters[i - 1] for i in ids]

    def _put(self, row: CounterRow, counter: Counter) -> None:
        self._state.replace(self._state.counters, row.id - 1, CounterRow(row.id, row.key, counter))

    def adjust(self, changes: Mapping[int, Delta]) -> None:
        stored = self._state.counters
        for counter_id, (more_used, more_held, more_unknown) in changes.items():
            _, key, (used, held, unknown, limit) = stored[counter_id - 1]
            counter = Counter(used + more_used, held + more_held, unknown + more_unknown, limit)
            self._state.replace(stored, counter_id - 1, CounterRow(counter_id, key, counter))

    def charged(self, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> Sequence[CounterRow]:
        state, starts = self._state, period_starts(reserved_at)
        asked = (run.id, pots, starts)
        ids = state.charged.get(asked)
        if ids is None:
            ids = state.charged[asked] = [
                counter_id
                for pot in pots
                for owner in dict.fromkeys((run.run_id, run.charged_uid, run.user_id or "", EVERYONE))
                for counter_id in state.counters_of.get((run.partition, pot, owner), ())
                if counts(state.counters[counter_id - 1].key, run, starts)
            ]
        return [state.counters[i - 1] for i in ids]

    def add_ledger(self, row: LedgerRow) -> int:
        state = self._state
        row_id = len(state.ledger) + 1
        msgspec.structs.force_setattr(row, "id", row_id)  # nobody else has seen this row yet
        state.add(state.ledger, row)
        if row.kind in ("settle", "correct"):
            for whose in (row.run_id, row.session_uid):
                state.add(state.settled.setdefault(whose, []), state.ledger[-1])
        if row.kind == "settle" and not row.estimated and row.model is not None:
            past = state.pasts.setdefault((row.partition, row.model), [])
            state.add(past, (row.usage.tokens, row.cost))
            state.summaries.pop((row.partition, row.model), None)
        return row_id

    def add_charge(self, ledger_id: int, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> None:
        state = self._state
        for pot in pots:
            state.add(state.charges.setdefault((run.partition, pot), []), state.ledger[ledger_id - 1])

    def model_past(self, partition: str, model: str) -> ModelPast:
        state, key = self._state, (partition, model)
        summary = state.summaries.get(key)
        if summary is None:
            summary = state.summaries[key] = past_of(state.pasts.get(key, [])[-RECENT_CALLS:])
        return summary

    def add_limit_change(self, ledger_id: int, change: LimitChange, counter: CounterRow) -> None:
        if change.action == "reset":
            self._put(counter, counter.counter._replace(used=0, unknown=0))
            return
        key = change.key
        for counter_id in self._state.counters_of[(key.partition, key.pot, key.owner)]:
            row = self._state.counters[counter_id - 1]
            same = (row.key.period, row.key.metric) == (key.period, key.metric)
            if same and (row.key.start == key.start or (change.for_good and row.key.start > key.start)):
                self._put(row, row.counter._replace(limit=change.amount))


def counts(key: CounterKey, run: RunRow, starts: PeriodStarts) -> bool:
    """Whether a call of this run, reserved in these periods, counts in a counter of its pot."""
    if key.period == "run":
        return key.owner == run.run_id
    if key.period == "session":
        return key.owner == run.charged_uid
    start = "" if key.period == "lifetime" else getattr(starts, key.period)
    return key.owner in (run.user_id or "", EVERYONE) and key.start == start


def fold(state: State, key: CounterKey) -> Counter:
    """What the ledger says of a counter that is not stored."""
    used, unknown = 0, 0
    for row in state.charges.get((key.partition, key.pot), ()):
        if _belongs(key, row):
            used += used_by(key.metric, row.usage.tokens, row.cost)
            unknown += key.metric == "spend" and row.kind == "settle" and row.cost is None
    return Counter(used, 0, unknown, _raised(state, key))


def _belongs(key: CounterKey, row: LedgerRow) -> bool:
    if key.period == "run":
        return row.run_id == key.owner
    if key.period == "session":
        return row.session_uid == key.owner
    if key.owner not in (EVERYONE, row.user_id or ""):
        return False
    return key.period == "lifetime" or (
        row.reserved_at is not None and getattr(period_starts(row.reserved_at), key.period) == key.start
    )


def _raised(state: State, key: CounterKey) -> int | None:
    for row in reversed(state.ledger):
        same = (row.partition, row.pots, row.metric, row.period, row.owner) == (
            key.partition,
            (key.pot,),
            key.metric,
            key.period,
            key.owner,
        )
        if row.kind == "raise" and same and (row.for_good or row.start == key.start):
            return row.amount
    return None
