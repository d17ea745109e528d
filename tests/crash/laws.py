"""What must hold of a database whatever happened to the processes that wrote it.

The ledger is read from its first row to its last by a model of budgets of its own, in a few lines: each hold
must have been admissible by what had been settled and held until then.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.ledger import CounterKey, Rule, Subject, counter_key
from runtime.record import ACTIVE, LedgerFilter, LedgerRow, Record, SessionFilter

Rules = Mapping[str, Sequence[Rule]]
"""By pot."""


class Replay:
    """Budgets as the ledger tells of them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.used: dict[CounterKey, int] = defaultdict(int)
        self.limits: dict[CounterKey, int] = {}
        self._held: dict[CounterKey, dict[int, int]] = defaultdict(dict)
        self._alone: dict[CounterKey, int] = {}
        self._settled: set[str] = set()
        self._costless: set[str] = set()

    def read(self, row: LedgerRow) -> None:
        """The next row. Raises AssertionError where it should not have been written."""
        if row.kind in ("raise", "reset"):
            self._change(row)
        elif row.kind == "hold":
            for key, rule in self._keys(row):
                self._admissible(row, key, rule)
            for key, _ in self._keys(row):
                assert row.call_id is not None
                self._held[key][row.call_id] = _amount(key, row.amount or 0, row.cost)
                if row.model not in self._settled and len(self._held[key]) == 1:
                    self._alone[key] = row.call_id
        else:
            assert row.kind in ("settle", "release", "correct")
            self._count(row)

    def check_end(self) -> None:
        """Nothing is held any more."""
        assert {key: held for key, held in self._held.items() if held} == {}

    def _keys(self, row: LedgerRow) -> list[tuple[CounterKey, Rule]]:
        assert row.reserved_at is not None and row.session_uid is not None and row.run_id is not None
        subject = Subject(row.partition, row.user_id, row.session_uid, row.run_id)
        return [
            (counter_key(rule, subject, row.reserved_at), rule)
            for pot in row.pots
            for rule in self._rules[pot]
        ]

    def _admissible(self, row: LedgerRow, key: CounterKey, rule: Rule) -> None:
        limit = self.limits.get(key, rule.limit)
        held = sum(self._held[key].values())
        assert self.used[key] + held < limit, ("over the limit", key, self.used[key], held, limit, row)
        assert self._alone.get(key) not in self._held[key], ("a model's first call is alone", key, row)
        if rule.strict:
            own = _amount(key, row.amount or 0, row.cost)
            assert self.used[key] + held + own <= limit, (
                "strict",
                key,
                self.used[key],
                held,
                own,
                limit,
                row,
            )
        if rule.metric == "spend" and rule.unknown_cost == "block":
            assert row.model not in self._costless, ("unknown cost", key, row)

    def _count(self, row: LedgerRow) -> None:
        counted: set[CounterKey] = set()
        for key, _ in self._keys(row):
            self._held[key].pop(row.call_id or 0, None)
            if key not in counted:
                self.used[key] += _amount(key, row.usage.tokens, row.cost)
            counted.add(key)
        if row.kind == "settle" and not row.estimated and row.model is not None:
            self._settled.add(row.model)
            if row.cost is None:
                self._costless.add(row.model)

    def _change(self, row: LedgerRow) -> None:
        (rule,) = [r for r in self._rules[row.pots[0]] if (r.metric, r.period) == (row.metric, row.period)]
        key = CounterKey(row.partition, rule.pot, rule.metric, rule.period, row.owner or "", row.start or "")
        self._alone.pop(key, None)
        if row.kind == "reset":
            assert row.amount == self.used[key]
            self.used[key] = 0
        else:
            assert row.amount is not None
            self.limits[key] = row.amount


def _amount(key: CounterKey, tokens: int, cost: int | None) -> int:
    return tokens if key.metric == "tokens" else cost or 0


async def check_laws(record: Record, path: Path, rules: Rules) -> Tally[str]:
    """All of them; what there was, counted: runs by state, rows by kind."""
    rows = await record.ledger(LedgerFilter())
    replay = Replay(rules)
    for row in rows:
        replay.read(row)
    replay.check_end()
    for line in await record.all_counters("real"):
        assert line.counter.held == 0, line
        assert line.counter.used == replay.used[line.key], (line, replay.used[line.key])
    _check_calls(rows)
    seen = Tally(f"row {row.kind} {row.status or ''}".strip() for row in rows)
    for session in await record.sessions(SessionFilter(limit=10_000)):
        events = [json.loads(body) for body in await record.events_json(session.uid)]
        assert [event["seq"] for event in events] == list(range(1, session.events + 1))
        runs = await record.runs(session.uid)
        for run in runs:
            assert run.state not in ACTIVE, run
            mine = [event for event in events if event["run_id"] == run.run_id]
            _check_run(run.state, mine, [row for row in rows if row.run_id == run.run_id])
            seen[f"run {run.state}"] += 1
            seen.update(f"event {event['type']}" for event in mine if event["type"] in TOLD)
        assert {event["run_id"] for event in events} <= {run.run_id for run in runs} | {None}
    with sqlite3.connect(path) as raw:
        for table in ("ticket", "lease"):
            assert raw.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    return seen


TOLD = ("budget.waiting", "agent.error", "agent.warning", "tool.response")


def _check_calls(rows: Sequence[LedgerRow]) -> None:
    """Each held call ends once; a thinker's second call ends without a hold of its own."""
    held = Tally(row.call_id for row in rows if row.kind == "hold")
    ended = Tally(row.call_id for row in rows if row.kind in ("settle", "release"))
    assert set(held.values()) | set(ended.values()) <= {1}
    assert set(held) <= set(ended)


def _check_run(state: str, events: Sequence[dict[str, Any]], rows: Sequence[LedgerRow]) -> None:
    """It began and ended once, and its timeline tells of what the ledger has."""
    types = Tally(event["type"] for event in events)
    assert (types["run.started"], types["run.finished"]) == (1, 1)
    finished = next(event for event in events if event["type"] == "run.finished")
    assert finished["state"] == state
    settled = [row for row in rows if row.kind in ("settle", "correct")]
    tokens = sum(row.usage.tokens for row in settled)
    assert finished["usage"].get("input", 0) + finished["usage"].get("output", 0) == tokens
    assert finished["cost"] == sum(row.cost or 0 for row in settled)
    assert sum(event["tokens"] for event in events if event["type"] == "budget.settled") == tokens
    if state in ("completed", "failed", "cancelled"):
        assert events[-1] is finished
        assert types["node.started"] == types["node.finished"] + types["node.failed"]
        assert types["tool.request"] == types["tool.response"]
