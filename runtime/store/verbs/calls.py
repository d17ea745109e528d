"""Verbs of calls: open with decision and hold, close with usage, release, leave the queue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from runtime.errors import Fenced, NotFound
from runtime.events import Entry, Event
from runtime.ledger import (
    Admission,
    Admitted,
    Blocked,
    Counter,
    Estimate,
    HoldAmount,
    ModelPast,
    Refused,
    Subject,
    admit,
    counter_key,
    estimate,
    used_by,
)
from runtime.record import (
    BuildAdmission,
    BuildSettled,
    CallClose,
    CallDone,
    CallHeld,
    CallIntent,
    CallOpened,
    Settled,
)
from runtime.store.rows import CallRow, CounterRow, Delta, Rows, RunRow
from runtime.store.verbs.runs import fenced, running, say
from runtime.store.verbs.settling import call_row, correct, counters, let_go, settle, settle_at_estimate


class Late(msgspec.Struct, frozen=True):
    """Usage was recorded of a run that is not ours any more: `error` is raised after the commit."""

    error: Fenced


class _Question(msgspec.Struct, frozen=True):
    """What a call asks, with the counters it depends on, in the order of its rules."""

    intent: CallIntent
    run: RunRow
    found: list[CounterRow]
    ids: tuple[int, ...]
    past: ModelPast


def open_call(
    rows: Rows, intent: CallIntent, before: Sequence[Event], build: BuildAdmission, ticket: int | None
) -> CallOpened | CallHeld | CallDone:
    run = running(rows, intent.run_id)
    earlier = rows.calls_of(run, intent.key)
    said: list[Event] = list(before)
    for call in earlier:
        if call.state == "done":
            return CallDone(call.id, call.result, say(rows, run, before))
        if call.state == "open":
            said.extend(settle_at_estimate(rows, run, call, intent.at))
    attempt = max(intent.attempt, earlier[-1].attempt + 1) if earlier else intent.attempt
    first = _first_of(rows, run, intent)
    if first is not None:  # it was reserved with the first, and counts in that period though another began
        asked = _ask(rows, run, msgspec.structs.replace(intent, at=first.reserved_at))
        return _open(rows, asked, attempt, _carried(first, asked), said, build, carried=first)
    asked = _ask(rows, run, intent)
    waiting = rows.anyone_waits()
    if waiting:
        ticket = rows.ticket_of(run, intent.key)
    admission = _decide(rows, asked, ticket if waiting else None, waiting=waiting)
    if waiting and ticket is not None and not isinstance(admission, Blocked):
        rows.drop_ticket(ticket)
        rows.stir()
    if isinstance(admission, Admitted):
        return _open(rows, asked, attempt, admission, said, build)
    return _hold_up(rows, asked, admission, said, build, ticket if waiting else None)


def _ask(rows: Rows, run: RunRow, intent: CallIntent) -> _Question:
    subject = Subject(run.partition, run.user_id, run.charged_uid, run.run_id)
    keys = [counter_key(rule, subject, intent.at) for rule in intent.rules]
    found = counters(rows, keys) if keys else []
    past = ModelPast()
    if intent.kind == "model" and intent.model is not None:
        past = rows.model_past(run.partition, intent.model)
    return _Question(intent, run, found, tuple([row.id for row in found]), past)


def _decide(rows: Rows, asked: _Question, ticket: int | None, *, waiting: bool) -> Admission:
    """The ledger's decision, and then the order of arrival: nobody overtakes a waiting call."""
    intent, found, times = asked.intent, asked.found, asked.intent.hold_for
    admission = admit(
        intent.rules,
        [row.key for row in found],
        [row.counter for row in found],
        _times(intent.counted, times),
        asked.past if times == 1 else _past_times(asked.past, times),
        free=intent.free,
    )
    if waiting and isinstance(admission, Admitted):
        ahead = rows.ahead(asked.ids, ticket)
        if ahead:
            behind = tuple(i for i, row in enumerate(found) if row.id in ahead)
            return Blocked(behind, admission.estimate)
    return admission


def _times(one: Estimate, count: int) -> Estimate:
    return one if count == 1 else Estimate(one.tokens * count, None if one.cost is None else one.cost * count)


def _past_times(past: ModelPast, count: int) -> ModelPast:
    dearest = _times(Estimate(past.dearest_tokens, past.dearest_cost), count)
    return ModelPast(past.settled, dearest.tokens, dearest.cost)


def _first_of(rows: Rows, run: RunRow, intent: CallIntent) -> CallRow | None:
    """The finished call whose hold goes on with this one."""
    if intent.carries is None:
        return None
    calls = reversed(rows.calls_of(run, intent.carries))
    return next((call for call in calls if call.state == "done" and call.holds), None)


def _carried(first: CallRow, asked: _Question) -> Admitted:
    """What is still held, in the order of the rules."""
    amounts = {
        counter: HoldAmount(i, first.holds[counter])
        for i, counter in reversed(list(enumerate(asked.ids)))
        if counter in first.holds
    }
    return Admitted(estimate(asked.intent.counted, asked.past), tuple(sorted(amounts.values())), ())


def _open(
    rows: Rows,
    asked: _Question,
    attempt: int,
    admitted: Admitted,
    said: list[Event],
    build: BuildAdmission,
    *,
    carried: CallRow | None = None,
) -> CallOpened:
    intent, run = asked.intent, asked.run
    one = estimate(intent.counted, asked.past)
    ids = asked.ids
    pots = tuple(dict.fromkeys([rule.pot for rule in intent.rules]))
    if carried is not None:
        holds = carried.holds
        rows.put_holds(carried.id, None)
    else:
        holds = {ids[rule]: amount for rule, amount in admitted.holds}
        for counter in rows.charged(run, pots, intent.at):  # other rules' on these pots: it counts there too
            if counter.id not in holds:
                holds[counter.id] = used_by(counter.key.metric, *admitted.estimate)
    call = rows.add_call(run, intent, attempt, one, ids, pots, holds)
    if carried is None:
        rows.adjust({place: Delta(0, amount, 0) for place, amount in holds.items()})
        if intent.kind == "model":
            amount, cost = one
            rows.add_ledger(
                call_row(run, call, "hold", "open", intent.at, amount=amount, cost=cost, estimated=True)
            )
    counters = _counters(rows, ids)
    said.extend(build(admitted, counters))
    return CallOpened(call.id, admitted, counters, say(rows, run, said))


def _hold_up(
    rows: Rows,
    asked: _Question,
    admission: Refused | Blocked,
    said: list[Event],
    build: BuildAdmission,
    ticket: int | None,
) -> CallHeld:
    """Say why the call is not made; a blocked one takes its place in the queue, and says so only once."""
    run = asked.run
    counters = tuple(row.counter for row in asked.found)
    new = ticket is None
    if isinstance(admission, Blocked):
        if ticket is None:
            ticket = rows.add_ticket(run, asked.intent.key)
        rows.wait_on(ticket, {asked.found[i].id for i in admission.rules})
        if new:
            said.extend(build(admission, counters))
        entries = say(rows, run, said)
        return CallHeld(admission, counters, entries, ticket)
    said.extend(build(admission, counters))
    return CallHeld(admission, counters, say(rows, run, said), None)


def _counters(rows: Rows, ids: Sequence[int]) -> tuple[Counter, ...]:
    return tuple([row.counter for row in rows.counters_by_id(ids)])


def close_call(rows: Rows, close: CallClose, build: BuildSettled) -> Settled | Late:
    run, call = _of_run(rows, close.run_id, close.call_id)
    ours = run.state == "running" and run.owner == rows.owner
    if call.state == "open":
        settle(rows, run, call, close)
    elif call.state in ("orphaned", "released"):
        say(rows, run, correct(rows, run, call, close))
    if not ours:
        return Late(fenced(close.run_id, run))
    counters = _counters(rows, call.counters)
    over = close.usage.tokens > call.estimate.tokens or (
        close.cost is not None and call.estimate.cost is not None and close.cost > call.estimate.cost
    )
    if call.state != "open":
        return Settled(counters, over, ())
    return Settled(counters, over, say(rows, run, build(counters, over)))


def release_call(
    rows: Rows, call_id: int, run_id: str, at: datetime, events: Sequence[Event]
) -> tuple[Entry, ...]:
    run, call = _of_run(rows, run_id, call_id)
    running(rows, run_id)
    if call.state != "open":
        return ()
    let_go(rows, call)
    rows.end_call(call.id, "released", None, None)
    if call.kind == "model":
        rows.add_ledger(call_row(run, call, "release", "released", at, cost=0))
    rows.stir()
    return say(rows, run, events)


def _of_run(rows: Rows, run_id: str, call_id: int) -> tuple[RunRow, CallRow]:
    run, call = rows.run(run_id), rows.call(call_id)
    if run is None:
        raise fenced(run_id, run)
    if call is None or call.run != run.id:
        raise NotFound(
            f"The run {run_id} has no call {call_id}.",
            remedy="Close the calls that it opened.",
            run_id=run_id,
        )
    return run, call


def leave_queue(rows: Rows, ticket: int) -> None:
    rows.drop_ticket(ticket)
    rows.stir()
