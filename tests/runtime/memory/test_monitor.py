"""Severity, trend, cooldown and the decision to compact, step by step against the golden sequences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.compaction_rules import Compaction
from runtime.memory.monitor import Monitor, Reading, severity
from tests.runtime.memory.golden import table

GOLDEN: dict[str, list[Any]] = table("monitor")

pytestmark = pytest.mark.golden

BETTER: dict[str, tuple[str, list[tuple[str, bool, int]]]] = {
    "critical_threshold_ignored": (
        "critical_threshold 0.5 changed nothing; above 50 % a reading is critical, asks, and gets more time",
        [("critical", True, 45_000), ("critical", True, 45_000), ("critical", True, 45_000)],
    )
}


def reading(percent: float) -> Reading:
    return Reading(round(percent * 10), 1000, percent)


@pytest.mark.parametrize(("percent", "name"), GOLDEN["severity"])
def test_severity_puts_a_boundary_into_the_lower_class(percent: float, name: str) -> None:
    assert severity(percent) == name


@pytest.mark.parametrize("case", GOLDEN["sequences"], ids=lambda case: case["id"])
def test_monitor_follows_the_sequence(case: dict[str, Any]) -> None:
    rules = Compaction(enabled=True, **case["rules"])
    monitor = Monitor()
    better = iter(BETTER.get(case["id"], ("", []))[1])
    for op, percent, due, trend, budget, level, since, finished, running, size, current, available in case[
        "steps"
    ]:
        if op == "record":
            monitor = monitor.recorded(reading(percent), rules)
        elif op == "started":
            monitor = monitor.started()
        elif op == "completed":
            monitor = monitor.completed()
        level, due, budget = next(better, (level, due, budget))
        assert (monitor.severity(rules), monitor.due(rules) is not None) == (level, due)
        assert monitor.time_budget_ms(rules) == budget
        assert monitor.trend == pytest.approx(trend)
        assert (monitor.turns_since, monitor.finished, monitor.running) == (since, finished, running)
        assert len(monitor.readings) == size
        latest = monitor.latest or Reading(0, 0, 0.0)
        assert latest[:2] == (current, available)


@pytest.mark.parametrize(("field", "value", "valid"), GOLDEN["refused"])
def test_settings_outside_their_range_are_refused_by_name(field: str, value: float, valid: bool) -> None:
    assert not valid
    with pytest.raises(BadConfig, match=field):
        Compaction(**{field: value})  # type: ignore[arg-type]


def test_defaults_are_those_of_the_text_but_off() -> None:
    rules = Compaction()
    assert not rules.enabled, "nothing compacts that was not asked to"
    assert (rules.compaction_threshold, rules.critical_threshold, rules.target_utilization) == (
        0.85,
        0.95,
        0.7,
    )
    assert (rules.cooldown_turns, rules.max_duration_ms, rules.critical_max_duration_ms) == (3, 15000, 45000)
    assert (rules.min_turns_to_summarize, rules.max_turns_per_summary, rules.compaction_recency_window) == (
        5,
        8,
        4,
    )
    assert (rules.insight_similarity_threshold, rules.max_insights_to_check, rules.trend_window) == (
        0.9,
        50,
        10,
    )


def test_nothing_is_due_where_compaction_is_off() -> None:
    monitor = Monitor()
    for _ in range(5):
        monitor = monitor.recorded(reading(99), Compaction())
    assert monitor.due(Compaction()) is None


@pytest.mark.parametrize(
    ("percent", "reason"), [(86, "warning"), (96, "critical"), (101, "overage"), (60, "trend"), (50, None)]
)
def test_due_names_its_reason(percent: float, reason: str | None) -> None:
    rules = Compaction(enabled=True, cooldown_turns=1, compaction_threshold=0.5)
    monitor = Monitor().recorded(reading(40), rules).recorded(reading(percent), rules)
    assert monitor.due(rules) == reason


@pytest.mark.parametrize(("critical", "level"), [(0.9, "critical"), (0.95, "warning"), (1.0, "warning")])
def test_critical_threshold_does_what_it_says(critical: float, level: str) -> None:
    assert severity(94, Compaction(critical_threshold=critical)) == level


@given(st.lists(st.floats(0, 300), max_size=80), st.integers(3, 50))
def test_readings_never_outgrow_the_trend_window(percents: list[float], window: int) -> None:
    rules = Compaction(enabled=True, trend_window=window)
    monitor = Monitor()
    for percent in percents:
        monitor = monitor.recorded(reading(percent), rules)
    assert len(monitor.readings) == min(window, len(percents))
    assert monitor.turns_since == len(percents)
