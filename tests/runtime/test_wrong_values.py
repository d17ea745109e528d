"""What is said of a wrong value in a node's config: what belongs there, and what stands there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from runtime.errors import BadFlow
from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.spec import load_flow


def said(type_: str, config: dict[str, Any]) -> list[str]:
    """The messages about a node of this config, without their paths."""
    document = {
        "format": "farthing.flow/1",
        "name": "w",
        "nodes": [{"id": "n", "type": type_, "config": config}],
    }
    with pytest.raises(BadFlow) as caught:
        compile_flow(load_flow(json.dumps(document).encode()), installed())
    return [
        p.message.partition(": ")[2] for p in caught.value.problems if p.path.startswith("$.nodes[0].config.")
    ]


@pytest.mark.parametrize(
    ("type_", "config", "words"),
    [
        ("agent", {"instructions": ["x"]}, 'a text belongs here, not ["x"]'),
        ("agent", {"model": None, "fallback_models": "x"}, "a list belongs here, not 'x'"),
        ("agent", {"strategy": "tool"}, "'tool' is none of 'tools', 'thinker', 'json'"),
        ("agent", {"planning": "maybe"}, "true or false belongs here, not 'maybe'"),
        ("agent", {"planning": None}, "true or false belongs here, not null"),
        ("agent", {"max_iterations": 0}, "0 is too small: at least 1"),
        ("agent", {"max_iterations": 1.5}, "a whole number belongs here, not 1.5"),
        ("agent", {"temperature": "hot"}, "a number belongs here, not 'hot'"),
        ("agent", {"context": True}, "an object belongs here, not true"),
        ("budget", {"metric": "tokens", "threshold_pct": 120}, "120 is too large: at most 100"),
        ("budget", {"threshold_pct": 10**400}, "1.00000000e+400 is too large: at most 100"),
        ("budget", {"limit": 10**400}, f"limit is too large: 1{'0' * 58}…"),
        ("budget", {"limit": [None]}, "limit must be a whole number of tokens, zero or more, not [None]"),
        ("agent", {"temperature": 10**400}, f"1{'0' * 58}… is too large: at most 2"),
        ("agent", {"max_iterations": 10**8}, "100000000 is too large: at most 1,000"),
        (
            "memory",
            {"supporting": {"headings": {"passages": "a\nb"}}},
            r"'a\nb' does not fit the pattern ^[^\r\n\u2028\u2029]+$",
        ),
        ("agent", {"model": {"name": None}}, 'a text belongs here, not {"name": null}'),
        ("agent", {"strategy": "x" * 500}, f"'{'x' * 58}… is none of 'tools', 'thinker', 'json'"),
    ],
)
def test_a_wrong_value_is_said_in_words_of_json(type_: str, config: dict[str, Any], words: str) -> None:
    assert said(type_, config) == [words]


@pytest.mark.parametrize(
    ("type_", "config"),
    [
        ("agent", {"max_iterations": True}),
        ("agent", {"max_output_tokens": True}),
        ("agent", {"temperature": False}),
        ("agent", {"context": {"mode": "buffer", "keep": True}}),
        ("budget", {"metric": "tokens", "limit": True}),
        ("budget", {"metric": "spend", "limit": True}),
    ],
)
def test_a_truth_value_is_no_number(type_: str, config: dict[str, Any]) -> None:
    (words,) = said(type_, config)
    assert re.fullmatch("a (whole )?number belongs here, not (true|false)", words)
