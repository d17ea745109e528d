"""Packing by the items' own sizes: the golden units, and the pseudo-code of lines and bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.candidates import Candidate, of_other_sessions, unsound
from runtime.memory.estimate import by_length
from runtime.memory.packing import Item, Limits, Overflow, Size, measure, pack
from runtime.memory.ranking import freshness
from tests.runtime.memory.golden import table, text_of

GOLDEN: dict[str, Any] = table("injection")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def item(text: str, ref: str = "x") -> Item:
    return Item(ref, text, measure(text, by_length))


@pytest.mark.golden
@pytest.mark.parametrize("case", GOLDEN["pack"], ids=lambda case: case["id"])
def test_items_are_packed_best_first_and_the_first_misfit_is_cut(case: dict[str, Any]) -> None:
    def score(row: list[Any]) -> float:
        age = None if row[2] is None else NOW - timedelta(days=row[2])
        return -float(row[1]) * freshness(age, NOW, case["half_life_days"])

    items = [item(text_of(row[0])) for row in sorted(case["items"], key=score)]
    placed = pack(items, Limits(case["tokens"], None, None), "truncate")
    assert [place.shown for place in placed if place.shown is not None] == [
        text_of(out) for out in case["out"]
    ]


@pytest.mark.golden
@pytest.mark.parametrize("case", GOLDEN["line_byte"], ids=lambda case: case["id"])
def test_lines_and_bytes_end_the_list_and_doubtful_items_do_not(case: dict[str, Any]) -> None:
    sizes = {ref: Size(0, lines, size) for ref, lines, size, _, _ in case["items"]}
    candidates = [
        Candidate(ref=ref, text="", confidence=confidence, origin="model", valid_to=NOW if expired else None)
        for ref, _, _, confidence, expired in case["items"]
    ]
    sound = [c for c in candidates if unsound(c, NOW, 0.6) is None]
    placed = pack(
        [Item(c.ref, "", sizes[c.ref]) for c in sound], Limits(None, case["lines"], case["bytes"]), "stop"
    )
    chosen = [place for place in placed if place.status == "full"]
    assert [place.ref for place in chosen] == case["selected"]
    assert [sum(place.size[i] for place in chosen) for i in (1, 2)] == case["used"]


@pytest.mark.parametrize(
    ("overflow", "shown"),
    [("skip", ["full", "dropped", "full"]), ("stop", ["full", "dropped", "dropped"])],
)
def test_a_misfit_is_passed_over_or_ends_the_list(overflow: Overflow, shown: list[str]) -> None:
    placed = pack([item("a" * 8), item("b" * 400), item("c" * 8)], Limits(5, None, None), overflow)
    assert [place.status for place in placed] == shown
    assert placed[1].reason == "tokens" and placed[1].size.tokens == 100
    assert placed[2].reason == (None if overflow == "skip" else "stopped")


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        (Limits(None, 2, None), "one\ntwo…[truncated]"),
        (Limits(None, None, 9), "one\ntwo\nt…[truncated]"),
        (Limits(1, None, None), "one…[truncated]"),
    ],
)
def test_a_cut_takes_what_is_left_of_each_limit(limits: Limits, shown: str) -> None:
    assert pack([item("one\ntwo\nthree")], limits, "truncate")[0].shown == shown


def test_bytes_are_cut_between_characters() -> None:
    assert pack([item("日本語日本語")], Limits(None, None, 7), "truncate")[0].shown == "日本…[truncated]"


@pytest.mark.parametrize(
    ("text", "size"),
    [("", Size(1, 0, 0)), ("a\n", Size(1, 2, 2)), ("日本\n語", Size(1, 2, 10)), ("\ud800", Size(1, 1, 3))],
)
def test_measure_counts_lines_and_utf8_bytes(text: str, size: Size) -> None:
    assert measure(text, by_length) == size


@given(
    st.lists(st.text(max_size=60), max_size=12),
    st.integers(-5, 60),
    st.integers(0, 30),
    st.integers(0, 300),
    st.sampled_from(["skip", "truncate", "stop"]),
)
def test_whole_items_never_exceed_a_limit_and_all_are_reported(
    texts: list[str], tokens: int, lines: int, size: int, overflow: Overflow
) -> None:
    limits = Limits(tokens, lines, size)
    placed = pack([item(text, str(i)) for i, text in enumerate(texts)], limits, overflow)
    full = [place.size for place in placed if place.status == "full"]
    assert not full or limits.exceeded(Size(*(sum(s[i] for s in full) for i in range(3)))) is None
    assert [place.ref for place in placed] == [str(i) for i in range(len(texts))]
    assert all((place.reason is None) == (place.status == "full") for place in placed)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"valid_to": NOW}, "expired"),
        ({"valid_to": NOW + timedelta(seconds=1)}, None),
        ({"valid_from": NOW}, None),
        ({"valid_from": NOW + timedelta(seconds=1)}, "not yet valid"),
        ({"confidence": 0.5999, "origin": "derived"}, "confidence"),
        ({"confidence": 0.6, "origin": "model"}, None),
        ({"confidence": float("nan"), "origin": "model"}, "confidence"),
        ({"confidence": 0.1, "origin": "user"}, None),
        ({"confidence": 0.1, "origin": "operator"}, None),
    ],
)
def test_unsound_items_say_why(fields: dict[str, Any], reason: str | None) -> None:
    assert unsound(Candidate(ref="x", text="", **fields), NOW, 0.6) == reason


def test_a_sessions_own_episodes_are_left_out() -> None:
    episodes = [Candidate(ref=ref, text="", session=session) for ref, session in ("ab", "bc", "cb", "dd")]
    assert [item.ref for item in of_other_sessions(episodes, "b", 2)] == ["b", "d"]
    assert len(of_other_sessions(episodes, None, None)) == 4
