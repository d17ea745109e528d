"""How budgets stand: those that counted something and those that did not yet, as a table."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.cli import options
from runtime.cli.limits import Known, as_last_run, flows_in
from runtime.cli.table import Column, show
from runtime.events import Gauge
from runtime.facts import Partition
from runtime.ledger import (
    EVERYONE,
    Counter,
    CounterKey,
    Rule,
    Subject,
    amount_text,
    counter_key,
    gauge,
    period_start,
)
from runtime.record import Record

OF_ONE = frozenset({"run", "session"})
"""Periods that end with a run or a session; their budgets are many and are shown with --all."""


class Shown(NamedTuple):
    """A budget as it stands for one owner. `flow` null: the user's own; `limit` of the gauge null: its flow
    does not say it any more."""

    gauge: Gauge
    owner: str
    flow: str | None


async def standing(
    record: Record,
    known: list[Known],
    partition: Partition,
    user_id: str | None,
    now: datetime,
    *,
    flow: str | None,
    everything: bool,
    session: str | None = None,
) -> list[Shown]:
    """Every budget in its present period: those that counted something, and those known that did not yet.
    With the uid of a `session` only its own and its runs'."""
    lines = await record.all_counters(partition, user_id)
    current = {line.key: line.counter for line in lines if _is_current(line.key, now)}
    if session is not None:
        within = {session, *(run.run_id for run in await record.runs(session))}
        current = {key: counter for key, counter in current.items() if key.owner in within}
        everything = True
    if flow is None:
        for flow_id in flows_in(key.pot for key in current):
            known = [*known, *await as_last_run(record, flow_id, partition)]
    rules = {(k.rule.pot, k.rule.metric, k.rule.period): k for k in reversed(known)}
    found: dict[CounterKey, Shown] = {}
    for key, counter in current.items():
        match = rules.get((key.pot, key.metric, key.period))
        if (match is None and flow is not None) or (key.period in OF_ONE and not everything):
            continue
        found[key] = Shown(_gauge(key, counter, match, now), key.owner, match.flow if match else None)
    if session is not None:
        return list(found.values())
    subject = Subject(partition, user_id or options.LOCAL_USER, "", "")
    fresh = {counter_key(k.rule, subject, now): k for k in known if k.rule.period not in OF_ONE}
    counted = {(key.pot, key.metric, key.period) for key in found} if user_id is None else set()
    missing = [k for k in fresh if k not in found and (k.pot, k.metric, k.period) not in counted]
    for key, counter in zip(missing, await record.counters(missing), strict=True):
        found[key] = Shown(gauge(fresh[key].rule, counter, now), key.owner, fresh[key].flow)
    return list(found.values())


def _is_current(key: CounterKey, now: datetime) -> bool:
    start = period_start(key.period, now)
    return key.start == (start.isoformat() if start is not None else "")


def _gauge(key: CounterKey, counter: Counter, known: Known | None, now: datetime) -> Gauge:
    if known is not None:
        return gauge(known.rule, counter, now)
    rule = Rule(name=key.pot.rpartition("/")[2], pot=key.pot, metric=key.metric, period=key.period, limit=0)
    shown = gauge(rule, counter, now)
    return shown if counter.limit is not None else msgspec.structs.replace(shown, limit=None)


def print_budgets(found: list[Shown]) -> None:
    """A row a budget and owner."""
    columns = (
        Column("budget", flexible=True, style="bold"),
        Column("flow", flexible=True),
        Column("of", flexible=True),
        Column("period"),
        Column("used", right=True),
        Column("held", right=True, spare=True),
        Column("limit", right=True),
        Column("left", right=True, style="cyan"),
        Column("anew (UTC)", spare=True),
    )
    show(columns, [_cells(shown) for shown in found])


def _whose(pot: str) -> str:
    """The flow a pot is of, or what it is instead, so that equal names can be told apart."""
    flow, slash, _ = pot.rpartition("/")
    if not slash:
        return "shared" if pot.startswith("shared:") else pot
    return {"settings": "yours", "limit": "--limit"}.get(flow, flow)


def _cells(shown: Shown) -> tuple[str, ...]:
    g = shown.gauge
    least = "≥ " if g.unknown else ""
    left = "" if g.limit is None else amount_text(g.metric, max(0, g.limit - g.used))
    return (
        g.budget,
        _whose(g.pot),
        "everyone" if shown.owner == EVERYONE else shown.owner,
        g.period,
        least + amount_text(g.metric, g.used),
        amount_text(g.metric, g.held) if g.held else "",
        "?" if g.limit is None else amount_text(g.metric, g.limit),
        left,
        "" if g.resets_at is None else f"{g.resets_at:%Y-%m-%d}",
    )
