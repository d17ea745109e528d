"""Rows of sessions, runs, turns, events and facts in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from runtime.events import Entry, Event
from runtime.facts import Fact, Shelf
from runtime.record import Access, LedgerRow, RunEnd, RunStart, RunTotals, SessionKey
from runtime.store.memory.state import LazyEntry, Session, State, TurnMark
from runtime.store.rows import FactRow, RunRow, SessionRow
from runtime.store.values import from_json, to_json
from runtime.store.verbs.ageing import raised
from runtime.usage import Usage

OWNER = "memory"
_new = tuple.__new__


def row_of(session: Session) -> SessionRow:
    key = session.key
    return SessionRow(session.id, session.uid, key.partition, key.user_id, key.flow_id)


class RunRows:
    """Sessions, runs, turns, events."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def owner(self) -> str:
        return OWNER

    def session(self, key: SessionKey) -> SessionRow | None:
        session = self._state.by_key.get(key)
        return None if session is None else row_of(session)

    def session_by_uid(self, uid: str) -> SessionRow | None:
        session = self._state.by_uid.get(uid)
        return None if session is None else row_of(session)

    def add_session(self, key: SessionKey, uid: str, flow_name: str, at: datetime) -> SessionRow:
        state = self._state
        session = Session(len(state.sessions), key, uid, flow_name, at)
        state.add(state.sessions, session)
        state.put(state.by_key, key, session)
        state.put(state.by_uid, uid, session)
        return row_of(session)

    def run(self, run_id: str) -> RunRow | None:
        return self._state.runs.get(run_id)

    def add_run(self, start: RunStart, session: SessionRow) -> RunRow:
        state = self._state
        charged = state.by_uid.get(start.charged or "")
        run = RunRow(
            len(state.runs) + 1,
            start.run_id,
            session.id,
            session.uid,
            session.partition,
            session.user_id,
            session.flow_id,
            "running",
            OWNER,
            start.at,
            session.uid if charged is None else charged.uid,
        )
        state.put(state.runs, start.run_id, run)
        state.put(state.starts, start.run_id, start)
        state.flows.setdefault(start.flow_hash, start.flow)
        if start.flow_path is not None:
            state.paths.setdefault(session.flow_id, set()).add(start.flow_path)
        stored = state.sessions[session.id]
        state.add(stored.runs, start.run_id)
        stored.flow_name = start.flow_name
        return run

    def end_run(self, run: RunRow, end: RunEnd) -> None:
        state = self._state
        state.put(state.runs, run.run_id, run._replace(state=end.state))
        state.put(state.ends, run.run_id, end)
        if end.state == "completed":
            stored = state.sessions[run.session]
            for turn in end.turns:
                state.last_turn += 1
                mark = TurnMark(state.last_turn, run.run_id, end.at, turn.tainted)
                state.add(stored.turns.setdefault(turn.node_id, []), turn.messages)
                state.add(stored.turn_marks.setdefault(turn.node_id, []), mark)

    def count_accesses(self, accesses: Sequence[Access]) -> None:
        known = self._state.accesses
        for access in accesses:
            where = access.shelf, access.key
            before = known.get(where)
            hits = access.hits + (before.hits if before else 0)
            at = max(access.at, before.at) if before else access.at
            score = raised(before, access)
            self._state.put(known, where, access._replace(hits=hits, at=at, score=score, fading=None))

    def forget_uses(self, shelf: Shelf, key: str) -> None:
        self._state.drop(self._state.accesses, (shelf, key))

    def run_totals(self, run_id: str) -> RunTotals:
        return totals(self._state.settled.get(run_id, ()))

    def add_events(
        self, session: int, uid: str, run: int | None, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        if not events:
            return ()
        state = self._state
        stored = state.sessions[session]
        entries = put_events(stored, run, events)
        count = len(entries)
        state.undoable(lambda: cut_events(stored, count))
        state.touched.add(uid)
        return entries


def totals(rows: Iterable[LedgerRow]) -> RunTotals:
    """The sum of rows that count."""
    usage, cost, unknown = Usage(), 0, 0
    for row in rows:
        usage += row.usage
        cost += row.cost or 0
        unknown += row.kind == "settle" and row.cost is None
    return RunTotals(usage, cost, unknown)


def put_events(stored: Session, run: int | None, events: Sequence[Event]) -> tuple[Entry, ...]:
    """Number events and put them on the timeline; nothing is encoded or copied."""
    uid, first = stored.uid, len(stored.entries) + 1
    entries = tuple([_new(LazyEntry, (uid, seq, event, b"")) for seq, event in enumerate(events, first)])
    stored.entries.extend(entries)
    stored.run_ids.extend([run] * len(entries))
    last = events[-1].at
    if last > stored.last_at:
        stored.last_at = last
    return entries


def cut_events(stored: Session, count: int) -> None:
    """Take the newest events back."""
    del stored.entries[-count:]
    del stored.run_ids[-count:]


class FactRows:
    """Facts of a shelf; a version's row number is its place among the key's versions."""

    def __init__(self, state: State) -> None:
        self._state = state

    def fact_rows(self, shelf: Shelf, key: str) -> list[FactRow]:
        versions = self._state.facts.get(shelf, {}).get(key, ())
        return [FactRow(number, fact) for number, fact in enumerate(versions)]

    def facts_about(self, shelf: Shelf, subject: str, attribute: str) -> list[FactRow]:
        return [
            FactRow(number, fact)
            for _, versions in sorted(self._state.facts.get(shelf, {}).items())
            for number, fact in enumerate(versions)
            if fact.state == "current" and (fact.subject, fact.attribute) == (subject, attribute)
        ]

    def add_fact(self, shelf: Shelf, fact: Fact) -> None:
        versions = self._state.facts.setdefault(shelf, {}).setdefault(fact.key, [])
        value = from_json(to_json(fact.value))
        self._state.add(versions, msgspec.structs.replace(fact, value=value))

    def put_fact(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        self._state.replace(self._state.facts[shelf][fact.key], row.id, fact)
