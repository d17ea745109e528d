"""Window arithmetic and prompt status against the golden table."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.compaction_rules import Compaction
from runtime.memory.estimate import by_length_padded
from runtime.memory.layout import check_window, prompt_status, window_budget
from tests.runtime.memory.golden import table

GOLDEN: dict[str, Any] = table("layout")

BETTER = "A window no larger than its output buffer divided by zero or passed for full; it is a clear error."


def cost(characters: int) -> int:
    return by_length_padded("x" * characters)


@pytest.mark.golden
@pytest.mark.parametrize("row", GOLDEN["windows"])
def test_a_window_is_divided(row: list[Any]) -> None:
    window, buffer, system, tools, ratio, *expected = row
    budget = window_budget(window, buffer, system_tokens=system, tool_tokens=tools, ratio=ratio)
    assert list(budget) == expected


@pytest.mark.golden
@pytest.mark.parametrize("row", [row for row in GOLDEN["prompts"] if row[0] > row[1]])
def test_a_prompt_is_added_up_and_classified(row: list[Any]) -> None:
    window, buffer, characters, tool_characters, result = row
    status = prompt_status(window, buffer, [cost(n) for n in characters], cost(tool_characters))
    assert msgspec.structs.asdict(status) == {
        "total_tokens": result["total_tokens"],
        "available_tokens": result["available_budget"],
        "utilization_pct": pytest.approx(result["utilization_pct"], rel=1e-12),
        "overage_tokens": result["overage_tokens"],
        "severity": result["severity"],
        "message_tokens": result["message_tokens"],
        "tool_tokens": result["tool_tokens"],
    }


@pytest.mark.golden
@pytest.mark.parametrize("row", [row for row in GOLDEN["prompts"] if row[0] <= row[1]])
def test_a_window_without_room_is_refused(row: list[Any]) -> None:
    with pytest.raises(BadConfig, match="leaves nothing") as caught:
        prompt_status(row[0], row[1], [cost(n) for n in row[2]])
    assert caught.value.remedy, BETTER


@pytest.mark.parametrize(("window", "buffer", "available"), [(1000, 999, 1), (1000, 0, 1000)])
def test_a_window_with_room_says_how_much(window: int, buffer: int, available: int) -> None:
    assert check_window(window, buffer) == available


@pytest.mark.parametrize(("window", "buffer"), [(1000, 1000), (1000, 1001), (0, 0), (-1, 0)])
def test_a_buffer_that_fills_the_window_is_refused(window: int, buffer: int) -> None:
    with pytest.raises(BadConfig):
        check_window(window, buffer)


def test_a_prompt_is_critical_from_the_configured_threshold_on() -> None:
    assert prompt_status(1000, 0, [910], rules=Compaction(critical_threshold=0.9)).severity == "critical"
    assert prompt_status(1000, 0, [910]).severity == "warning"


@pytest.mark.parametrize("ratio", [-0.1, 1.1, float("nan")])
def test_the_ratio_is_a_share(ratio: float) -> None:
    with pytest.raises(BadConfig, match="ratio"):
        window_budget(1000, 0, ratio=ratio)


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.floats(0, 1),
)
def test_no_part_exceeds_the_whole(window: int, buffer: int, system: int, tools: int, ratio: float) -> None:
    budget = window_budget(window, buffer, system_tokens=system, tool_tokens=tools, ratio=ratio)
    assert 0 <= budget.supporting <= budget.dynamic <= window
    assert budget.dynamic == 0 or budget.fixed + budget.dynamic == window
