"""Rows of calls and of the calls that wait, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.ledger import CounterKey, Estimate
from runtime.record import CallIntent
from runtime.store.memory.rows_counters import counts
from runtime.store.memory.state import State
from runtime.store.rows import CallRow, RunRow
from runtime.store.terms import Terms
from runtime.store.values import from_json, period_starts, to_json


class CallRows:
    """Calls and those that wait."""

    def __init__(self, state: State) -> None:
        self._state = state

    def calls_of(self, run: RunRow, key: str) -> list[CallRow]:
        ids = self._state.calls_by_key.get((run.id, key))
        if ids is None:
            return []
        found = [self._state.calls[i - 1] for i in ids]
        return [
            call if call.result is None else call._replace(result=from_json(to_json(call.result)))
            for call in found
        ]

    def call(self, call_id: int) -> CallRow | None:
        calls = self._state.calls
        return calls[call_id - 1] if 0 < call_id <= len(calls) else None

    def live_calls(self, run: RunRow) -> list[CallRow]:
        state = self._state
        return [state.calls[i - 1] for i in state.open_calls.get(run.id, ())]

    def in_flight(self, key: CounterKey) -> list[CallRow]:
        return in_flight(self._state, key)

    def add_call(
        self,
        run: RunRow,
        intent: CallIntent,
        attempt: int,
        estimate: Estimate,
        counters: tuple[int, ...],
        pots: tuple[str, ...],
        holds: Mapping[int, int],
    ) -> CallRow:
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
            holds,
            intent.at,
            None,
            Terms(intent.input, intent.hold_for, intent.rules),
        )
        state.add(state.calls, call)
        state.add(state.calls_by_key.setdefault((run.id, intent.key), []), call_id)
        state.put(state.open_calls.setdefault(run.id, {}), call_id, None)
        return call

    def end_call(self, call_id: int, state: str, result: Any, holds: Mapping[int, int] | None) -> None:
        store = self._state
        call = store.calls[call_id - 1]
        ended = CallRow._make(
            (*call[:4], state, *call[5:14], holds or {}, call.reserved_at, result, call.terms)
        )
        store.replace(store.calls, call_id - 1, ended)
        if not holds:
            store.drop(store.open_calls[call.run], call_id)

    def put_holds(self, call_id: int, holds: Mapping[int, int] | None) -> None:
        store = self._state
        call = store.calls[call_id - 1]
        store.replace(store.calls, call_id - 1, call._replace(holds=holds or {}))
        if not holds and call.state != "open":
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


def in_flight(state: State, key: CounterKey) -> list[CallRow]:
    """The calls that are open or hold something and will count in a counter of this key."""
    found = []
    for run in state.runs.values():
        for call_id in state.open_calls.get(run.id, ()):
            call = state.calls[call_id - 1]
            same = run.partition == key.partition and key.pot in call.pots
            if same and counts(key, run, period_starts(call.reserved_at)):
                found.append(call)
    return found
