"""Budgets as arithmetic: periods, decisions, admission."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.ledger import (
    PERIODS,
    Admitted,
    Blocked,
    Counter,
    CounterKey,
    Estimate,
    ModelPast,
    Period,
    Refused,
    Rule,
    Subject,
    admit,
    amount_text,
    counter_key,
    decide,
    estimate,
    gauge,
    gauge_text,
    limit_of,
    period_end,
    period_start,
    start_text,
    used_by,
)

STARTS = [
    # now, day, week, month
    ("2026-06-01T00:00:00+00:00", "2026-06-01", "2026-06-01", "2026-06-01"),
    ("2026-05-31T23:59:59+00:00", "2026-05-31", "2026-05-25", "2026-05-01"),
    ("2026-06-07T23:59:59+00:00", "2026-06-07", "2026-06-01", "2026-06-01"),
    ("2026-01-01T00:30:00+02:00", "2025-12-31", "2025-12-29", "2025-12-01"),
    ("2026-01-01T00:30:00+00:00", "2026-01-01", "2025-12-29", "2026-01-01"),
    ("2024-02-29T12:00:00+00:00", "2024-02-29", "2024-02-26", "2024-02-01"),
    ("2024-03-01T05:00:00+09:00", "2024-02-29", "2024-02-26", "2024-02-01"),
    ("2027-01-03T23:00:00+00:00", "2027-01-03", "2026-12-28", "2027-01-01"),
    ("2027-01-04T00:00:00+00:00", "2027-01-04", "2027-01-04", "2027-01-01"),
]


@pytest.mark.golden
@pytest.mark.parametrize(("now", "day", "week", "month"), STARTS)
def test_period_start_is_utc(now: str, day: str, week: str, month: str) -> None:
    at = datetime.fromisoformat(now)
    for period, start in (("daily", day), ("weekly", week), ("monthly", month)):
        assert period_start(period, at) == datetime.fromisoformat(start).replace(tzinfo=UTC)  # type: ignore[arg-type]
    for endless in ("run", "session", "lifetime"):
        assert period_start(endless, at) is None
        assert period_end(endless, at) is None


times = st.datetimes(
    min_value=datetime.fromisoformat("1990-01-01"),
    max_value=datetime.fromisoformat("2090-01-01"),
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))),
)
windows = st.sampled_from(["daily", "weekly", "monthly"])


@given(times, windows)
def test_a_period_holds_its_time_and_ends_where_the_next_begins(at: datetime, period: Period) -> None:
    start, end = period_start(period, at), period_end(period, at)
    assert start is not None
    assert end is not None
    assert start <= at < end
    assert period_start(period, end) == end
    assert period_start(period, end - timedelta(microseconds=1)) == start
    assert start_text(period, at.astimezone(UTC).date()) == start.isoformat()


@pytest.mark.golden
@pytest.mark.parametrize(
    ("used", "limit", "threshold", "decision"),
    [
        (0, 100, 80, "ok"),
        (80, 100, 80, "warning"),
        (99_999, 100_000, 80, "warning"),
        (150, 100, 80, "error"),
        (0, 0, 80, "error"),
        (5, 0, 80, "error"),
        (800_000_000, 1_000_000_000, 80, "warning"),
        (1_000_000_000, 1_000_000_000, 80, "error"),
        (49, 100, 50, "ok"),
        (99, 100, 100, "ok"),
        (79, 100, 80, "ok"),
        (99, 100, None, "ok"),
        (100, 100, None, "error"),
        (825, 1000, Decimal("82.5"), "warning"),
        (824, 1000, Decimal("82.5"), "ok"),
        (0, 100, 0, "warning"),
    ],
)
def test_decision(used: int, limit: int, threshold: Any, decision: str) -> None:
    assert decide(used, limit, None if threshold is None else Decimal(threshold)) == decision


@pytest.mark.golden
@pytest.mark.parametrize(
    ("limit", "steps", "expected"),
    [
        (100, [[50], [35], [30], [10]], ["ok", "ok", "warning", "error"]),
        (0, [[10]], ["error"]),
        (100, [[60], [30, 25], [1]], ["ok", "ok", "error"]),
        (100, [[0], [0], [0], [0]], ["ok", "ok", "ok", "ok"]),
    ],
    ids=["crosses, then blocks", "zero blocks the first", "no check between two calls", "nothing reported"],
)
def test_decisions_over_a_run(limit: int, steps: list[list[int]], expected: list[str]) -> None:
    used, decisions = 0, []
    for calls in steps:
        decisions.append(decide(used, limit, Decimal(80)))
        if decisions[-1] != "error":
            used += sum(calls)
    assert decisions == expected


AT = datetime(2026, 3, 4, 10, tzinfo=UTC)
ANN = Subject("real", "ann", "uid-1", "run-1")


def rule(**more: Any) -> Rule:
    return Rule(**{"name": "b", "pot": "f/b", "metric": "tokens", "period": "daily", "limit": 100, **more})


@pytest.mark.parametrize(
    ("period", "everyone", "owner", "start"),
    [
        ("run", False, "run-1", ""),
        ("session", False, "uid-1", ""),
        ("daily", False, "ann", "2026-03-04T00:00:00+00:00"),
        ("weekly", False, "ann", "2026-03-02T00:00:00+00:00"),
        ("monthly", True, "*", "2026-03-01T00:00:00+00:00"),
        ("lifetime", False, "ann", ""),
        ("session", True, "uid-1", ""),
    ],
)
def test_a_counter_belongs_to_run_session_user_or_all(
    period: Period, everyone: bool, owner: str, start: str
) -> None:
    key = counter_key(rule(period=period, everyone=everyone), ANN, AT)
    assert key == CounterKey("real", "f/b", "tokens", period, owner, start)
    naive = counter_key(rule(period=period, everyone=everyone), ANN, AT.replace(tzinfo=None))
    assert naive == key


def test_a_raise_beats_the_limit_of_the_rule() -> None:
    assert limit_of(rule(), Counter()) == 100
    assert limit_of(rule(), Counter(limit=5)) == 5
    assert limit_of(rule(), Counter(limit=0)) == 0


@pytest.mark.parametrize(
    ("counted", "past", "expected"),
    [
        ((10, 5), ModelPast(), (10, 5)),
        ((10, 5), ModelPast(3, 20, 4), (20, 5)),
        ((10, None), ModelPast(3, 5, 4), (10, 4)),
        ((10, 5), ModelPast(3, 5, None), (10, 5)),
        ((10, None), ModelPast(3, 5, None), (10, None)),
    ],
)
def test_estimate_is_the_larger(counted: Any, past: ModelPast, expected: Any) -> None:
    assert estimate(Estimate(*counted), past) == expected


def ask(
    *rules: Rule, counters: list[Counter], counted: tuple[int, int | None] = (10, 10), **more: Any
) -> Any:
    keys = [counter_key(one, ANN, AT) for one in rules]
    past = more.pop("past", ModelPast(1, 0, 0))
    return admit(rules, keys, counters, Estimate(*counted), past, **more)


def test_a_call_without_budgets_is_admitted() -> None:
    assert ask(counters=[]) == Admitted(Estimate(10, 10), (), ())


def test_the_first_call_holds_what_is_left_under_the_lowest_limit_of_a_pot() -> None:
    low, high = rule(name="low", limit=40), rule(name="high", limit=90)
    for rules in ((low, high), (high, low)):
        admitted = ask(*rules, counters=[Counter(30)] * 2, past=ModelPast())
        assert [hold.amount for hold in admitted.holds] == [10]


def test_warnings_are_the_rules_whose_threshold_is_reached() -> None:
    rules = [rule(pot=f"f/{i}", threshold_pct=pct) for i, pct in enumerate([Decimal(80), Decimal(90), None])]
    assert ask(*rules, counters=[Counter(85)] * 3).warnings == (0,)


def test_the_narrowest_budget_is_named() -> None:
    rules = [rule(pot=p, period=p) for p in ("lifetime", "monthly", "session", "daily")]
    assert ask(*rules, counters=[Counter(100)] * 4) == Refused("budget.exceeded", 2, Estimate(10, 10))


@pytest.mark.parametrize(
    ("past", "free", "cost", "outcome"),
    [
        (ModelPast(), False, None, "all"),  # nobody knows yet what such a call costs
        (ModelPast(1, 5, None), False, None, "nothing"),
        (ModelPast(1, 5, None), False, 7, 7),
        (ModelPast(1, 5, 9), False, None, 9),
        (ModelPast(), True, None, "nothing"),
    ],
)
def test_what_a_spend_budget_holds(past: ModelPast, free: bool, cost: int | None, outcome: Any) -> None:
    spend = rule(metric="spend", limit=50)
    admitted = ask(spend, counters=[Counter(10, 5)], counted=(10, cost), past=past, free=free)
    assert admitted.holds[0].amount == {"all": 35, "nothing": 0}.get(outcome, outcome)


def test_unknown_cost_blocks_where_the_budget_says_so() -> None:
    block = rule(metric="spend", unknown_cost="block")
    unknown: dict[str, Any] = {"counted": (10, None), "counters": [Counter()]}
    assert ask(block, past=ModelPast(1, 5, None), **unknown).code == "budget.cost_unknown"
    assert isinstance(ask(block, past=ModelPast(), **unknown), Admitted)
    assert isinstance(ask(block, past=ModelPast(1, 5, None), free=True, **unknown), Admitted)
    tokens = rule(unknown_cost="block")
    assert isinstance(ask(tokens, past=ModelPast(1, 5, None), **unknown), Admitted)


counters_ = st.builds(
    Counter,
    st.integers(0, 120),
    st.integers(0, 120),
    st.integers(0, 3),
    st.none() | st.integers(0, 120),
)
rules_ = st.builds(
    Rule,
    name=st.just("b"),
    pot=st.sampled_from(["f/a", "f/b", "f/c"]),
    metric=st.sampled_from(["tokens", "spend"]),
    period=st.sampled_from(PERIODS),
    limit=st.integers(0, 120),
    strict=st.booleans(),
    unknown_cost=st.sampled_from(["warn", "block"]),
)
pasts_ = st.just(ModelPast()) | st.builds(
    ModelPast, st.integers(1, 20), st.integers(0, 80), st.none() | st.integers(0, 80)
)


@given(
    st.lists(rules_, max_size=4),
    st.lists(counters_, min_size=4, max_size=4),
    st.tuples(st.integers(0, 80), st.none() | st.integers(0, 80)),
    pasts_,
    st.booleans(),
)
def test_laws_of_admission(
    rules: list[Rule], pool: list[Counter], counted: Any, past: ModelPast, free: bool
) -> None:
    keys = [counter_key(one, ANN, AT) for one in rules]
    stored: dict[CounterKey, Counter] = {}
    counters = [stored.setdefault(key, pool[i]) for i, key in enumerate(keys)]
    answer = admit(rules, keys, counters, Estimate(*counted), past, free=free)
    asked = estimate(Estimate(*counted), past)
    assert answer.estimate == asked
    spent = [c.used >= limit_of(r, c) for r, c in zip(rules, counters, strict=True)]
    full = [c.used + c.held >= limit_of(r, c) for r, c in zip(rules, counters, strict=True)]
    if isinstance(answer, Refused):
        named = rules[answer.rule]
        assert spent[answer.rule] or named.strict or named.unknown_cost == "block"
        # waiting could not help: without any hold it is refused as well
        unheld = [c._replace(held=0) for c in counters]
        assert admit(rules, keys, unheld, Estimate(*counted), past, free=free) == answer
        return
    assert not any(spent)
    if isinstance(answer, Blocked):
        # only holds stand in the way
        unheld = [c._replace(held=0) for c in counters]
        assert isinstance(admit(rules, keys, unheld, Estimate(*counted), past, free=free), Admitted)
        assert answer.rules
        assert all(counters[i].held > 0 for i in answer.rules)
        return
    assert not any(full)
    held = {keys[hold.rule]: hold.amount for hold in answer.holds}
    assert len(held) == len(answer.holds) == len(set(keys))
    for one, key, counter in zip(rules, keys, counters, strict=True):
        amount, limit = held[key], limit_of(one, counter)
        assert amount >= 0
        needed = asked.tokens if one.metric == "tokens" else asked.cost or 0
        left = limit - counter.used - counter.held
        if one.strict:
            assert needed <= left
        if past.settled == 0:  # a first call holds what is left, or its estimate where that is more
            assert amount <= max(left, needed)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=40),
    st.booleans(),
    st.integers(1, 200),
)
def test_overshoot_is_one_call_at_most_and_none_when_strict(
    calls: list[tuple[int, int]], strict: bool, limit: int
) -> None:
    """Calls come and go in any order and none uses more than it was estimated at."""
    one = rule(limit=limit, strict=strict)
    key = counter_key(one, ANN, AT)
    counter, past, flying, dearest = Counter(), ModelPast(), [], 0
    for counted, used in calls:
        answer = admit([one], [key], [counter], Estimate(counted, 0), past)
        if isinstance(answer, Admitted):
            amount = answer.holds[0].amount
            flying.append((amount, min(used, answer.estimate.tokens)))
            dearest = max(dearest, answer.estimate.tokens)
            counter = counter._replace(held=counter.held + amount)
        elif flying:
            amount, tokens = flying.pop(0)
            counter = Counter(counter.used + tokens, counter.held - amount)
            past = ModelPast(past.settled + 1, max(past.dearest_tokens, tokens), 0)
    for amount, tokens in flying:
        counter = Counter(counter.used + tokens, counter.held - amount)
    assert counter.held == 0
    assert counter.used <= (limit if strict else limit - 1 + dearest)


def test_used_by_metric() -> None:
    assert (used_by("tokens", 5, None), used_by("spend", 5, None), used_by("spend", 5, 7)) == (5, 0, 7)


@pytest.mark.parametrize(
    ("more", "counter", "text"),
    [
        (
            {"metric": "spend", "limit": 500_000_000, "period": "weekly"},
            Counter(310_000_000),
            "$0.31 of $0.50 this week, resets 00:00 UTC Monday 9 March",
        ),
        (
            {"limit": 1500},
            Counter(1200),
            "1,200 tokens of 1,500 tokens today, resets 00:00 UTC Thursday 5 March",
        ),
        (
            {"metric": "spend", "limit": 10**9, "period": "lifetime"},
            Counter(0, 0, 2),
            "at least $0.00 of $1.00 in all",
        ),
        ({"period": "run"}, Counter(5, limit=70), "5 tokens of 70 tokens for this run"),
    ],
)
def test_gauge_in_words(more: Any, counter: Counter, text: str) -> None:
    assert gauge_text(gauge(rule(**more), counter, AT)) == text


def test_amounts_for_people() -> None:
    assert amount_text("tokens", None) == amount_text("spend", None) == "unknown"
    assert amount_text("spend", 1) == "$0.000001"
