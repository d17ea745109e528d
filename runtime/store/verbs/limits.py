"""The verb of limits: a raise or a reset of one counter by a named person."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.events import Entry, Event
from runtime.ledger import EVERYONE, CounterKey
from runtime.record import LedgerRow, LimitChange
from runtime.store.rows import Rows
from runtime.store.verbs.runs import append_admin
from runtime.store.verbs.settling import counters


def change_limit(rows: Rows, change: LimitChange, events: Sequence[Event], uid: str) -> tuple[Entry, ...]:
    key = change.key
    (counter,) = counters(rows, [key])
    user_id, session_uid, run_id = _whose(rows, key)
    amount = counter.counter.used if change.action == "reset" else change.amount
    row = LedgerRow(
        id=0,
        at=change.at,
        kind=change.action,
        partition=key.partition,
        user_id=user_id,
        session_uid=session_uid,
        run_id=run_id,
        pots=(key.pot,),
        amount=amount,
        actor=change.actor,
        reason=change.reason,
        metric=key.metric,
        period=key.period,
        owner=key.owner,
        start=key.start,
        for_good=change.for_good,
    )
    rows.add_limit_change(rows.add_ledger(row), change, counter)
    rows.stir()
    return append_admin(rows, key.partition, user_id, uid, change.at, events)


def _whose(rows: Rows, key: CounterKey) -> tuple[str | None, str | None, str | None]:
    """User, session and run that the counter is of."""
    if key.period == "run":
        run = rows.run(key.owner)
        return (run.user_id, run.charged_uid, key.owner) if run else (None, None, key.owner)
    if key.period == "session":
        session = rows.session_by_uid(key.owner)
        return session.user_id if session else None, key.owner, None
    return None if key.owner in ("", EVERYONE) else key.owner, None, None
