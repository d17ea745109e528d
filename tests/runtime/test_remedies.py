"""Whoever is told that something cannot be used is told what to do, and where."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime import errors
from runtime.errors import BadConfig, BadFlow, BadInput
from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.run.limits import parse_limit
from runtime.spec import load_flow
from runtime.usage import MAX_NANOS, parse_count, parse_money
from tests.repo import ROOT

ASKED = (
    errors.BadInput,
    errors.BadConfig,
    errors.BadSettings,
    errors.NotFound,
    errors.Conflict,
    errors.NotGranted,
)
NAMES = {each.__name__ for each in ASKED}


def raised(path: Path) -> Iterator[ast.Call]:
    """The calls in a module that make an error of what somebody gave."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
            yield node


@pytest.mark.parametrize("part", ["runtime", "nodes", "studio"])
def test_every_error_of_what_was_given_has_a_remedy(part: str) -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / part).rglob("*.py")
        if "node_modules" not in path.parts
        for call in raised(path)
        if not any(word.arg in ("remedy", None) for word in call.keywords)
    ]
    assert not bare


def remedies(type_: str, config: dict[str, Any]) -> list[str]:
    """What to do about a node of this config."""
    node = {"id": "n", "type": type_, "config": config}
    document = {"format": "farthing.flow/1", "name": "w", "nodes": [node]}
    with pytest.raises(BadFlow) as caught:
        compile_flow(load_flow(json.dumps(document).encode()), installed())
    return [p.remedy for p in caught.value.problems if p.path.startswith("$.nodes[0].config")]


@pytest.mark.parametrize(
    ("type_", "config", "remedy"),
    [
        ("agent", {"instructions": 5}, 'Make `instructions` a text, such as "words".'),
        ("agent", {"fallback_models": ["a:b", 1]}, 'Make entry 2 of `fallback_models` a text, such as'),
        ("agent", {"planning": "maybe"}, "Make `planning` true or false."),
        ("agent", {"strategy": "tool"}, "Did you mean 'tools'?"),
        ("agent", {"strategy": "quick"}, "Set `strategy` to one of 'tools', 'thinker', 'json'."),
        ("agent", {"max_iterations": 0}, "Set `max_iterations` to at least 1."),
        ("agent", {"temperature": 9}, "Set `temperature` to at most 2."),
        ("memory", {"namespace": ""}, "Give `namespace` at least 1 character."),
        ("tool", {"function": "x" * 70}, "Shorten `function` to at most 64 characters."),
        ("tool", {}, "Write `function` with a name that `farthing tools` lists, and leave the others out."),
        ("budget", {"limit": "x"}, "Write a whole number such as 20000."),
        ("budget", {"metric": "spend", "limit": "1.0000000001"}, "Round it to 9 decimals."),
        ("budget", {"limit": 5, "threshold_pct": -1}, "Write a number from 0 to 100 such as 80,"),
        ("template", {}, "Write `text` for a text, or `json` for a value, not both."),
    ],
)  # fmt: skip
def test_a_wrong_value_in_a_flow_is_told_with_what_to_write_and_where(
    type_: str, config: dict[str, Any], remedy: str
) -> None:
    (told,) = remedies(type_, config)
    assert told.startswith(remedy)


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        ("spend=abc", "Write dollars such as 0.50, with 9 decimals at most."),
        ("spend=-1", "Write dollars such as 0.50, with 9 decimals at most."),
        ("spend=1e30", "Give at most 9,223,372,036 dollars."),
        ("tokens=1.5", "Write a whole number such as 20000."),
        ("tokens=99999999999999999999", f"Give at most {MAX_NANOS:,} tokens."),
        ("money=5", "Write --limit spend=0.50 or --limit tokens=20000."),
        ("x" * 10_000, "Write --limit spend=0.50 or --limit tokens=20000."),
    ],
)
def test_a_limit_that_is_none_is_told_with_what_to_write(limit: str, remedy: str) -> None:
    with pytest.raises((BadConfig, BadInput)) as caught:
        parse_limit(limit)
    assert caught.value.remedy == remedy and len(caught.value.message) < 200


@pytest.mark.parametrize("value", [None, True, [], "", "NaN", "Infinity", "-0.01", "1" * 5000, float("inf")])
def test_no_amount_is_refused_without_a_remedy(value: object) -> None:
    for parse in (parse_money, parse_count):
        with pytest.raises(BadConfig) as caught:
            parse(value)
        assert caught.value.remedy and len(caught.value.message) < 200
