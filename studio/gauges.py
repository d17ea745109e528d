"""Budgets as they stand: of one run, and the limits that a new run would meet."""

from __future__ import annotations

from datetime import datetime

from runtime.errors import BadFlow, BadSettings
from runtime.events import Gauge
from runtime.ledger import Rule, Subject, counter_key, gauge
from runtime.plan import read_plan
from runtime.record import Record, RunLine
from studio.state import Studio


async def run_gauges(studio: Studio, run: RunLine) -> list[Gauge]:
    """The budgets of the flow and of the settings that govern a run, as they stand now, each once."""
    raw = await studio.record.flow_bytes(run.flow_hash)
    if raw is None:
        return []
    try:
        plan = read_plan(raw, studio.services.registry, lambda: None)
    except (BadFlow, BadSettings):  # a node type of it may be gone
        return []
    provider = (run.model or "").partition(":")[0]
    rules = [rule for node in plan.reasoners for rule in node.rules]
    rules += studio.settings.rules_for(run.flow_id, provider) if plan.reasoners else ()
    subject = Subject(run.partition, run.user_id, run.charged_uid, run.run_id)
    return await standing(studio.record, rules, subject, studio.services.clock.now())


async def standing(record: Record, rules: list[Rule], subject: Subject, now: datetime) -> list[Gauge]:
    """How each of these limits stands for somebody, in the order given, each once."""
    once = {(rule.pot, rule.metric, rule.period, rule.limit): rule for rule in reversed(rules)}
    kept = list(reversed(once.values()))
    if not kept:
        return []
    counters = await record.counters([counter_key(rule, subject, now) for rule in kept])
    return [gauge(rule, counter, now) for rule, counter in zip(kept, counters, strict=True)]
