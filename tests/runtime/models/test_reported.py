"""Usage and cost as providers report them, in every style."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.reported import MAX_TOKENS, cost_of_report, usage_of
from runtime.usage import Usage

STYLES: dict[str, tuple[Any, Usage | None]] = {
    "openai": (
        {
            "prompt_tokens": 10_000,
            "completion_tokens": 1_000,
            "total_tokens": 11_000,
            "prompt_tokens_details": {"cached_tokens": 9_000, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 800},
        },
        Usage(10_000, 9_000, 0, 1_000, 800),
    ),
    "openai responses": (
        {
            "input_tokens": 10_000,
            "output_tokens": 1_000,
            "input_tokens_details": {"cached_tokens": 9_000},
            "output_tokens_details": {"reasoning_tokens": 800},
        },
        Usage(10_000, 9_000, 0, 1_000, 800),
    ),
    "anthropic": (
        {"input_tokens": 1_000, "cache_read_input_tokens": 9_000, "output_tokens": 1_000},
        Usage(10_000, 9_000, 0, 1_000),
    ),
    "anthropic with writes": (
        {
            "input_tokens": 100,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 400,
            "output_tokens": 5,
        },
        Usage(500, 0, 400, 5),
    ),
    "deepseek": (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_cache_hit_tokens": 64,
         "prompt_cache_miss_tokens": 36, "total_tokens": 109},
        Usage(100, 64, 0, 9),
    ),
    "openrouter": (
        {"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220, "cost": 0.1,
         "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 100}},
        Usage(200, 50, 100, 20),
    ),
    "litellm of anthropic": (
        {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010,
         "prompt_tokens_details": {"cached_tokens": 600}, "cache_read_input_tokens": 600,
         "cache_creation_input_tokens": 300},
        Usage(1_000, 600, 300, 10),
    ),
    "prompt without its cached part": (
        {"prompt_tokens": 1_000, "cache_read_input_tokens": 9_000, "completion_tokens": 1_000},
        Usage(10_000, 9_000, 0, 1_000),
    ),
    "prompt without its cached part, by the total": (
        {"prompt_tokens": 1_000, "cache_read_input_tokens": 500, "completion_tokens": 10,
         "total_tokens": 1_510},
        Usage(1_500, 500, 0, 10),
    ),
    "gemini, thinking only in the total": (
        {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 130},
        Usage(10, 0, 0, 120, 100),
    ),
    "gemini, thinking all there is": (
        {"prompt_tokens": 10, "total_tokens": 110},
        Usage(10, 0, 0, 100),
    ),
    "xai, reasoning beside the completion": (
        {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 130,
         "completion_tokens_details": {"reasoning_tokens": 100}},
        Usage(10, 0, 0, 120, 100),
    ),
    "moonshot": ({"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 8}, Usage(10, 8, 0, 2)),
    "embeddings": ({"prompt_tokens": 10, "total_tokens": 10}, Usage(10)),
    "floats that are whole": ({"prompt_tokens": 10.0, "completion_tokens": 2.0}, Usage(10, 0, 0, 2)),
    "null details": (
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None},
        Usage(10, 0, 0, 2),
    ),
    "reported zero": ({"prompt_tokens": 0, "completion_tokens": 0}, Usage()),
    "negative": ({"prompt_tokens": -1, "completion_tokens": 5}, None),
    "negative cached": (
        {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -4}},
        Usage(10, 0, 0, 5),
    ),
    "absurd": ({"prompt_tokens": 10**15, "completion_tokens": 5}, None),
    "fraction": ({"prompt_tokens": 10.5, "completion_tokens": 5}, None),
    "text": ({"prompt_tokens": "10", "completion_tokens": 5}, None),
    "true": ({"prompt_tokens": True, "completion_tokens": 5}, None),
    "no completion": ({"prompt_tokens": 10}, None),
    "only a total": ({"total_tokens": 10}, None),
    "nothing": ({}, None),
    "null": (None, None),
    "list": ([1], None),
}  # fmt: skip


@pytest.mark.promise("LED-5")
@pytest.mark.parametrize("style", STYLES)
def test_usage_is_the_same_five_numbers_in_every_style(style: str) -> None:
    raw, usage = STYLES[style]
    assert usage_of(raw) == usage


FIELDS = st.sampled_from(
    ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cached_tokens",
     "cache_read_input_tokens", "cache_creation_input_tokens", "prompt_cache_hit_tokens", "reasoning_tokens"]
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(0, 5_000), st.integers(), st.floats(), st.none(), st.text(max_size=3), st.booleans()
)
DETAILS = st.none() | st.dictionaries(
    st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens"]), NUMBERS
)
REPORTS = st.builds(
    lambda flat, prompt, completion: {
        **flat, "prompt_tokens_details": prompt, "completion_tokens_details": completion
    },
    st.dictionaries(FIELDS, NUMBERS),
    DETAILS,
    DETAILS,
)  # fmt: skip


@given(REPORTS)
def test_usage_parts_are_never_more_than_their_whole(raw: dict[str, Any]) -> None:
    usage = usage_of(raw)
    if usage is not None:
        parts = (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning)
        assert all(0 <= part <= 6 * MAX_TOKENS for part in parts)
        assert usage.cached + usage.cache_write <= usage.input
        assert usage.reasoning <= usage.output


@pytest.mark.parametrize(
    ("raw", "header", "nanos"),
    [
        ({"cost": 0.1}, None, 100_000_000),
        ({"cost": 1e-10}, None, 1),
        ({"cost": "0.000000001"}, None, 1),
        ({"cost": 0}, "0.5", 0),
        ({"cost": None}, "0.5", 500_000_000),
        ({"cost": {"total_cost": 0.006}}, None, 6_000_000),
        (
            {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
            None,
            210_000_000,
        ),
        (
            {"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}},
            None,
            10_000_000,
        ),
        ({"cost": -0.01}, None, None),
        ({"cost": float("nan")}, None, None),
        ({"cost": float("inf")}, None, None),
        ({"cost": 1e9}, None, None),
        ({"cost": True}, None, None),
        ({}, "", None),
        ({}, "free", None),
        (None, None, None),
    ],
)
def test_cost_is_exact_and_rounded_up(raw: Any, header: str | None, nanos: int | None) -> None:
    assert cost_of_report(raw, header) == nanos


@given(st.decimals(0, 1_000, places=9))
def test_cost_of_a_json_number_is_the_number(amount: Any) -> None:
    number = json.loads(str(amount))
    assert cost_of_report({"cost": str(amount)}, None) == int(amount * 1_000_000_000)
    if len(str(amount).replace(".", "").lstrip("0")) <= 15:
        assert cost_of_report({"cost": number}, None) == int(amount * 1_000_000_000)
