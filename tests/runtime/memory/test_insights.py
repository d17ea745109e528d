"""Duplicates among insights, and those that have earned to stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.compaction_rules import Compaction
from runtime.memory.insights import Duplicate, Insight, duplicates, likeness, promotions

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def insight(ref: str, text: str = "", days_old: int = 0, vector: tuple[float, ...] | None = None) -> Insight:
    return Insight(ref, text, NOW - timedelta(days=days_old), vector)


def test_the_newest_of_alike_insights_stays() -> None:
    items = [
        insight("old", "prefers short answers", 9),
        insight("new", "Prefers short answers.", 1),
        insight("other", "rides a bicycle", 5),
    ]
    assert duplicates(items, Compaction()) == (Duplicate("old", "new", 1.0),)


@pytest.mark.parametrize(("threshold", "found"), [(0.5, 1), (0.8, 1), (0.81, 0), (1.0, 0)])
def test_the_similarity_threshold_does_what_it_says(threshold: float, found: int) -> None:
    items = [insight("a", vector=(1.0, 0.0)), insight("b", days_old=1, vector=(0.8, 0.6))]
    assert len(duplicates(items, Compaction(insight_similarity_threshold=threshold))) == found


def test_nothing_is_merged_where_dedup_is_off() -> None:
    assert (
        duplicates([insight("a", "x"), insight("b", "x", 1)], Compaction(insight_dedup_enabled=False)) == ()
    )


def test_only_the_newest_are_looked_at() -> None:
    items = [insight(f"i{n}", "the same", n) for n in range(10)]
    found = duplicates(items, Compaction(max_insights_to_check=5))
    assert [item.ref for item in found] == ["i1", "i2", "i3", "i4"]


def test_an_insight_without_a_time_is_the_older_one() -> None:
    items = [Insight("none", "same words"), Insight("dated", "same words", datetime(2020, 1, 1))]  # noqa: DTZ001
    assert duplicates(items, Compaction())[0].superseded_by == "dated"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("has 2 dogs at home", "has 3 dogs at home", 0.0),
        ("likes tea", "likes coffee", 0.5),
        ("", "anything", 0.0),
        ("咖啡", "咖啡", 1.0),
    ],
)
def test_likeness_of_words_minds_numbers(a: str, b: str, same: float) -> None:
    assert likeness(insight("a", a), insight("b", b)) == pytest.approx(same)


def test_likeness_of_an_empty_vector_is_none() -> None:
    assert likeness(insight("a", "x", 0, (0.0, 0.0)), insight("b", "x", 0, (1.0, 0.0))) == 0.0


@pytest.mark.parametrize(
    ("hits", "short_term", "stays"), [(2, True, 0), (3, True, 1), (9, True, 1), (9, False, 0)]
)
def test_short_term_insights_used_often_stay(hits: int, short_term: bool, stays: int) -> None:
    assert len(promotions([Insight("a", "x", NOW, None, hits, short_term)], Compaction())) == stays


@given(
    st.lists(st.sampled_from(["likes tea", "likes green tea", "rides a bicycle", "likes tea!"]), max_size=12)
)
def test_something_of_every_group_stays(texts: list[str]) -> None:
    items = [insight(f"i{n}", text, n) for n, text in enumerate(texts)]
    found = duplicates(items, Compaction())
    gone = {item.ref for item in found}
    assert not any(item.superseded_by in gone for item in found)
    assert not items or len(gone) < len(items)
