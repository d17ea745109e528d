"""Token counts: near enough before the call, nearer after each report."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.messages import Message, Request, ToolCall, ToolSpec
from runtime.models.characters import text_tokens
from runtime.models.counter import (
    LARGEST_RATIO,
    MESSAGE_TOKENS,
    REPLY_TOKENS,
    SMALLEST_RATIO,
    HeuristicCounter,
)

COUNTED = json.loads(Path(__file__).with_name("counted_by_o200k.json").read_text(encoding="utf-8"))
"""Texts with their tokens in OpenAI's o200k vocabulary."""


@pytest.mark.promise("MOD-6")
@pytest.mark.golden
@pytest.mark.parametrize("row", COUNTED, ids=[row["kind"] for row in COUNTED])
def test_counter_is_within_a_fifth_of_a_real_vocabulary(row: dict[str, Any]) -> None:
    assert abs(text_tokens(row["text"]) - row["tokens"]) <= 0.2 * row["tokens"] + 1


@given(st.text())
def test_counter_counts_any_text(text: str) -> None:
    assert (text_tokens(text) == 0) == (text == "")
    assert text_tokens(text) <= 3 * len(text.encode("utf-8", "replace")) + 1


@given(st.text(st.characters(codec="ascii"), max_size=60), st.text(st.characters(codec="ascii"), max_size=60))
def test_counter_adds_up_over_lines(first: str, second: str) -> None:
    together = text_tokens(f"{first}\n{second}")
    assert abs(together - text_tokens(first) - text_tokens(second)) <= 4


def asked(*messages: Message, **fields: object) -> Request:
    return Request(model="m", messages=messages, **fields)  # type: ignore[arg-type]


def test_counter_counts_messages_calls_tools_and_schema() -> None:
    counter = HeuristicCounter()
    empty = counter.count("p:m", asked())
    assert empty == REPLY_TOKENS
    plain = counter.count("p:m", asked(Message("user", "Hello there")))
    assert plain == REPLY_TOKENS + MESSAGE_TOKENS + text_tokens("Hello there")
    call = Message("assistant", None, (ToolCall("1", "weather", '{"city": "Lisbon"}'),))
    assert counter.count("p:m", asked(call)) > REPLY_TOKENS + MESSAGE_TOKENS + 5
    tool = ToolSpec("weather", "Tells the weather.", {"type": "object", "properties": {"city": {}}})
    assert counter.count("p:m", asked(tools=(tool,))) > empty + 15
    assert counter.count("p:m", asked(schema={"type": "object"})) > empty + 5
    thought = Message("assistant", "x", extra={"reasoning_content": "I think about it for a long while."})
    assert counter.message("p:m", thought) > counter.message("p:m", Message("assistant", "x")) + 5


@pytest.mark.promise("MOD-6")
def test_counter_learns_the_ratio_of_a_model() -> None:
    counter = HeuristicCounter()
    request = asked(Message("user", "a word or two " * 100))
    raw = counter.count("p:m", request)
    for _ in range(5):
        counter.learn("p:m", counter.count("p:m", request), round(raw * 1.4))
    assert counter.ratio("p:m") == pytest.approx(1.4, rel=0.01)
    assert counter.count("p:m", request) == pytest.approx(raw * 1.4, rel=0.01)
    assert counter.text("p:m", "a word or two " * 100) > 1.3 * text_tokens("a word or two " * 100)
    assert counter.count("p:other", request) == raw


def test_counter_learns_the_same_from_calls_side_by_side() -> None:
    counter = HeuristicCounter()
    request = asked(Message("user", "a word or two " * 100))
    raw = counter.count("p:m", request)
    counts = [counter.count("p:m", request) for _ in range(40)]
    for counted in counts:
        counter.learn("p:m", counted, round(raw * 1.5))
    assert counter.ratio("p:m") == pytest.approx(1.5, rel=0.01)


def test_counter_is_not_thrown_by_one_odd_report() -> None:
    counter = HeuristicCounter()
    for _ in range(10):
        counter.learn("p:m", 1_000, round(1_000 * counter.ratio("p:m")))
    counter.learn("p:m", 1_000, 90_000)
    assert counter.ratio("p:m") == 1.0


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-5, 10**9)), max_size=30))
def test_counter_keeps_its_ratio_in_bounds(reports: list[tuple[int, int]]) -> None:
    counter = HeuristicCounter()
    for counted, reported in reports:
        counter.learn("p:m", counted, reported)
        assert SMALLEST_RATIO <= counter.ratio("p:m") <= LARGEST_RATIO


def test_counter_ignores_reports_on_tiny_requests() -> None:
    counter = HeuristicCounter()
    for _ in range(9):
        counter.learn("p:m", 12, 40)
    assert counter.ratio("p:m") == 1.0


def test_counter_counts_a_known_request_quickly() -> None:
    counter = HeuristicCounter()
    request = asked(*(Message("user", "hello there, how are you? " * 20) for _ in range(100)))
    counter.count("p:m", request)
    best = min(_seconds(counter, request) for _ in range(50))
    assert best < 100e-6, "a hundred counted messages are to be added up, not counted again"


def _seconds(counter: HeuristicCounter, request: Request) -> float:
    began = time.perf_counter()
    counter.count("p:m", request)
    return time.perf_counter() - began
