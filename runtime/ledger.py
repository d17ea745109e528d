"""Budgets as arithmetic: periods, counters, estimates, the decision, admission and warning. Pure.

Rules (SPEC: decision): used >= limit refuses and no call is made; used * 100 >= threshold_pct * limit
warns and the call is made. Amounts are whole tokens or nano-dollars; nothing here is a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from runtime.events import Gauge
from runtime.usage import money_text

Metric = Literal["tokens", "spend"]
Period = Literal["run", "session", "daily", "weekly", "monthly", "lifetime"]
Decision = Literal["ok", "warning", "error"]
RefusalCode = Literal["budget.exceeded", "budget.cost_unknown"]

PERIODS: tuple[Period, ...] = ("run", "session", "daily", "weekly", "monthly", "lifetime")
EVERYONE = "*"
RECENT_CALLS = 20
"""How many settled calls of a model the dearest one is taken from (SPEC 5)."""
OUTPUT_TOKENS_WITHOUT_LIMIT = 4096
"""Output tokens assumed where neither the agent nor the model says a limit (SPEC 5)."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One limit that governs a call.

    `limit` is in tokens or nano-dollars. `pot` names what is counted together: `flow id/name`,
    `shared:NAME`, `settings/NAME` or `limit/METRIC`. `everyone`: one counter for all users. `field` says in
    words where the limit can be changed.
    """

    name: str
    pot: str
    metric: Metric
    period: Period
    limit: int
    threshold_pct: Decimal | None = Decimal(80)
    strict: bool = False
    unknown_cost: Literal["warn", "block"] = "warn"
    everyone: bool = False
    node_id: str | None = None
    field: str = "limit"


class CounterKey(NamedTuple):
    """What one counter counts. `start` is the ISO time of the period's start, empty where it has none."""

    partition: str
    pot: str
    metric: Metric
    period: Period
    owner: str
    start: str


class Counter(NamedTuple):
    """A counter as it stands. `used` is settled usage since the period's start or the last reset; `held`
    is what calls in flight hold; `unknown` counts settled calls without a known cost; `limit` is a raise
    that beats the rule's own."""

    used: int = 0
    held: int = 0
    unknown: int = 0
    limit: int | None = None


class Subject(msgspec.Struct, frozen=True):
    """Whose call it is."""

    partition: str
    user_id: str | None
    session_uid: str
    run_id: str


def period_start(period: Period, at: datetime) -> datetime | None:
    """The UTC start of the period that `at` lies in; None for run, session and lifetime. Weeks begin on
    Monday. A naive time is read as UTC."""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "daily":
        return day
    if period == "weekly":
        return day - timedelta(days=day.weekday())
    if period == "monthly":
        return day.replace(day=1)
    return None


def period_end(period: Period, at: datetime) -> datetime | None:
    """When the period that `at` lies in ends and its counter reads 0 again; None where it never does."""
    start = period_start(period, at)
    if start is None:
        return None
    if period == "monthly":
        return (start + timedelta(days=32)).replace(day=1)
    return start + timedelta(days=1 if period == "daily" else 7)


def counter_key(rule: Rule, subject: Subject, at: datetime) -> CounterKey:
    """The counter that a rule reads for this subject at this time."""
    if rule.period == "run":
        owner = subject.run_id
    elif rule.period == "session":
        owner = subject.session_uid
    elif rule.everyone:
        owner = EVERYONE
    else:
        owner = subject.user_id or ""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    start = start_text(rule.period, at.date())
    return CounterKey(subject.partition, rule.pot, rule.metric, rule.period, owner, start)


@lru_cache(maxsize=128)
def start_text(period: Period, day: date) -> str:
    """The start, as in a counter's key, of the period that a UTC day lies in; empty where it has none."""
    start = period_start(period, datetime(day.year, day.month, day.day, tzinfo=UTC))
    return start.isoformat() if start else ""


def limit_of(rule: Rule, counter: Counter) -> int:
    """The limit that binds: a raise where there is one, else the rule's own."""
    return rule.limit if counter.limit is None else counter.limit


def decide(used: int, limit: int, threshold_pct: Decimal | None) -> Decision:
    """The decision before a step, on recorded usage alone."""
    if used >= limit:
        return "error"
    if threshold_pct is not None and used * 100 >= threshold_pct * limit:
        return "warning"
    return "ok"


class Estimate(NamedTuple):
    """What a call may use at most by our count: tokens, and nano-dollars (None: no price known)."""

    tokens: int
    cost: int | None


class ModelPast(msgspec.Struct, frozen=True):
    """What the last settled, not estimated calls of a model showed (in one partition)."""

    settled: int = 0
    dearest_tokens: int = 0
    dearest_cost: int | None = None


def estimate(counted: Estimate, past: ModelPast) -> Estimate:
    """The larger of what was counted beforehand and the dearest recent call."""
    costs = [c for c in (counted.cost, past.dearest_cost) if c is not None]
    return Estimate(max(counted.tokens, past.dearest_tokens), max(costs) if costs else None)


class HoldAmount(NamedTuple):
    """What is held of the counter of the rule at position `rule` (of the rules given)."""

    rule: int
    amount: int


class Admitted(msgspec.Struct, frozen=True):
    """The call may be made; `warnings` are the positions of rules whose threshold is reached."""

    estimate: Estimate
    holds: tuple[HoldAmount, ...]
    warnings: tuple[int, ...]


class Refused(msgspec.Struct, frozen=True):
    """The call must not be made; the rule at position `rule` says so."""

    code: RefusalCode
    rule: int
    estimate: Estimate


class Blocked(msgspec.Struct, frozen=True):
    """Only the holds of other calls stand in the way, at the rules of these positions."""

    rules: tuple[int, ...]
    estimate: Estimate


Admission = Admitted | Refused | Blocked


def admit(
    rules: Sequence[Rule],
    keys: Sequence[CounterKey],
    counters: Sequence[Counter],
    counted: Estimate,
    past: ModelPast,
    *,
    free: bool = False,
) -> Admission:
    """Decide, in one act, whether a call may be made and what it holds of each budget.

    `rules`, `keys` and `counters` run in parallel; rules on one counter hold it once. `free`: the model is
    known to cost nothing. The first call of a model holds all that is left, since nothing says yet what
    such a call costs, and never less than its estimate: the limit may be raised while it is in flight.
    """
    asked = estimate(counted, past)
    costless = free or (past.settled > 0 and asked.cost is None)
    unknown = costless and not free
    first = past.settled == 0
    refused: list[tuple[int, int, RefusalCode]] = []
    blocked: list[int] = []
    warnings: list[int] = []
    holds: dict[CounterKey, HoldAmount] = {}
    for i, (rule, key, counter) in enumerate(zip(rules, keys, counters, strict=True)):
        limit = rule.limit if counter.limit is None else counter.limit
        spend = rule.metric == "spend"
        amount = (asked.cost or 0) if spend else asked.tokens
        code = _refusal(rule, counter.used, limit, amount, unknown=unknown)
        if code is not None:
            refused.append((PERIODS.index(rule.period), i, code))
            continue
        left = limit - counter.used - counter.held
        if left <= 0 or (rule.strict and amount > left):
            blocked.append(i)
            continue
        if decide(counter.used, limit, rule.threshold_pct) == "warning":
            warnings.append(i)
        hold = 0 if spend and costless else max(left, amount) if first else amount
        held = holds.get(key)
        if held is None:
            holds[key] = HoldAmount(i, hold)
        elif first and hold < held.amount:  # two limits on one pot: what is left under the lower one
            holds[key] = HoldAmount(held.rule, hold)
    if refused:
        _, rule_at, code = min(refused)
        return Refused(code, rule_at, asked)
    if blocked:
        return Blocked(tuple(blocked), asked)
    return Admitted(asked, tuple(holds.values()), tuple(warnings))


def _refusal(rule: Rule, used: int, limit: int, amount: int, *, unknown: bool) -> RefusalCode | None:
    """Why a rule forbids the call whatever others hold; None where it does not."""
    if used >= limit:
        return "budget.exceeded"
    if unknown and rule.unknown_cost == "block" and rule.metric == "spend":
        return "budget.cost_unknown"
    if rule.strict and used + amount > limit:
        return "budget.exceeded"
    return None


def used_by(metric: Metric, tokens: int, cost: int | None) -> int:
    """What a settled call adds to a counter of that metric; an unknown cost adds nothing but is counted."""
    return tokens if metric == "tokens" else cost or 0


def gauge(rule: Rule, counter: Counter, at: datetime) -> Gauge:
    """How a budget stands, for events, errors and the studio."""
    return Gauge(
        budget=rule.name,
        pot=rule.pot,
        metric=rule.metric,
        period=rule.period,
        used=counter.used,
        held=counter.held,
        limit=limit_of(rule, counter),
        threshold_pct=None if rule.threshold_pct is None else float(rule.threshold_pct),
        unknown=counter.unknown if rule.metric == "spend" else 0,
        node_id=rule.node_id,
        resets_at=period_end(rule.period, at),
        field=rule.field,
    )


def amount_text(metric: str, amount: int | None) -> str:
    """An amount for people: `$0.31` or `1,200 tokens`."""
    if metric == "spend":
        return money_text(amount)
    return "unknown" if amount is None else f"{amount:,} tokens"


PERIOD_WORDS: dict[str, str] = {
    "run": "for this run",
    "session": "for this session",
    "daily": "today",
    "weekly": "this week",
    "monthly": "this month",
    "lifetime": "in all",
}


def gauge_text(shown: Gauge) -> str:
    """`$0.31 of $0.50 today, resets 00:00 UTC Monday 2 March`; "at least" where a cost is unknown, and no
    limit where none is at hand."""
    text = ("at least " if shown.unknown else "") + amount_text(shown.metric, shown.used)
    if shown.limit is not None:
        text += f" of {amount_text(shown.metric, shown.limit)}"
    text += f" {PERIOD_WORDS[shown.period]}"
    if shown.resets_at is not None:
        text += f", resets {shown.resets_at:%H:%M UTC %A} {shown.resets_at.day} {shown.resets_at:%B}"
    return text
