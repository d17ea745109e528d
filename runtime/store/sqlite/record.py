"""The SQLite store: record's verbs handed to the writer, its reads on connections of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, cast

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
from runtime.store.sqlite import ledger_reads, reads, session_reads
from runtime.store.sqlite.cancelling import SqliteCancelling
from runtime.store.sqlite.governing import SqliteGoverning
from runtime.store.sqlite.leases import SqliteLeases
from runtime.store.sqlite.turns import SqliteTurns
from runtime.store.verbs import calls, facts, limits, runs

PAGE = 1000
"""Events read at a time on the loop's thread; longer reads go beside it."""


class SqliteRecord(SqliteTurns, SqliteGoverning, SqliteLeases, SqliteCancelling):
    """`runtime.record.Record` on one SQLite file.

    A verb that was handed over is carried out whole even when its awaiter is cancelled; the caller then does
    not learn the outcome. Who must know it shields the await.
    """

    # -- runs

    async def claim(self, start: RunStart, events: Sequence[Event]) -> tuple[Claimed, tuple[Entry, ...]]:
        uid = self._clock.new_id()
        return cast(
            "tuple[Claimed, tuple[Entry, ...]]",
            await self._do(lambda rows: runs.claim(rows, start, events, uid)),
        )

    async def append(self, run_id: str, events: Sequence[Event]) -> tuple[Entry, ...]:
        return cast("tuple[Entry, ...]", await self._do(lambda rows: runs.append(rows, run_id, events)))

    async def open_call(
        self, intent: CallIntent, before: Sequence[Event], build: BuildAdmission, *, ticket: int | None = None
    ) -> CallOpened | CallHeld | CallDone:
        answer, beats = await self._do(
            lambda rows: (calls.open_call(rows, intent, before, build, ticket), rows.beats()), durable=True
        )
        if isinstance(answer, CallHeld) and answer.ticket is not None:
            self._waiting.blocked(answer.ticket, beats)
        else:
            self._waiting.left(ticket)
        return cast("CallOpened | CallHeld | CallDone", answer)

    async def leave_queue(self, ticket: int) -> None:
        self._waiting.left(ticket)
        await self._do(lambda rows: calls.leave_queue(rows, ticket))

    async def close_call(self, close: CallClose, build: BuildSettled) -> Settled:
        answer = await self._do(lambda rows: calls.close_call(rows, close, build), durable=True)
        if isinstance(answer, calls.Late):
            raise answer.error
        return cast(Settled, answer)

    async def release_call(
        self, call_id: int, run_id: str, at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        answer = await self._do(
            lambda rows: calls.release_call(rows, call_id, run_id, at, events), durable=True
        )
        return cast("tuple[Entry, ...]", answer)

    async def finish(self, end: RunEnd, before: Sequence[Event], build: BuildFinish) -> tuple[Entry, ...]:
        return cast("tuple[Entry, ...]", await self._do(lambda rows: runs.finish(rows, end, before, build)))

    # -- facts and limits

    async def write_fact(
        self, shelf: Shelf, write: FactWrite, at: datetime, build: BuildWritten, *, run_id: str | None
    ) -> tuple[Written, tuple[Entry, ...]]:
        uid = self._clock.new_id()
        answer = await self._do(lambda rows: facts.write_fact(rows, shelf, write, at, build, run_id, uid))
        return cast("tuple[Written, tuple[Entry, ...]]", answer)

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
        uid = self._clock.new_id()
        answer = await self._do(
            lambda rows: facts.forget_facts(rows, shelf, keys, at, events, run_id, uid, retire)
        )
        return cast("tuple[Entry, ...]", answer)

    async def change_limit(self, change: LimitChange, events: Sequence[Event]) -> tuple[Entry, ...]:
        uid = self._clock.new_id()
        answer = await self._do(lambda rows: limits.change_limit(rows, change, events, uid), durable=True)
        return cast("tuple[Entry, ...]", answer)

    # -- reads

    async def facts(self, shelf: Shelf, *, keys: Sequence[str] | None = None) -> list[Fact]:
        return cast("list[Fact]", self._look(reads.facts, shelf, keys))

    async def fact_versions(self, shelf: Shelf, key: str | None = None) -> list[Fact]:
        return cast("list[Fact]", self._look(reads.fact_versions, shelf, key))

    async def shelves(self, partition: Partition, user_id: str | None = None) -> list[tuple[Shelf, int]]:
        return cast("list[tuple[Shelf, int]]", await self._study(reads.shelves, partition, user_id))

    async def history(self, session_uid: str, node_id: str, *, last: int | None = None) -> list[Message]:
        return cast("list[Message]", self._look(reads.history, session_uid, node_id, last))

    async def counters(self, keys: Sequence[CounterKey]) -> list[Counter]:
        return cast("list[Counter]", self._look(reads.counters, keys))

    async def all_counters(self, partition: Partition, user_id: str | None = None) -> list[CounterLine]:
        return cast("list[CounterLine]", await self._study(reads.all_counters, partition, user_id))

    async def model_past(self, partition: Partition, model: str) -> ModelPast:
        return cast(ModelPast, self._look(reads.model_past, partition, model))

    async def ledger(
        self, which: LedgerFilter, *, after: int = 0, before: int | None = None, limit: int | None = None
    ) -> list[LedgerRow]:
        return cast("list[LedgerRow]", await self._study(ledger_reads.rows, which, after, before, limit))

    async def spend(self, which: LedgerFilter, by: Sequence[str]) -> list[SpendLine]:
        from runtime.store.sqlite.reports import spend

        return cast("list[SpendLine]", await self._study(spend, which, tuple(by)))

    async def run_totals(self, run_id: str) -> RunTotals:
        return cast(RunTotals, self._look(reads.run_totals, run_id))

    async def run(self, run_id: str) -> RunLine | None:
        return cast("RunLine | None", self._look(reads.run, run_id))

    async def runs(self, session_uid: str) -> list[RunLine]:
        return cast("list[RunLine]", await self._study(reads.runs, session_uid))

    async def flow_bytes(self, flow_hash: str) -> bytes | None:
        return cast("bytes | None", self._look(reads.flow_bytes, flow_hash))

    async def flow_paths(self, flow_id: str) -> list[str]:
        return cast("list[str]", self._look(reads.flow_paths, flow_id))

    async def sessions(self, which: SessionFilter) -> list[SessionLine]:
        return cast("list[SessionLine]", await self._study(session_reads.sessions, which))

    async def session(self, uid: str) -> SessionLine | None:
        return cast("SessionLine | None", await self._study(session_reads.session, uid))

    async def session_names(self, ids: Sequence[str]) -> dict[str, str]:
        return cast("dict[str, str]", await self._study(reads.session_names, ids))

    async def hidden_rehearsals(self, user_id: str | None = None) -> int:
        return cast(int, self._look(reads.hidden_rehearsals, user_id))

    async def events_json(
        self, session_uid: str, *, after: int = 0, limit: int | None = None, run_id: str | None = None
    ) -> list[bytes]:
        asked: tuple[Any, ...] = (reads.events, session_uid, after, limit, run_id)
        if limit is not None and limit <= PAGE and run_id is None:
            found = self._look(*asked)
        else:
            found = await self._study(*asked)
        return [body for _, body in found]

    async def first_seq(self, session_uid: str) -> int:
        return cast(int, self._look(reads.first_seq, session_uid))

    async def follow(self, session_uid: str, *, after: int = 0) -> AsyncIterator[bytes]:
        while self._writer is not None and not self._waiting.closed:
            moved = self._waiting.follow(session_uid)
            try:
                self._watch()
                found = self._look(reads.events, session_uid, after, PAGE, None)
                for seq, body in found:
                    yield body
                    after = seq
                if not found:
                    await moved
            finally:
                self._waiting.unfollow(session_uid, moved)
