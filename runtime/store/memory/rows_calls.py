"""Rows of calls, tickets, counters, holds and the ledger in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from runtime.ledger import EVERYONE, RECENT_CALLS, Counter, CounterKey, Estimate, HoldAmount, ModelPast
from runtime.record import CallIntent, LedgerRow, LimitChange
from runtime.store.memory.state import State
from runtime.store.rows import CallRow, Charge, CounterRow, RunRow
from runtime.store.values import from_json, period_starts, to_json


class CallRows:
    """Calls and those that wait."""

    def __init__(self, state: State) -> None:
        self._state = state

    def calls_of(self, run: RunRow, key: str) -> list[CallRow]:
        calls = self._state.calls
        found = [calls[i - 1] for i in self._state.calls_by_key.get((run.id, key), ())]
        return [
            call if call.result is None else call._replace(result=from_json(to_json(call.result)))
            for call in found
        ]

    def call(self, call_id: int) -> CallRow | None:
        calls = self._state.calls
        return calls[call_id - 1] if 0 < call_id <= len(calls) else None

    def live_calls(self, run: RunRow) -> list[CallRow]:
        state = self._state
        found = [state.calls[i - 1] for i in state.open_calls.get(run.id, ())]
        return [call for call in found if call.state == "open" or call.id in state.holds]

    def add_call(
        self,
        run: RunRow,
        intent: CallIntent,
        attempt: int,
        estimate: Estimate,
        counters: tuple[int, ...],
        pots: tuple[str, ...],
    ) -> int:
        state = self._state
        call_id = len(state.calls) + 1
        call = CallRow(
            call_id,
            run.id,
            intent.key,
            attempt,
            "open",
            intent.kind,
            intent.node_id,
            intent.step,
            intent.purpose,
            intent.model,
            intent.provider,
            estimate,
            counters,
            pots,
            intent.at,
            None,
        )
        state.add(state.calls, call)
        state.add(state.calls_by_key.setdefault((run.id, intent.key), []), call_id)
        state.put(state.open_calls.setdefault(run.id, {}), call_id, None)
        return call_id

    def end_call(self, call_id: int, state: str, result: Any) -> None:
        store = self._state
        call = store.calls[call_id - 1]
        store.replace(store.calls, call_id - 1, call._replace(state=state, result=result))
        if call_id not in store.holds:
            store.drop(store.open_calls[call.run], call_id)

    # -- waiting

    def anyone_waits(self) -> bool:
        return bool(self._state.tickets)

    def ticket_of(self, run: RunRow, key: str) -> int | None:
        wanted = (run.id, key)
        return next((ticket for ticket, who in self._state.tickets.items() if who == wanted), None)

    def add_ticket(self, run: RunRow, key: str) -> int:
        state = self._state
        state.last_ticket += 1
        state.put(state.tickets, state.last_ticket, (run.id, key))
        return state.last_ticket

    def wait_on(self, ticket: int, counters: Iterable[int]) -> None:
        self._state.put(self._state.waits_on, ticket, frozenset(counters))

    def ahead(self, counters: Sequence[int], ticket: int | None) -> set[int]:
        found: set[int] = set()
        for earlier, waits_on in self._state.waits_on.items():
            if ticket is None or earlier < ticket:
                found |= waits_on
        return found & set(counters)

    def drop_ticket(self, ticket: int) -> None:
        self._state.drop(self._state.tickets, ticket)
        self._state.drop(self._state.waits_on, ticket)

    def drop_tickets(self, run: RunRow) -> None:
        for ticket, (run_number, _) in list(self._state.tickets.items()):
            if run_number == run.id:
                self.drop_ticket(ticket)
                self.stir()

    def stir(self) -> None:
        self._state.pulse += 1


class CounterRows:
    """Counters, holds, ledger rows."""

    def __init__(self, state: State) -> None:
        self._state = state

    def counters(self, keys: Sequence[CounterKey]) -> list[CounterRow]:
        state = self._state
        ids = [state.counter_ids.get(key) or self._create(key) for key in keys]
        return [state.counters[i - 1] for i in ids]

    def _create(self, key: CounterKey) -> int:
        state = self._state
        counter_id = len(state.counters) + 1
        state.add(state.counters, CounterRow(counter_id, key, fold(state, key)))
        state.put(state.counter_ids, key, counter_id)
        state.add(state.counters_of.setdefault((key.partition, key.pot, key.owner), []), counter_id)
        return counter_id

    def counters_by_id(self, ids: Sequence[int]) -> list[CounterRow]:
        return [self._state.counters[i - 1] for i in ids]

    def _put(self, row: CounterRow, counter: Counter) -> None:
        self._state.replace(self._state.counters, row.id - 1, CounterRow(row.id, row.key, counter))

    def _hold_more(self, counter_id: int, amount: int) -> None:
        row = self._state.counters[counter_id - 1]
        used, held, unknown, limit = row.counter
        self._put(row, Counter(used, held + amount, unknown, limit))

    def hold(self, call_id: int, counters: Sequence[int], amounts: Sequence[HoldAmount]) -> None:
        if not amounts:
            return
        held = {counters[rule]: amount for rule, amount in amounts}
        self._state.put(self._state.holds, call_id, held)
        for counter_id, amount in held.items():
            self._hold_more(counter_id, amount)

    def holds(self, call_id: int) -> dict[int, int]:
        return self._state.holds.get(call_id, {})

    def free(self, call_id: int, used: Charge | None) -> None:
        held = self._state.holds.get(call_id)
        if held is None:
            return
        kept: dict[int, int] = {}
        for counter_id, amount in held.items():
            part = amount
            if used is not None:
                metric = self._state.counters[counter_id - 1].key.metric
                part = min(amount, used.tokens if metric == "tokens" else used.cost)
                kept[counter_id] = amount - part
            self._hold_more(counter_id, -part)
        if used is not None:
            self._state.put(self._state.holds, call_id, kept)
        else:
            self._state.drop(self._state.holds, call_id)
            self._forget_closed(call_id)

    def move_holds(self, from_call: int, to_call: int) -> None:
        self._state.put(self._state.holds, to_call, self._state.holds[from_call])
        self._state.drop(self._state.holds, from_call)
        self._forget_closed(from_call)

    def _forget_closed(self, call_id: int) -> None:
        call = self._state.calls[call_id - 1]
        if call.state != "open":
            self._state.drop(self._state.open_calls[call.run], call_id)

    def add_ledger(self, row: LedgerRow) -> int:
        state = self._state
        row_id = len(state.ledger) + 1
        state.add(state.ledger, msgspec.structs.replace(row, id=row_id))
        if row.kind in ("settle", "correct"):
            for whose in (row.run_id, row.session_uid):
                state.add(state.settled.setdefault(whose, []), state.ledger[-1])
        if row.kind == "settle" and not row.estimated and row.model is not None:
            past = state.pasts.setdefault((row.partition, row.model), [])
            state.add(past, (row.usage.tokens, row.cost))
        return row_id

    def charge(
        self, ledger_id: int, run: RunRow, pots: Sequence[str], reserved_at: datetime, what: Charge
    ) -> None:
        state, starts = self._state, period_starts(reserved_at)
        row = state.ledger[ledger_id - 1]
        user = run.user_id or ""
        for pot in pots:
            state.add(state.charges.setdefault((run.partition, pot), []), row)
            for owner in dict.fromkeys((run.run_id, run.session_uid, user, EVERYONE)):
                for counter_id in state.counters_of.get((run.partition, pot, owner), ()):
                    counter = state.counters[counter_id - 1]
                    period = counter.key.period
                    if period == "run":
                        belongs = owner == run.run_id
                    elif period == "session":
                        belongs = owner == run.session_uid
                    else:
                        start = "" if period == "lifetime" else getattr(starts, period)
                        belongs = owner in (user, EVERYONE) and counter.key.start == start
                    if belongs:
                        self._put(counter, added(counter.key, counter.counter, what))

    def model_past(self, partition: str, model: str) -> ModelPast:
        past = self._state.pasts.get((partition, model))
        if not past:
            return ModelPast()
        recent = past[-RECENT_CALLS:]
        costs = [cost for _, cost in recent if cost is not None]
        return ModelPast(len(recent), max(tokens for tokens, _ in recent), max(costs) if costs else None)

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


def added(key: CounterKey, counter: Counter, what: Charge) -> Counter:
    """A counter after a settled row."""
    used, held, unknown, limit = counter
    if key.metric == "tokens":
        return Counter(used + what.tokens, held, unknown, limit)
    return Counter(used + what.cost, held, unknown + what.unknown, limit)


def fold(state: State, key: CounterKey) -> Counter:
    """What the ledger says of a counter that is not stored."""
    counter = Counter()
    for row in state.charges.get((key.partition, key.pot), ()):
        if _belongs(key, row):
            unknown = int(row.kind == "settle" and row.cost is None)
            counter = added(key, counter, Charge(row.usage.tokens, row.cost or 0, unknown))
    return counter._replace(limit=_raised(state, key))


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
