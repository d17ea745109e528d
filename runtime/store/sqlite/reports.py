"""Reports of the reading side: sums of spending by any groups."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, String, cast, desc, func, literal_column, select
from sqlalchemy.dialects import sqlite
from sqlmodel import col

from runtime.record import LedgerFilter, SpendLine
from runtime.store import tables as t
from runtime.store.grouping import field_of
from runtime.store.values import micros
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
