"""Lists and reports of the reading side: sessions with filters, sums of spending."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, String, cast, desc, func, literal_column, or_, select
from sqlalchemy.dialects import sqlite
from sqlmodel import col

from runtime.record import LedgerFilter, SessionFilter, SessionLine, SpendLine
from runtime.store import tables as t
from runtime.store.grouping import field_of
from runtime.store.values import instant, micros
from runtime.usage import Usage

_DIALECT = sqlite.dialect(paramstyle="named")
_COUNTS = col(t.Ledger.kind).in_(("settle", "correct"))
_UNKNOWN = func.count().filter(col(t.Ledger.kind) == "settle", col(t.Ledger.cost).is_(None))
_SUMS: list[Any] = [
    *(
        func.coalesce(func.sum(column), 0)
        for column in (
            col(t.Ledger.input),
            col(t.Ledger.cached),
            col(t.Ledger.cache_write),
            col(t.Ledger.output),
            col(t.Ledger.reasoning),
            col(t.Ledger.cost),
        )
    ),
    _UNKNOWN,
]


def _all(connection: sqlite3.Connection, query: Select[Any]) -> list[tuple[Any, ...]]:
    """Run a query on a plain connection, so that it reads the caller's snapshot."""
    compiled = query.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return connection.execute(str(compiled), compiled.params).fetchall()


# Sessions


def sessions(connection: sqlite3.Connection, which: SessionFilter) -> list[SessionLine]:
    """Sessions that match, the latest active first."""
    query = _session_query().where(*_session_clauses(which))
    query = query.order_by(desc(col(t.Session.last_at)), desc(col(t.Session.id))).limit(which.limit)
    return [_session_line(connection, row) for row in _all(connection, query)]


def session(connection: sqlite3.Connection, uid: str) -> SessionLine | None:
    found = _all(connection, _session_query().where(col(t.Session.uid) == uid))
    return _session_line(connection, found[0]) if found else None


def _of_session(column: Any) -> Select[Any]:
    return select(column).where(col(t.Run.session) == col(t.Session.id)).correlate(t.Session)


_STATE = func.coalesce(
    _of_session(col(t.Run.state)).order_by(desc(col(t.Run.id))).limit(1).scalar_subquery(), ""
)


def _session_query() -> Select[Any]:
    return select(
        col(t.Session.uid),
        col(t.Session.partition),
        col(t.Session.user_id),
        col(t.Session.flow_id),
        col(t.Session.flow_name),
        col(t.Session.name),
        col(t.Session.opened_at),
        col(t.Session.last_at),
        _of_session(func.count()).scalar_subquery(),
        _STATE,
        col(t.Session.next_seq) - col(t.Session.first_seq),
    )


def _session_clauses(which: SessionFilter) -> list[ColumnElement[bool]]:
    clauses: list[ColumnElement[bool]] = [col(t.Session.partition) == which.partition]
    if which.user_id is not None:
        clauses.append(col(t.Session.user_id) == which.user_id)
    if which.flow_id is not None:
        clauses.append(col(t.Session.flow_id) == which.flow_id)
    if which.name is not None:
        clauses.append(col(t.Session.name) == which.name)
    if which.state is not None:
        clauses.append(_STATE.op("=")(which.state))
    if which.before is not None:
        clauses.append(col(t.Session.last_at) < micros(which.before))
    if which.text is not None:
        texts = (t.Session.name, t.Session.uid, t.Session.user_id, t.Session.flow_id, t.Session.flow_name)
        clauses.append(or_(*(col(text).contains(which.text, autoescape=True) for text in texts)))
    return clauses


def _session_line(connection: sqlite3.Connection, row: tuple[Any, ...]) -> SessionLine:
    uid, partition, user_id, flow_id, flow_name, name, opened, last, runs, state, events = row
    its_runs = select(col(t.Run.run_id)).join(t.Session, col(t.Session.id) == col(t.Run.session))
    of_session = col(t.Ledger.run_id).in_(its_runs.where(col(t.Session.uid) == uid))
    (sums,) = _all(connection, select(*_SUMS).where(_COUNTS, of_session))
    return SessionLine(
        uid,
        partition,
        user_id,
        flow_id,
        flow_name,
        name,
        instant(opened),
        instant(last),
        runs,
        state,
        events,
        Usage(*sums[:5]),
        sums[5],
        sums[6],
    )


# Spending


def spend(connection: sqlite3.Connection, which: LedgerFilter, by: Sequence[str]) -> list[SpendLine]:
    """Sums of the rows that count, by these groups, dearest first."""
    groups: list[Any] = [_group(name) for name in by]
    query = select(
        *groups,
        func.count(),
        func.count().filter(col(t.Ledger.kind) == "settle"),
        func.coalesce(func.sum(col(t.Ledger.estimated)), 0),
        *_SUMS,
    ).where(_COUNTS, *_ledger_clauses(which))
    if groups:
        query = query.group_by(*groups)
    tokens = func.sum(col(t.Ledger.input) + col(t.Ledger.output))
    query = query.order_by(desc(func.coalesce(func.sum(col(t.Ledger.cost)), 0)), desc(tokens), *groups)
    return [_spend_line(row, len(groups)) for row in _all(connection, query) if row[len(groups)]]


def _spend_line(row: tuple[Any, ...], size: int) -> SpendLine:
    _, calls, estimated, *sums = row[size:]
    return SpendLine(tuple(row[:size]), calls, Usage(*sums[:5]), sums[5], sums[6], estimated)


def _group(name: str) -> ColumnElement[Any]:
    field = field_of(name)
    if field != "day":
        return cast(getattr(t.Ledger, field), String)
    reserved = func.coalesce(col(t.Ledger.reserved_at), col(t.Ledger.at))
    return func.date(reserved.op("/")(literal_column("1000000")), "unixepoch")


def _ledger_clauses(which: LedgerFilter) -> list[ColumnElement[bool]]:
    clauses: list[ColumnElement[bool]] = []
    for name in ("partition", "user_id", "flow_id", "session_uid", "run_id", "model", "purpose"):
        value = getattr(which, name)
        if value is not None:
            clauses.append(col(getattr(t.Ledger, name)) == value)
    if which.kinds:
        clauses.append(col(t.Ledger.kind).in_(which.kinds))
    if which.pot is not None:
        charged = select(col(t.Charge.ledger_id)).where(col(t.Charge.pot) == which.pot)
        clauses.append(col(t.Ledger.id).in_(charged))
    if which.since is not None:
        clauses.append(col(t.Ledger.at) >= micros(which.since))
    if which.until is not None:
        clauses.append(col(t.Ledger.at) < micros(which.until))
    return clauses
