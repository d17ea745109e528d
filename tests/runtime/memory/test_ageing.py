"""What age and use make of a derived item, however often one looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.ageing import Derived, kept_score, refreshed, verdict, verdicts
from runtime.memory.lifecycle import Lifecycle, Score

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ON = Lifecycle(enabled=True)


def later(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


@pytest.mark.parametrize(
    ("hours", "hits", "action"),
    [
        (0, 0, "stay"),
        (160, 0, "stay"),
        (161, 0, "fade"),
        (23, 9, "stay"),
        (72, 5, "promote"),
        (900, 5, "promote"),
    ],
)
def test_an_item_fades_unless_it_is_used_and_stays_for_good_where_it_often_is(
    hours: float, hits: int, action: str
) -> None:
    assert verdict(Derived("k", NOW, 0.7, hits), later(hours), ON).action == action


def test_nothing_fades_or_is_promoted_where_lifecycle_is_off() -> None:
    for item in (Derived("old", NOW), Derived("used", NOW, 1.0, 9, links=3)):
        assert verdict(item, later(5000), Lifecycle()).action == "stay"


def test_links_to_the_same_subject_count() -> None:
    assert verdict(Derived("k", NOW, 1.0, 2), later(100), ON).action == "stay"
    assert verdict(Derived("k", NOW, 1.0, 2, links=3), later(100), ON).action == "promote"


def test_verdicts_come_in_key_order_with_the_hours_that_are_left() -> None:
    found = verdicts([Derived("b", NOW), Derived("a", NOW, score=Score(0.5, NOW))], NOW, ON)
    assert [each.key for each in found] == ["a", "b"]
    assert found[0].hours_left == pytest.approx(91.629, abs=0.01)
    assert found[1].score == 1


def test_what_was_written_after_its_last_use_begins_anew() -> None:
    assert kept_score(NOW, None, None) == (1.0, NOW)
    assert kept_score(NOW, 0.3, later(5)) == (0.3, later(5))
    assert kept_score(NOW, None, later(5)) == (1.0, later(5))
    assert kept_score(later(6), 0.3, later(5)) == (1.0, later(6))


uses = st.lists(st.integers(0, 2000), max_size=12).map(sorted)


@given(uses, st.lists(st.integers(0, 2000), max_size=12), st.floats(0, 1), st.integers(0, 4))
def test_however_often_one_looks_the_end_is_the_same(
    used: list[int], looks: list[int], confidence: float, links: int
) -> None:
    """Looks change no score, and what has once earned to stay has earned it ever after."""

    def at(hour: float) -> str:
        past = [each for each in used if each <= hour]
        score = Score(1.0, NOW)
        for each in past:
            score = refreshed(score, later(each), decay_rate=ON.decay_rate, access_boost=ON.access_boost)
            assert 0 <= score.value <= 1
        item = Derived("k", NOW, confidence, len(past), score, links)
        return verdict(item, later(hour), ON).action

    seen = [at(hour) for hour in sorted(looks)]
    first = next((i for i, action in enumerate(seen) if action == "promote"), len(seen))
    assert set(seen[first:]) <= {"promote"}
    last_use = max(used, default=0)
    after = [action for hour, action in zip(sorted(looks), seen, strict=True) if hour >= last_use]
    faded = next((i for i, action in enumerate(after) if action == "fade"), len(after))
    assert "stay" not in after[faded:], "what has faded and is not used does not come back"
