"""Rows of counters, holds and the ledger. A counter is a cache of a fold over ledger rows."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.ledger import (
    EVERYONE,
    RECENT_CALLS,
    Counter,
    CounterKey,
    ModelPast,
    period_end,
)
from runtime.record import LedgerRow, LimitChange
from runtime.store.rows import CounterRow, Delta, RunRow
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import micros, micros_or_none, past_of, period_starts, to_json

COUNTER = "SELECT id, partition, pot, metric, period, owner, start, used, held, unknown, raised FROM counter "
KEY = "WHERE partition = ? AND pot = ? AND owner = ? AND start = ? AND period = ? AND metric = ?"
_CHARGED = """SELECT id FROM counter
WHERE partition = ?1 AND pot = ?2 AND owner IN (?3, ?4, ?5, '*') AND start IN ('', ?6, ?7, ?8)
AND CASE period WHEN 'run' THEN owner = ?3 WHEN 'session' THEN owner = ?4 ELSE owner IN (?5, '*') END
AND start = CASE period WHEN 'daily' THEN ?6 WHEN 'weekly' THEN ?7 WHEN 'monthly' THEN ?8 ELSE '' END"""
_SUMS = """SELECT coalesce(sum(l.input + l.output), 0), coalesce(sum(l.cost), 0),
count(*) FILTER (WHERE l.kind = 'settle' AND l.cost IS NULL) """
_OF_ONE = (
    _SUMS
    + """FROM ledger l WHERE l.run_id {which} AND l.kind IN ('settle', 'correct') AND EXISTS (
SELECT 1 FROM charge c WHERE c.partition = ? AND c.pot = ? AND c.owner = coalesce(l.user_id, '')
AND c.reserved_at = l.reserved_at AND c.ledger_id = l.id)"""
)
_WHICH = {
    "run": "= ?",
    "session": "IN (SELECT r.run_id FROM run r JOIN session s ON s.id = r.charged WHERE s.uid = ?)",
}
_OF_PERIOD = (
    _SUMS
    + """FROM charge c JOIN ledger l ON l.id = c.ledger_id
WHERE c.partition = ? AND c.pot = ? AND c.reserved_at >= ? AND c.reserved_at < ?"""
)
_RAISED = """SELECT amount FROM ledger WHERE partition = ? AND owner = ? AND period = ? AND metric = ?
AND kind = 'raise' AND pots = ? AND (for_good OR start = ?) ORDER BY id DESC LIMIT 1"""
RECENT = """SELECT input + output, cost FROM ledger
WHERE partition = ? AND model = ? AND kind = 'settle' AND estimated = 0 ORDER BY id DESC LIMIT ?"""
_LEDGER = f"INSERT INTO ledger VALUES (NULL{', ?' * 35})"
_END = 2**62


def counter_of(row: tuple[Any, ...]) -> CounterRow:
    return CounterRow(row[0], CounterKey(*row[1:7]), Counter(*row[7:]))


def find_counter(connection: sqlite3.Connection, key: CounterKey) -> CounterRow | None:
    partition, pot, metric, period, owner, start = key
    row = connection.execute(COUNTER + KEY, (partition, pot, owner, start, period, metric)).fetchone()
    return counter_of(row) if row else None


def fold(connection: sqlite3.Connection, key: CounterKey) -> Counter:
    """What the ledger says of a counter that is not stored: its settled rows and the raise that holds."""
    partition, pot, metric, period, owner, start = key
    if period in ("run", "session"):
        sql = _OF_ONE.format(which=_WHICH[period])
        sums = connection.execute(sql, (owner, partition, pot)).fetchone()
    else:
        since, until = 0, _END
        if start:
            at = datetime.fromisoformat(start)
            end = period_end(period, at)
            since, until = micros(at), micros(end) if end else _END
        if owner == EVERYONE:
            sums = connection.execute(_OF_PERIOD, (partition, pot, since, until)).fetchone()
        else:
            sql = _OF_PERIOD + " AND c.owner = ?"
            sums = connection.execute(sql, (partition, pot, since, until, owner)).fetchone()
    tokens, cost, unknown = sums
    pots = to_json([pot]).decode()
    raised = connection.execute(_RAISED, (partition, owner, period, metric, pots, start)).fetchone()
    used = tokens if metric == "tokens" else cost
    return Counter(used, 0, unknown if metric == "spend" else 0, raised[0] if raised else None)


class CounterRows(Transaction):
    """Counters, holds, ledger rows."""

    def counters(self, keys: Sequence[CounterKey], created: Callable[[CounterRow], None]) -> list[CounterRow]:
        known = self.known
        missing = {key for key in keys if key not in known.counter_ids}
        for key in sorted(missing):
            stored = find_counter(self.connection, key)
            row = stored or self._create(key)
            known.put_counter(row)
            if stored is None:
                created(row)
        return [known.counters[known.counter_ids[key]] for key in keys]

    def _create(self, key: CounterKey) -> CounterRow:
        partition, pot, metric, period, owner, start = key
        counter = fold(self.connection, key)
        row_id = self.insert(
            "INSERT INTO counter (partition, pot, owner, start, period, metric, used, held, unknown, raised)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (partition, pot, owner, start, period, metric, *counter),
        )
        self.known.charged.clear()
        return CounterRow(row_id, key, counter)

    def counters_by_id(self, ids: Sequence[int]) -> list[CounterRow]:
        for row_id in ids:
            if row_id not in self.known.counters:
                self.known.put_counter(counter_of(self.one(COUNTER + "WHERE id = ?", row_id)))
        return [self.known.counters[row_id] for row_id in ids]

    def charged(self, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> Sequence[CounterRow]:
        starts = period_starts(reserved_at)
        asked = (run.id, pots, starts)
        ids = self.known.charged.get(asked)
        if ids is None:
            whose = (run.run_id, run.charged_uid, run.user_id or "")
            found = [self.execute(_CHARGED, (run.partition, pot, *whose, *starts)).fetchall() for pot in pots]
            ids = self.known.charged[asked] = [row_id for rows in found for (row_id,) in rows]
        return self.counters_by_id(ids)

    def adjust(self, changes: Mapping[int, Delta]) -> None:
        written = []
        for row in self.counters_by_id(tuple(changes)):
            (used, held, unknown, limit), change = row.counter, changes[row.id]
            counter = Counter(used + change.used, held + change.held, unknown + change.unknown, limit)
            self.known.counters[row.id] = CounterRow(row.id, row.key, counter)
            written.append((*counter[:3], row.id))
        self.connection.executemany(
            "UPDATE counter SET used = ?, held = ?, unknown = ? WHERE id = ?", written
        )

    def add_ledger(self, row: LedgerRow) -> int:
        usage = row.usage
        if row.kind == "settle" and not row.estimated and row.model is not None:
            past = self.known.pasts.get((row.partition, row.model))
            if past is not None:
                past.append((usage.tokens, row.cost))
        return self.insert(
            _LEDGER,
            (
                micros(row.at),
                row.kind,
                row.partition,
                row.user_id,
                row.session_uid,
                row.run_id,
                row.flow_id,
                row.node_id,
                row.step,
                row.call_id,
                row.attempt,
                row.purpose,
                row.model,
                row.provider,
                row.request_id,
                usage.input,
                usage.cached,
                usage.cache_write,
                usage.output,
                usage.reasoning,
                row.cost,
                row.cost_source,
                None if row.price is None else to_json(row.price),
                row.estimated,
                row.status,
                to_json(row.pots).decode(),
                row.amount,
                row.actor,
                row.reason,
                micros_or_none(row.reserved_at),
                row.metric,
                row.period,
                row.owner,
                row.start,
                row.for_good,
            ),
        )

    def add_charge(self, ledger_id: int, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> None:
        owner, at = run.user_id or "", micros(reserved_at)
        self.connection.executemany(
            "INSERT INTO charge VALUES (?, ?, ?, ?, ?)",
            [(run.partition, owner, at, ledger_id, pot) for pot in pots],
        )

    def model_past(self, partition: str, model: str) -> ModelPast:
        recent = self.known.pasts.get((partition, model))
        if recent is None:
            found = self.execute(RECENT, (partition, model, RECENT_CALLS)).fetchall()
            recent = self.known.pasts[(partition, model)] = deque(reversed(found), RECENT_CALLS)
        return past_of(recent)

    def add_limit_change(self, ledger_id: int, change: LimitChange, counter: CounterRow) -> None:
        if change.action == "reset":
            self.execute("UPDATE counter SET used = 0, unknown = 0 WHERE id = ?", (counter.id,))
            self.known.forget()
            return
        partition, pot, metric, period, owner, start = change.key
        later = "start >= ?" if change.for_good else "start = ?"
        self.execute(
            "UPDATE counter SET raised = ? WHERE partition = ? AND pot = ? AND owner = ? AND period = ?"
            f" AND metric = ? AND {later}",
            (change.amount, partition, pot, owner, period, metric, start),
        )
        self.known.forget()
