"""Rows of counters, holds and the ledger. A counter is a cache of a fold over ledger rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from runtime.ledger import (
    EVERYONE,
    RECENT_CALLS,
    Counter,
    CounterKey,
    HoldAmount,
    ModelPast,
    period_end,
)
from runtime.record import LedgerRow, LimitChange
from runtime.store.rows import Charge, CounterRow, RunRow
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import micros, micros_or_none, period_starts, to_json

COUNTER = "SELECT id, partition, pot, metric, period, owner, start, used, held, unknown, raised FROM counter "
KEY = "WHERE partition = ? AND pot = ? AND owner = ? AND start = ? AND period = ? AND metric = ?"
_CHARGE = """UPDATE counter SET used = used + CASE metric WHEN 'tokens' THEN ?1 ELSE ?2 END,
unknown = unknown + CASE metric WHEN 'tokens' THEN 0 ELSE ?3 END
WHERE partition = ?4 AND pot = ?5 AND owner IN (?6, ?7, ?8, '*') AND start IN ('', ?9, ?10, ?11)
AND owner = CASE period WHEN 'run' THEN ?6 WHEN 'session' THEN ?7
ELSE CASE owner WHEN '*' THEN '*' ELSE ?8 END END
AND start = CASE period WHEN 'daily' THEN ?9 WHEN 'weekly' THEN ?10 WHEN 'monthly' THEN ?11 ELSE '' END"""
_SUMS = """SELECT coalesce(sum(l.input + l.output), 0), coalesce(sum(l.cost), 0),
count(*) FILTER (WHERE l.kind = 'settle' AND l.cost IS NULL) """
_OF_ONE = (
    _SUMS
    + """FROM ledger l WHERE l.{column} = ? AND l.kind IN ('settle', 'correct') AND EXISTS (
SELECT 1 FROM charge c WHERE c.partition = ? AND c.pot = ? AND c.owner = coalesce(l.user_id, '')
AND c.reserved_at = l.reserved_at AND c.ledger_id = l.id)"""
)
_OF_PERIOD = (
    _SUMS
    + """FROM charge c JOIN ledger l ON l.id = c.ledger_id
WHERE c.partition = ? AND c.pot = ? AND c.reserved_at >= ? AND c.reserved_at < ?"""
)
_RAISED = """SELECT amount FROM ledger WHERE partition = ? AND owner = ? AND period = ? AND metric = ?
AND kind = 'raise' AND pots = ? AND (for_good OR start = ?) ORDER BY id DESC LIMIT 1"""
PAST = """SELECT count(*), max(tokens), max(cost) FROM (SELECT input + output AS tokens, cost FROM ledger
WHERE partition = ? AND model = ? AND kind = 'settle' AND estimated = 0 ORDER BY id DESC LIMIT ?)"""
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
        column = "run_id" if period == "run" else "session_uid"
        sums = connection.execute(_OF_ONE.format(column=column), (owner, partition, pot)).fetchone()
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

    def counters(self, keys: Sequence[CounterKey]) -> list[CounterRow]:
        found = {key: find_counter(self.connection, key) or self._create(key) for key in sorted(set(keys))}
        return [found[key] for key in keys]

    def _create(self, key: CounterKey) -> CounterRow:
        partition, pot, metric, period, owner, start = key
        counter = fold(self.connection, key)
        row_id = self.insert(
            "INSERT INTO counter (partition, pot, owner, start, period, metric, used, held, unknown, raised)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (partition, pot, owner, start, period, metric, *counter),
        )
        return CounterRow(row_id, key, counter)

    def counters_by_id(self, ids: Sequence[int]) -> list[CounterRow]:
        return [counter_of(self.one(COUNTER + "WHERE id = ?", row_id)) for row_id in ids]

    def hold(self, call_id: int, counters: Sequence[int], amounts: Sequence[HoldAmount]) -> None:
        held = [(counters[rule], amount) for rule, amount in amounts]
        self.connection.executemany(
            "INSERT INTO hold VALUES (?, ?, ?)", [(call_id, counter, amount) for counter, amount in held]
        )
        self.connection.executemany(
            "UPDATE counter SET held = held + ? WHERE id = ?", [(amount, counter) for counter, amount in held]
        )

    def holds(self, call_id: int) -> dict[int, int]:
        return dict(self.execute("SELECT counter, amount FROM hold WHERE call = ?", (call_id,)).fetchall())

    def free(self, call_id: int, used: Charge | None) -> None:
        if used is not None:
            self._free_part(call_id, used)
            return
        freed = self.execute(
            "DELETE FROM hold WHERE call = ? RETURNING amount, counter", (call_id,)
        ).fetchall()
        self.connection.executemany("UPDATE counter SET held = held - ? WHERE id = ?", freed)

    def _free_part(self, call_id: int, used: Charge) -> None:
        """Let go of what the call used; the rest is held on for the call that carries on."""
        for counter, amount in self.holds(call_id).items():
            (metric,) = self.one("SELECT metric FROM counter WHERE id = ?", counter)
            part = min(amount, used.tokens if metric == "tokens" else used.cost)
            self.execute(
                "UPDATE hold SET amount = amount - ? WHERE call = ? AND counter = ?", (part, call_id, counter)
            )
            self.execute("UPDATE counter SET held = held - ? WHERE id = ?", (part, counter))

    def move_holds(self, from_call: int, to_call: int) -> None:
        self.execute("UPDATE hold SET call = ? WHERE call = ?", (to_call, from_call))

    def add_ledger(self, row: LedgerRow) -> int:
        usage = row.usage
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

    def charge(
        self, ledger_id: int, run: RunRow, pots: Sequence[str], reserved_at: datetime, what: Charge
    ) -> None:
        owner, at, starts = run.user_id or "", micros(reserved_at), period_starts(reserved_at)
        for pot in pots:
            self.execute(
                "INSERT INTO charge VALUES (?, ?, ?, ?, ?)", (run.partition, pot, owner, at, ledger_id)
            )
            self.execute(_CHARGE, (*what, run.partition, pot, run.run_id, run.session_uid, owner, *starts))

    def model_past(self, partition: str, model: str) -> ModelPast:
        count, tokens, cost = self.one(PAST, partition, model, RECENT_CALLS)
        return ModelPast(count, tokens or 0, cost)

    def add_limit_change(self, ledger_id: int, change: LimitChange, counter: CounterRow) -> None:
        if change.action == "reset":
            self.execute("UPDATE counter SET used = 0, unknown = 0 WHERE id = ?", (counter.id,))
            return
        partition, pot, metric, period, owner, start = change.key
        later = "start >= ?" if change.for_good else "start = ?"
        self.execute(
            "UPDATE counter SET raised = ? WHERE partition = ? AND pot = ? AND owner = ? AND period = ?"
            f" AND metric = ? AND {later}",
            (change.amount, partition, pot, owner, period, metric, start),
        )
