"""Token estimators by length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.estimate import LengthEstimator, by_length, by_length_padded

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"

FLOORED = [
    ("", 1),
    ("abc", 1),
    ("abcd", 1),
    ("a" * 7, 1),
    ("a" * 8, 2),
    (FAMILY, 1),
    ("e\u0301" * 4, 2),
    (" " * 9, 2),
]
PADDED = {0: 0, 2: 1, 3: 1, 5: 2, 7: 3, 16: 5, 20: 6, 100: 29, 347: 100, 4000: 1150, 10000: 2875}


@pytest.mark.golden
@pytest.mark.parametrize(("text", "tokens"), FLOORED)
def test_by_length_is_a_quarter_of_the_code_points(text: str, tokens: int) -> None:
    assert by_length(text) == tokens


@pytest.mark.golden
@pytest.mark.parametrize(("characters", "tokens"), PADDED.items())
def test_by_length_padded_adds_fifteen_percent_and_rounds_up(characters: int, tokens: int) -> None:
    assert by_length_padded("x" * characters) == tokens


@pytest.mark.golden
@pytest.mark.parametrize(("text", "tokens"), [(FAMILY, 2), ("e\u0301", 1)])
def test_by_length_padded_counts_code_points(text: str, tokens: int) -> None:
    assert by_length_padded(text) == tokens


@given(st.text(max_size=60), st.text(max_size=60))
def test_estimators_never_fall_when_text_grows(a: str, b: str) -> None:
    for estimator in (by_length, by_length_padded, LengthEstimator(chars_per_token=3, surcharge_pct=7)):
        assert estimator(a) <= estimator(a + b)
