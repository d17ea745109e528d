"""Relevance by rank, freshness and trust."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from runtime.memory.candidates import Candidate
from runtime.memory.ranking import freshness, rank, relevance, trust
from tests.runtime.memory.golden import table

GOLDEN: dict[str, Any] = table("injection")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.golden
@pytest.mark.parametrize(("position", "value"), GOLDEN["relevance"])
def test_relevance_is_the_reciprocal_rank(position: int, value: float) -> None:
    assert relevance(position) == pytest.approx(value, rel=1e-15)


@pytest.mark.golden
@pytest.mark.parametrize(("age", "half_life", "factor"), GOLDEN["freshness"])
def test_freshness_halves_with_the_half_life(age: float, half_life: float | None, factor: float) -> None:
    assert freshness(NOW - timedelta(days=age), NOW, half_life) == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("half_life", [None, 0, -3, 30])
def test_what_has_no_time_never_ages(half_life: float | None) -> None:
    assert freshness(None, NOW, half_life) == 1


def test_naive_times_are_utc_and_zones_are_minded() -> None:
    naive = datetime(2026, 5, 31, 12)  # noqa: DTZ001
    east = datetime(2026, 5, 31, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert freshness(naive, NOW, 1) == freshness(east, NOW, 1) == 0.5
    assert freshness(NOW - timedelta(days=1), NOW.replace(tzinfo=None), 1) == 0.5


@pytest.mark.parametrize(
    ("confidence", "weight", "factor"),
    [(0.5, 0, 1), (0.5, 1, 0.5), (0.5, 0.25, 0.875), (1, 1, 1), (7, 1, 1), (-1, 1, 0), (float("nan"), 1, 0)],
)
def test_trust_weighs_confidence(confidence: float, weight: float, factor: float) -> None:
    assert trust(confidence, weight) == pytest.approx(factor)


def test_ties_alternate_and_episodes_rank_by_their_score() -> None:
    facts = [Candidate(ref=f"f{i}", text="") for i in range(3)]
    episodes = [
        Candidate(ref=f"e{i}", text="", kind="episode", score=score) for i, score in enumerate([0.1, 0.9])
    ]
    assert [entry.item.ref for entry in rank(facts, episodes, NOW)] == ["f0", "e1", "f1", "e0", "f2"]


def test_doubt_lowers_a_fact_only_where_it_is_weighed() -> None:
    facts = [Candidate(ref="doubted", text="", confidence=0.6), Candidate(ref="sure", text="")]
    assert [entry.item.ref for entry in rank(facts, [], NOW)] == ["doubted", "sure"]
    weighed = rank(facts, [], NOW, confidence_weight=0.25)
    assert [entry.item.ref for entry in weighed] == ["sure", "doubted"]
