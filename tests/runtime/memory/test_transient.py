"""Statements that will not hold for long, and such as only sound so."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.memory.transient import is_transient


@pytest.mark.parametrize(
    "value",
    [
        "is in a meeting right now",
        "Staying at the Ritz for now",
        "has a headache today",
        "will call back in 5 minutes",
        "I'm just leaving",
        "the lift is temporarily closed",
        {"mood": "tired this evening"},
        ["fine", "out until tomorrow"],
        "今天很累",
        "現地は今日雨",
    ],
)
def test_what_passes_is_known_by_its_words(value: Any) -> None:
    assert is_transient(value)


@pytest.mark.parametrize(
    "value",
    [
        "likes tea",
        "a vegetarian as of today",
        "lives in Ghent since yesterday",
        "reads The Daily Now",
        "works right beside the station",
        42,
        None,
        True,
        {"name": "Ada"},
        "",
    ],
)
def test_what_lasts_is_left_alone(value: Any) -> None:
    assert not is_transient(value)
