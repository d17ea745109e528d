"""The in-memory store: the same verbs on plain Python structures, gone with the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from runtime.clock import Clock
from runtime.errors import StoreError
from runtime.events import Entry, Event
from runtime.facts import Fact, FactWrite, Partition, Shelf, Written
from runtime.ledger import Counter, CounterKey, ModelPast
from runtime.messages import Message
from runtime.record import (
    BuildAdmission,
    BuildFinish,
    BuildSettled,
    BuildWritten,
    CallClose,
    CallDone,
    CallHeld,
    CallIntent,
    CallOpened,
    Claimed,
    CounterLine,
    Interrupted,
    LedgerFilter,
    LedgerRow,
    LimitChange,
    RunEnd,
    RunLine,
    RunStart,
    RunTotals,
    SessionFilter,
    SessionLine,
    Settled,
    SpendLine,
)
from runtime.store.memory import reads
from runtime.store.memory.cancelling import MemoryCancelling
from runtime.store.memory.governing import MemoryGoverning
from runtime.store.memory.leases import MemoryLeases
from runtime.store.memory.rows import MemoryRows
from runtime.store.memory.rows_runs import put_events
from runtime.store.memory.state import State
from runtime.store.memory.turns import TurnReads
from runtime.store.verbs import calls, facts, limits, runs
from runtime.store.waiting import Waiting

T = TypeVar("T")


class MemoryRecord(TurnReads, MemoryGoverning, MemoryLeases, MemoryCancelling):
    """`runtime.record.Record` in memory.

    A verb is one synchronous act of the loop's thread, so that it cannot be cancelled half-way; one that
    raises is taken back whole.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._state = State()
        self._rows = MemoryRows(self._state)
        self._waiting = Waiting()
        self._open = False

    # -- life

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False
        self._waiting.close()

    async def reap(self) -> list[Interrupted]:
        return []  # the only owner is this process

    def _do(self, verb: Callable[..., T], *args: Any) -> T:
        if not self._open:
            raise StoreError("The record is not open.", remedy="Open it first.")
        state = self._state
        try:
            answer = verb(self._rows, *args)
        except BaseException:
            state.roll_back()
            raise
        state.commit()
        if state.touched:
            for uid in state.touched:
                self._waiting.moved(uid)
            state.touched.clear()
        if state.pulse != self._waiting.pulse:
            self._waiting.beat(state.pulse)
        return answer

    # -- runs

    async def claim(self, start: RunStart, events: Sequence[Event]) -> tuple[Claimed, tuple[Entry, ...]]:
        return self._do(runs.claim, start, events, self._clock.new_id())

    async def append(self, run_id: str, events: Sequence[Event]) -> tuple[Entry, ...]:
        run = self._state.runs.get(run_id)
        if run is None or run.state != "running" or not events or not self._open:
            return self._do(runs.append, run_id, events)
        # the way of nodes without a model, which are to cost next to nothing
        session = self._state.sessions[run.session]
        entries = put_events(session, run.id, events)
        self._waiting.moved(session.uid)
        return entries

    async def open_call(
        self, intent: CallIntent, before: Sequence[Event], build: BuildAdmission, *, ticket: int | None = None
    ) -> CallOpened | CallHeld | CallDone:
        answer = self._do(calls.open_call, intent, before, build, ticket)
        if isinstance(answer, CallHeld) and answer.ticket is not None:
            self._waiting.blocked(answer.ticket, self._state.pulse)
        else:
            self._waiting.left(ticket)
        return answer

    async def leave_queue(self, ticket: int) -> None:
        self._waiting.left(ticket)
        self._do(calls.leave_queue, ticket)

    async def wait_settled(self, timeout_s: float) -> bool:
        if await self._waiting.missed():
            return True
        if timeout_s <= 0:
            return False
        over = asyncio.ensure_future(self._clock.sleep(timeout_s))
        try:
            return await self._waiting.settled(over)
        finally:
            over.cancel()

    async def close_call(self, close: CallClose, build: BuildSettled) -> Settled:
        answer = self._do(calls.close_call, close, build)
        if isinstance(answer, calls.Late):
            raise answer.error
        return answer

    async def release_call(
        self, call_id: int, run_id: str, at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        return self._do(calls.release_call, call_id, run_id, at, events)

    async def finish(self, end: RunEnd, before: Sequence[Event], build: BuildFinish) -> tuple[Entry, ...]:
        return self._do(runs.finish, end, before, build)

    # -- facts and limits

    async def write_fact(
        self, shelf: Shelf, write: FactWrite, at: datetime, build: BuildWritten, *, run_id: str | None
    ) -> tuple[Written, tuple[Entry, ...]]:
        return self._do(facts.write_fact, shelf, write, at, build, run_id, self._clock.new_id())

    async def forget_facts(
        self,
        shelf: Shelf,
        keys: Sequence[str],
        at: datetime,
        events: Sequence[Event],
        *,
        run_id: str | None,
        retire: bool = False,
    ) -> tuple[Entry, ...]:
        return self._do(facts.forget_facts, shelf, keys, at, events, run_id, self._clock.new_id(), retire)

    async def change_limit(self, change: LimitChange, events: Sequence[Event]) -> tuple[Entry, ...]:
        return self._do(limits.change_limit, change, events, self._clock.new_id())

    # -- reads

    async def facts(self, shelf: Shelf, *, keys: Sequence[str] | None = None) -> list[Fact]:
        versions = self._state.facts.get(shelf, {})
        wanted = versions if keys is None else set(keys) & versions.keys()
        return [fact for key in sorted(wanted) for fact in versions[key] if fact.state == "current"]

    async def fact_versions(self, shelf: Shelf, key: str | None = None) -> list[Fact]:
        versions = self._state.facts.get(shelf, {})
        wanted = sorted(versions) if key is None else [key]
        return [fact for name in wanted for fact in versions.get(name, ())]

    async def shelves(self, partition: Partition, user_id: str | None = None) -> list[tuple[Shelf, int]]:
        return reads.shelves(self._state, partition, user_id)

    async def history(self, session_uid: str, node_id: str, *, last: int | None = None) -> list[Message]:
        session = self._state.by_uid.get(session_uid)
        turns = session.turns.get(node_id, []) if session else []
        first, count = len(turns), 0
        while first > 0 and (last is None or count < last):
            first -= 1
            count += len(turns[first])
        return [message for turn in turns[first:] for message in turn]

    async def counters(self, keys: Sequence[CounterKey]) -> list[Counter]:
        return [reads.counter(self._state, key) for key in keys]

    async def all_counters(self, partition: Partition, user_id: str | None = None) -> list[CounterLine]:
        return reads.all_counters(self._state, partition, user_id)

    async def model_past(self, partition: Partition, model: str) -> ModelPast:
        return self._rows.model_past(partition, model)

    async def ledger(
        self, which: LedgerFilter, *, after: int = 0, before: int | None = None, limit: int | None = None
    ) -> list[LedgerRow]:
        return reads.ledger(self._state, which, after, before, limit)

    async def spend(self, which: LedgerFilter, by: Sequence[str]) -> list[SpendLine]:
        return reads.spend(self._state, which, by)

    async def run_totals(self, run_id: str) -> RunTotals:
        return self._rows.run_totals(run_id)

    async def run(self, run_id: str) -> RunLine | None:
        return reads.run_line(self._state, run_id)

    async def runs(self, session_uid: str) -> list[RunLine]:
        session = self._state.by_uid.get(session_uid)
        lines = [reads.run_line(self._state, run_id) for run_id in (session.runs if session else ())]
        return [line for line in lines if line is not None]

    async def flow_bytes(self, flow_hash: str) -> bytes | None:
        return self._state.flows.get(flow_hash)

    async def flow_paths(self, flow_id: str) -> list[str]:
        return sorted(self._state.paths.get(flow_id, ()))

    async def sessions(self, which: SessionFilter) -> list[SessionLine]:
        return reads.sessions(self._state, which)

    async def session(self, uid: str) -> SessionLine | None:
        session = self._state.by_uid.get(uid)
        return reads.session_line(self._state, session) if session else None

    async def session_names(self, ids: Sequence[str]) -> dict[str, str]:
        return reads.session_names(self._state, ids)

    async def hidden_rehearsals(self, user_id: str | None = None) -> int:
        keys = [session.key for session in self._state.sessions]
        return sum(
            key.partition == "rehearsal"
            and user_id in (None, key.user_id)
            and not key.name.startswith("@")
            and not key.flow_id.startswith("@")
            for key in keys
        )

    async def events_json(
        self, session_uid: str, *, after: int = 0, limit: int | None = None, run_id: str | None = None
    ) -> list[bytes]:
        session = self._state.by_uid.get(session_uid)
        if session is None:
            return []
        entries = session.entries[max(0, after) :]
        if run_id is not None:
            run = self._state.runs.get(run_id)
            number = run.id if run else -1
            entries = [entry for entry in entries if session.run_ids[entry.seq - 1] == number]
        return [entry.json() for entry in (entries if limit is None else entries[:limit])]

    async def first_seq(self, session_uid: str) -> int:
        return 1

    async def follow(self, session_uid: str, *, after: int = 0) -> AsyncIterator[bytes]:
        after = max(0, after)
        while self._open:
            moved = self._waiting.follow(session_uid)
            try:
                session = self._state.by_uid.get(session_uid)
                found = session.entries[after : after + 1000] if session else []
                for entry in found:
                    yield entry.json()
                    after = entry.seq
                if not found:
                    await moved
            finally:
                self._waiting.unfollow(session_uid, moved)
