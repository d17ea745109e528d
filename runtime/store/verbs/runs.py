"""Verbs of runs: claim, append, finish, and the end of a run whose owner died."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtime.errors import Conflict, Fenced
from runtime.events import CallError, Entry, Event, RunFinished, SessionOpened
from runtime.ledger import Estimate
from runtime.record import (
    ACTIVE,
    BuildFinish,
    Claimed,
    Interrupted,
    OrphanCall,
    RunEnd,
    RunStart,
    SessionKey,
)
from runtime.store.rows import Rows, RunRow, SessionRow
from runtime.store.verbs.settling import let_go, settle_at_estimate

ADMIN = "@admin"
"""Flow id and name of the session that takes what happens outside runs (SPEC 4)."""


def running(rows: Rows, run_id: str) -> RunRow:
    """The run, if it is running and ours; else Fenced."""
    run = rows.run(run_id)
    if run is None or run.state != "running" or run.owner != rows.owner:
        raise fenced(run_id, run)
    return run


def fenced(run_id: str, run: RunRow | None) -> Fenced:
    if run is None:
        why = "it is not in this database"
    elif run.state == "running":
        why = "another process owns it"
    else:
        why = f"it is {run.state}"
    return Fenced(
        f"The run {run_id} can no longer be written: {why}.", remedy="Start a new run.", run_id=run_id
    )


def say(rows: Rows, run: RunRow, events: Sequence[Event]) -> tuple[Entry, ...]:
    """Put a run's events on its session's timeline."""
    return rows.add_events(run.session, run.session_uid, run.id, events) if events else ()


def open_session(
    rows: Rows, key: SessionKey, uid: str, flow_name: str, at: datetime
) -> tuple[SessionRow, bool]:
    """The session of that key, opened with this uid and its first event where it is not there yet."""
    found = rows.session(key)
    if found is not None:
        return found, False
    return rows.add_session(key, uid, flow_name, at), True


def opened(key: SessionKey, at: datetime) -> SessionOpened:
    return SessionOpened(
        at=at, name=key.name, flow_id=key.flow_id, user_id=key.user_id, partition=key.partition
    )


def claim(
    rows: Rows, start: RunStart, events: Sequence[Event], uid: str
) -> tuple[Claimed, tuple[Entry, ...]]:
    if rows.run(start.run_id) is not None:
        raise Conflict(
            f"A run with the id {start.run_id} exists.",
            remedy="Give each run an id of its own.",
            run_id=start.run_id,
        )
    session, new = open_session(rows, start.session, uid, start.flow_name, start.at)
    run = rows.add_run(start, session)
    entries: tuple[Entry, ...] = ()
    if new:
        entries = rows.add_events(session.id, session.uid, None, [opened(start.session, start.at)])
    entries += rows.add_events(session.id, session.uid, run.id, events)
    return Claimed(start.run_id, session.uid, new), entries


def append(rows: Rows, run_id: str, events: Sequence[Event]) -> tuple[Entry, ...]:
    run = running(rows, run_id)
    return say(rows, run, events)


def append_admin(
    rows: Rows, partition: str, user_id: str | None, uid: str, at: datetime, events: Sequence[Event]
) -> tuple[Entry, ...]:
    """Events of what happened outside a run, on the user's own session for that."""
    if not events:
        return ()
    key = SessionKey("rehearsal" if partition == "rehearsal" else "real", user_id, ADMIN, ADMIN)
    session, new = open_session(rows, key, uid, ADMIN, at)
    return rows.add_events(session.id, session.uid, None, [opened(key, at), *events] if new else events)


def finish(rows: Rows, end: RunEnd, before: Sequence[Event], build: BuildFinish) -> tuple[Entry, ...]:
    run = rows.run(end.run_id)
    if run is not None and run.owner == rows.owner and run.state not in ACTIVE | {"interrupted"}:
        return ()
    run = running(rows, end.run_id)
    _, said = _wind_up(rows, run, end.at)
    entries = rows.add_events(
        run.session, run.session_uid, run.id, [*before, *said, *build(rows.run_totals(run.run_id))]
    )
    rows.end_run(run, end)
    if end.accesses:
        rows.count_accesses(end.accesses)
    return entries


def interrupt(rows: Rows, run: RunRow, at: datetime) -> Interrupted:
    """End the run of an owner that died."""
    orphans, said = _wind_up(rows, run, at)
    totals = rows.run_totals(run.run_id)
    error = CallError(
        code="run.interrupted",
        message="The process that made this run ended before the run did.",
        remedy="Start it again; what it used until then is counted.",
    )
    finished = RunFinished(
        at=at,
        run_id=run.run_id,
        state="interrupted",
        usage=totals.usage,
        cost=totals.cost,
        unknown_cost=totals.unknown,
        error=error,
        ms=max(0, int((at - run.queued_at).total_seconds() * 1000)),
    )
    say(rows, run, [*said, finished])
    told = {"code": error.code, "message": error.message, "remedy": error.remedy}
    rows.end_run(run, RunEnd(run_id=run.run_id, state="interrupted", error=told, at=at))
    return Interrupted(run.run_id, run.session_uid, tuple(orphans))


def _wind_up(rows: Rows, run: RunRow, at: datetime) -> tuple[list[OrphanCall], list[Event]]:
    """Leave no open call, no hold and no ticket of a run that ends."""
    orphans: list[OrphanCall] = []
    said: list[Event] = []
    for call in rows.live_calls(run):
        if call.state == "open":
            said.extend(settle_at_estimate(rows, run, call, at))
            estimate = call.estimate if call.kind == "model" else Estimate(0, 0)
            orphans.append(OrphanCall(call.key, call.node_id, call.step, call.purpose, estimate))
        else:
            let_go(rows, call)
            rows.put_holds(call.id, None)
            rows.stir()
    rows.drop_tickets(run)
    return orphans, said
