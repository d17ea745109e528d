"""Cutting a text so that it fits; the budgets of tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.clip import MARKER, ToolBudget, clip, clip_result, offer
from runtime.memory.estimate import by_length

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


@given(st.text(max_size=80), st.integers(0, 120))
def test_a_clipped_text_fits_and_begins_like_the_text(text: str, limit: int) -> None:
    clipped = clip(text, lambda candidate: len(candidate) <= limit)
    if clipped is None:
        assert len(MARKER) > limit and len(text) > limit
    else:
        assert len(clipped) <= limit
        assert clipped == text or (clipped.endswith(MARKER) and text.startswith(clipped.removesuffix(MARKER)))


@pytest.mark.parametrize(
    ("limit", "shown"), [(11, None), (12, MARKER), (19, "abcdefg" + MARKER), (25, "abcdefghijklm" + MARKER)]
)
def test_as_much_as_possible_is_shown(limit: int, shown: str | None) -> None:
    assert clip("abcdefghijklmnopqrstuvwxyz", lambda text: len(text) <= limit) == shown


@pytest.mark.parametrize("text", [FAMILY + "end", "e\u0301e\u0301e\u0301"])
def test_combined_characters_are_not_parted(text: str) -> None:
    for limit in range(len(MARKER), len(text) + len(MARKER)):
        clipped = clip(text + "." * 40, lambda candidate, limit=limit: len(candidate) <= limit)  # type: ignore[misc]
        assert clipped is not None
        head = clipped.removesuffix(MARKER)
        assert not head.endswith("\u200d") and head.count("e") in (0, head.count("\u0301"), 1)


@pytest.mark.parametrize(
    ("limit", "result"), [(None, "x" * 400), (100, "x" * 400), (10, "x" * 31 + MARKER), (0, "")]
)
def test_a_tool_result_is_cut_to_its_tokens(limit: int | None, result: str) -> None:
    assert clip_result("x" * 400, limit, by_length) == result


@pytest.mark.parametrize(("dynamic", "tokens"), [(8000, 2000), (7, 1), (0, 0), (-5, 0)])
def test_tool_definitions_take_a_quarter(dynamic: int, tokens: int) -> None:
    assert ToolBudget().tokens(dynamic) == tokens


def test_tools_are_offered_in_order_while_they_fit() -> None:
    assert offer([("a", 40), ("b", 70), ("c", 60), ("d", 1)], 100) == (("a", "c"), ("b", "d"), 100)
    assert offer([("a", 1)], 0) == ((), ("a",), 0)


def test_the_share_of_tools_is_checked() -> None:
    with pytest.raises(BadConfig, match="definitions_share"):
        ToolBudget(definitions_share=1.1)
