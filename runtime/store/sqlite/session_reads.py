"""Lists of sessions as plain SQL: what is asked for often loads nothing that builds larger queries."""

from __future__ import annotations

import sqlite3
from typing import Any

from runtime.record import SessionFilter, SessionLine
from runtime.store.sqlite.rows_runs import totals_of
from runtime.store.values import instant, micros

_STATE = "coalesce((SELECT r.state FROM run r WHERE r.session = s.id ORDER BY r.id DESC LIMIT 1), '')"
_SESSION = f"""SELECT s.uid, s.partition, s.user_id, s.flow_id, s.flow_name, s.name, s.opened_at, s.last_at,
(SELECT count(*) FROM run r WHERE r.session = s.id), {_STATE}, s.next_seq - s.first_seq, s.id
FROM session s WHERE """
_SUMS = """SELECT total(l.input), total(l.cached), total(l.cache_write), total(l.output), total(l.reasoning),
coalesce(sum(l.cost), 0), count(*) FILTER (WHERE l.kind = 'settle' AND l.cost IS NULL)
FROM run r JOIN ledger l ON l.run_id = r.run_id AND l.kind IN ('settle', 'correct') WHERE r.charged = ?"""
_TEXTS = ("s.name", "s.uid", "s.user_id", "s.flow_id", "s.flow_name")


def sessions(connection: sqlite3.Connection, which: SessionFilter) -> list[SessionLine]:
    """Sessions that match, the latest active first."""
    clauses: list[str] = ["s.partition = ?"]
    values: list[Any] = [which.partition]
    wanted: list[tuple[str, Any]] = [
        ("s.user_id = ?", which.user_id),
        ("s.flow_id = ?", which.flow_id),
        ("s.name = ?", which.name),
        (f"{_STATE} = ?", which.state),
        ("s.last_at < ?", None if which.before is None else micros(which.before)),
    ]
    for clause, value in wanted:
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if which.text is not None:
        clauses.append("(" + " OR ".join(f"{text} LIKE ? ESCAPE '/'" for text in _TEXTS) + ")")
        values.extend([_like(which.text)] * len(_TEXTS))
    sql = f"{_SESSION}{' AND '.join(clauses)} ORDER BY s.last_at DESC, s.id DESC LIMIT ?"
    found = connection.execute(sql, (*values, which.limit)).fetchall()
    return [_line(connection, row) for row in found]


def session(connection: sqlite3.Connection, uid: str) -> SessionLine | None:
    """One session."""
    row = connection.execute(_SESSION + "s.uid = ?", (uid,)).fetchone()
    return _line(connection, row) if row else None


def _like(text: str) -> str:
    """A pattern for a text anywhere."""
    for sign in ("/", "%", "_"):
        text = text.replace(sign, f"/{sign}")
    return f"%{text}%"


def _line(connection: sqlite3.Connection, row: tuple[Any, ...]) -> SessionLine:
    used = totals_of(connection.execute(_SUMS, (row[11],)).fetchone())
    return SessionLine._make((*row[:6], instant(row[6]), instant(row[7]), *row[8:11], *used))
