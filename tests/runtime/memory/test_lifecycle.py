"""Fading, access, promotion and inclusion against the golden table; fading that does not compound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.lifecycle import (
    Inclusion,
    Lifecycle,
    Recallable,
    Score,
    accessed,
    faded,
    hours_between,
    hours_left,
    included,
    inclusion,
    promotion,
    retires,
)
from tests.runtime.memory.golden import table

GOLDEN: dict[str, list[list[Any]]] = table("lifecycle")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ON = Lifecycle(enabled=True)

pytestmark = pytest.mark.golden


def before(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(("score", "hours", "rate", "result"), GOLDEN["fading"])
def test_a_score_fades_with_the_hours_since_its_time(
    score: float, hours: float, rate: float, result: float
) -> None:
    rules = Lifecycle(enabled=True, decay_rate=rate)
    assert faded(Score(score, before(hours)), NOW, rules).value == pytest.approx(
        result, rel=1e-12, abs=1e-300
    )


@pytest.mark.parametrize(("score", "hours", "result"), GOLDEN["switched_off"])
def test_nothing_fades_or_rises_where_lifecycle_is_off(score: float, hours: float, result: float) -> None:
    kept = Score(score, before(hours))
    assert faded(kept, NOW, Lifecycle()) == kept == Score(result, before(hours))
    assert accessed(kept, NOW, Lifecycle()) == kept
    assert hours_left(kept, NOW, Lifecycle()) is None


@pytest.mark.parametrize(("score", "result"), GOLDEN["access"])
def test_an_access_raises_a_score_up_to_one(score: float, result: float) -> None:
    assert accessed(Score(score, NOW), NOW, ON).value == pytest.approx(result, rel=1e-12)


@pytest.mark.parametrize(("score", "result"), GOLDEN["retires"])
def test_an_item_retires_below_the_threshold(score: float, result: bool) -> None:
    assert retires(score, ON) is result
    assert not retires(score, ON, protected=True)


@pytest.mark.parametrize(("score", "since", "result"), GOLDEN["hours_left"])
def test_hours_left_until_an_item_retires(score: float, since: float, result: float | None) -> None:
    left = hours_left(Score(score, before(since)), NOW, ON)
    assert left == (None if result is None else pytest.approx(result, rel=1e-9))


@pytest.mark.parametrize("row", GOLDEN["promotion"])
def test_promotion_weighs_age_accesses_confidence_and_links(row: list[Any]) -> None:
    age, accesses, confidence, links, score, eligible, suffices = row
    result = promotion(age_hours=age, accesses=accesses, confidence=confidence, links=links, rules=ON)
    assert result.score == pytest.approx(score, rel=1e-12)
    assert (result.eligible, result.suffices) == (eligible, suffices)
    assert result.promoted is (eligible and suffices)
    spared = promotion(
        age_hours=age, accesses=accesses, confidence=confidence, links=links, rules=ON, protected=True
    )
    assert not spared.promoted


@pytest.mark.parametrize(
    "row", [*GOLDEN["weights"], [0.2, 0.4, 0.2, 0.189, False], [0.2, 0.4, 0.2, 0.22, False]]
)
def test_promotion_weights_make_one(row: list[Any]) -> None:
    *weights, valid = row
    names = (
        "promotion_weight_age",
        "promotion_weight_access",
        "promotion_weight_confidence",
        "promotion_weight_connection",
    )
    fields = dict(zip(names, weights, strict=True))
    if valid:
        assert Lifecycle(**fields).promotion_weight_connection == weights[3]
    else:
        with pytest.raises(BadConfig, match="add up"):
            Lifecycle(**fields)


@pytest.mark.parametrize("row", GOLDEN["inclusion"])
def test_inclusion_multiplies_likeness_age_and_use(row: list[Any]) -> None:
    similarity, age, hits, time_factor, usage_factor, score, include = row
    result = inclusion(similarity, age, hits)
    assert result[:3] == pytest.approx((time_factor, usage_factor, score), rel=1e-12)
    assert result.include is include


def test_included_sorts_by_score_and_counts_a_missing_time_as_new() -> None:
    items = [
        Recallable("a", 0.8, before(24)),
        Recallable("b", 0.8, before(168), 3),
        Recallable("c", 0.7),
        Recallable("d", 0.95, None, 2),
        Recallable("e", 0.61, NOW),
    ]
    assert [list(pair) for pair in included(items, NOW)] == [
        [ref, pytest.approx(score, rel=1e-12)] for ref, score in GOLDEN["included"]
    ]


def test_included_keeps_the_given_order_of_equals() -> None:
    assert [ref for ref, _ in included([Recallable("x", 0.7), Recallable("y", 0.7)], NOW)] == ["x", "y"]


def test_daily_runs_give_what_one_run_gives() -> None:
    """Better than the table's `stored_score`: fading the stored score anew each day retired on day 4."""
    stored = Score(1.0, NOW)
    retired = []
    for cycle, _compounded, single, _retired in GOLDEN["daily"]:
        now = NOW + timedelta(days=cycle)
        stored = faded(stored, now, ON)
        assert stored.value == pytest.approx(single, rel=1e-12)
        retired.append(retires(stored.value, ON))
    assert retired == [False] * 6 + [True]


@given(st.floats(0, 1), st.lists(st.integers(0, 5000), max_size=30), st.integers(0, 20000))
def test_any_number_of_runs_gives_the_same_score(value: float, minutes: list[int], last: int) -> None:
    start = Score(value, NOW)
    stored = start
    for step in sorted(minutes):
        stored = faded(stored, NOW + timedelta(minutes=step), ON)
    end = NOW + timedelta(minutes=max([last, *minutes]))
    assert faded(stored, end, ON).value == pytest.approx(faded(start, end, ON).value, rel=1e-9, abs=1e-300)


@given(st.floats(0, 1), st.integers(-5000, 50000))
def test_fading_never_raises_a_score_nor_leaves_the_unit(value: float, hours: int) -> None:
    assert 0 <= faded(Score(value, before(hours)), NOW, ON).value <= value


def test_a_score_of_the_future_does_not_fade_and_keeps_its_time() -> None:
    ahead = Score(0.5, NOW + timedelta(hours=5))
    assert faded(ahead, NOW, ON) == ahead


def test_an_access_after_a_while_fades_first() -> None:
    raised = accessed(Score(1.0, before(168)), NOW, ON)
    assert raised.value == pytest.approx(0.38637397603940997)
    assert raised.at == NOW


@pytest.mark.parametrize(
    ("earlier", "hours"),
    [(None, 0), (NOW, 0), (before(-1), 0), (before(2), 2), (datetime(2026, 6, 1, 11), 1)],  # noqa: DTZ001
)
def test_hours_between_takes_naive_times_as_utc_and_never_goes_negative(
    earlier: datetime | None, hours: float
) -> None:
    assert hours_between(earlier, NOW) == hours


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"decay_rate": 0}, "decay_rate"),
        ({"decay_rate": 0.51}, "decay_rate"),
        ({"access_boost": 0.6}, "access_boost"),
        ({"decay_threshold": -0.1}, "decay_threshold"),
        ({"promotion_threshold": nan}, "promotion_threshold"),
        ({"short_term_min_age_hours": 0}, "short_term_min_age_hours"),
        ({"decayed_retention_days": inf}, "decayed_retention_days"),
        ({"promotion_weight_age": 1.2, "promotion_weight_access": -0.6}, "weight"),
    ],
)
def test_settings_outside_their_range_are_refused_by_name(fields: dict[str, float], name: str) -> None:
    with pytest.raises(BadConfig, match=name):
        Lifecycle(**fields)  # type: ignore[arg-type]


def test_inclusion_settings_are_checked() -> None:
    with pytest.raises(BadConfig, match="threshold"):
        Inclusion(threshold=1.5)


def test_defaults_are_those_of_the_text() -> None:
    assert not Lifecycle().enabled
    assert (ON.decay_rate, ON.access_boost, ON.decay_threshold, ON.promotion_threshold) == (
        0.01,
        0.2,
        0.2,
        0.7,
    )
    assert (ON.short_term_min_age_hours, ON.decay_check_interval_hours, ON.decayed_retention_days) == (
        24,
        24,
        30,
    )
