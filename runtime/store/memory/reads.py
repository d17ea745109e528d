"""Lists and sums over what is in memory, in the same order as SQLite gives them."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.facts import Fact, Shelf
from runtime.ledger import EVERYONE, Counter, CounterKey
from runtime.record import (
    CounterLine,
    LedgerFilter,
    LedgerRow,
    RunLine,
    SessionFilter,
    SessionLine,
    SpendLine,
)
from runtime.store.grouping import day_of, field_of, holds_text
from runtime.store.memory.rows_calls import in_flight
from runtime.store.memory.rows_counters import fold
from runtime.store.memory.rows_runs import totals
from runtime.store.memory.state import Session, State
from runtime.store.values import from_json, micros, to_json
from runtime.usage import Usage


def shelves(state: State, partition: str, user_id: str | None) -> list[tuple[Shelf, int]]:
    found = []
    for shelf, keys in sorted(state.facts.items()):
        if shelf.partition != partition or not (user_id is None or _user_of(state, shelf) == user_id):
            continue
        versions: list[Fact] = [fact for key in keys.values() for fact in key]
        if versions:
            found.append((shelf, sum(fact.state == "current" for fact in versions)))
    return found


def session_names(state: State, ids: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in ids:
        run = state.runs.get(each)
        session = state.by_uid.get(each if run is None else run.session_uid)
        if session is not None:
            found[each] = session.key.name
    return found


def _user_of(state: State, shelf: Shelf) -> str | None:
    if shelf.scope == "user":
        return shelf.owner
    session = state.by_uid.get(shelf.owner)
    return session.key.user_id if session else None


def counter(state: State, key: CounterKey) -> Counter:
    """A counter as it stands, or as it would begin."""
    found = state.counter_ids.get(key)
    if found is not None:
        return state.counters[found - 1].counter
    held = sum(call.may_use(key.metric) for call in in_flight(state, key))
    return fold(state, key)._replace(held=held)


def all_counters(state: State, partition: str, user_id: str | None) -> list[CounterLine]:
    lines = [
        CounterLine(row.key, row.counter)
        for row in state.counters
        if row.key.partition == partition and (user_id is None or _concerns(state, row.key, user_id))
    ]
    lines.sort(key=lambda line: (line.key.pot, line.key.metric, line.key.period, line.key.owner))
    return sorted(lines, key=lambda line: line.key.start, reverse=True)


def _concerns(state: State, key: CounterKey, user_id: str) -> bool:
    if key.owner == EVERYONE:
        return True
    if key.period == "run":
        run = state.runs.get(key.owner)
        return run is not None and run.user_id == user_id
    if key.period == "session":
        session = state.by_uid.get(key.owner)
        return session is not None and session.key.user_id == user_id
    return key.owner == user_id


def ledger(
    state: State, which: LedgerFilter, after: int, before: int | None, limit: int | None
) -> list[LedgerRow]:
    rows = [row for row in state.ledger[after:] if _matches(row, which)]
    if before is not None:
        rows = [row for row in reversed(rows) if row.id < before]
    return rows if limit is None else rows[:limit]


def _matches(row: LedgerRow, which: LedgerFilter) -> bool:
    for name in ("partition", "user_id", "flow_id", "session_uid", "run_id", "model", "purpose"):
        wanted = getattr(which, name)
        if wanted is not None and getattr(row, name) != wanted:
            return False
    if which.kinds and row.kind not in which.kinds:
        return False
    if which.pot is not None and which.pot not in row.pots:
        return False
    if which.since is not None and micros(row.at) < micros(which.since):
        return False
    return which.until is None or micros(row.at) < micros(which.until)


def spend(state: State, which: LedgerFilter, by: Sequence[str]) -> list[SpendLine]:
    fields = [field_of(name) for name in by]
    sums: dict[tuple[str | None, ...], SpendLine] = {}
    for row in ledger(state, which, 0, None, None):
        if row.kind not in ("settle", "correct"):
            continue
        group = tuple(day_of(row.reserved_at or row.at) if f == "day" else getattr(row, f) for f in fields)
        old = sums.get(group, SpendLine(group, 0, Usage(), 0, 0, 0))
        settled = row.kind == "settle"
        sums[group] = SpendLine(
            group,
            old.calls + settled,
            old.usage + row.usage,
            old.cost + (row.cost or 0),
            old.unknown + (settled and row.cost is None),
            old.estimated + row.estimated,
        )
    return sorted(
        sums.values(), key=lambda s: (-s.cost, -s.usage.tokens, [(g is not None, g or "") for g in s.group])
    )


def run_line(state: State, run_id: str) -> RunLine | None:
    run, start, end = state.runs.get(run_id), state.starts.get(run_id), state.ends.get(run_id)
    if run is None or start is None:
        return None
    return RunLine(
        run_id,
        run.session_uid,
        run.partition,
        run.user_id,
        run.flow_id,
        start.flow_name,
        start.flow_hash,
        start.kind,
        run.state,
        start.model,
        from_json(to_json(start.input)),
        from_json(to_json(end.outputs)) if end else {},
        None if end is None or end.error is None else from_json(to_json(end.error)),
        run.queued_at,
        end.at if end else None,
        run.charged_uid,
    )


def sessions(state: State, which: SessionFilter) -> list[SessionLine]:
    lines: list[SessionLine] = []
    for session in sorted(state.sessions, key=lambda s: (s.last_at, s.id), reverse=True):
        if len(lines) >= which.limit:
            break
        if _wanted(state, session, which):
            lines.append(session_line(state, session))
    return lines


def _wanted(state: State, session: Session, which: SessionFilter) -> bool:
    key = session.key
    equal = (
        key.partition == which.partition
        and which.user_id in (None, key.user_id)
        and which.flow_id in (None, key.flow_id)
        and which.name in (None, key.name)
        and which.state in (None, _state_of(state, session))
        and (which.before is None or session.last_at < which.before)
    )
    if not equal or which.text is None:
        return equal
    texts = (key.name, session.uid, key.user_id or "", key.flow_id, session.flow_name)
    return any(holds_text(text, which.text) for text in texts)


def _state_of(state: State, session: Session) -> str:
    return state.runs[session.runs[-1]].state if session.runs else ""


def session_line(state: State, session: Session) -> SessionLine:
    used = totals(state.settled.get(session.uid, ()))
    return SessionLine(
        session.uid,
        session.key.partition,
        session.key.user_id,
        session.key.flow_id,
        session.flow_name,
        session.key.name,
        session.opened_at,
        session.last_at,
        len(session.runs),
        _state_of(state, session),
        len(session.entries),
        *used,
    )
