"""Reads of ledger rows."""

from __future__ import annotations

import sqlite3
from typing import Any

from runtime.record import LedgerFilter, LedgerRow
from runtime.store.values import from_json, instant, instant_or_none, micros
from runtime.usage import Usage

_COLUMNS = (
    "id, at, kind, partition, user_id, session_uid, run_id, flow_id, node_id, step, call_id, attempt,"
    " purpose, model, provider, request_id, input, cached, cache_write, output, reasoning, cost,"
    " cost_source, price, estimated, status, pots, amount, actor, reason, reserved_at, metric,"
    " period, owner, start, for_good"
)
_EQUAL = ("partition", "user_id", "flow_id", "session_uid", "run_id", "model", "purpose")


def rows(
    connection: sqlite3.Connection, which: LedgerFilter, after: int, before: int | None, limit: int | None
) -> list[LedgerRow]:
    """Rows by id that match every field that is set; with `before` the newest first."""
    clauses: list[str] = ["id > ?"]
    values: list[Any] = [after]
    wanted: list[tuple[str, Any]] = [(f"{name} = ?", getattr(which, name)) for name in _EQUAL]
    wanted.append(("EXISTS (SELECT 1 FROM json_each(ledger.pots) WHERE value = ?)", which.pot))
    wanted.append(("at >= ?", None if which.since is None else micros(which.since)))
    wanted.append(("id < ?", before))
    wanted.append(("at < ?", None if which.until is None else micros(which.until)))
    for clause, value in wanted:
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if which.kinds:
        clauses.append(f"kind IN ({', '.join('?' * len(which.kinds))})")
        values.extend(which.kinds)
    order = "id" if before is None else "id DESC"
    sql = f"SELECT {_COLUMNS} FROM ledger WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ?"
    found = connection.execute(sql, (*values, -1 if limit is None else limit)).fetchall()
    return [_row(row) for row in found]


def _row(row: tuple[Any, ...]) -> LedgerRow:
    return LedgerRow(
        id=row[0],
        at=instant(row[1]),
        kind=row[2],
        partition=row[3],
        user_id=row[4],
        session_uid=row[5],
        run_id=row[6],
        flow_id=row[7],
        node_id=row[8],
        step=row[9],
        call_id=row[10],
        attempt=row[11],
        purpose=row[12],
        model=row[13],
        provider=row[14],
        request_id=row[15],
        usage=Usage(*row[16:21]),
        cost=row[21],
        cost_source=row[22],
        price=None if row[23] is None else from_json(row[23]),
        estimated=bool(row[24]),
        status=row[25],
        pots=tuple(from_json(row[26])),
        amount=row[27],
        actor=row[28],
        reason=row[29],
        reserved_at=instant_or_none(row[30]),
        metric=row[31],
        period=row[32],
        owner=row[33],
        start=row[34],
        for_good=bool(row[35]),
    )
