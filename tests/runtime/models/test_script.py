"""Script files: what they may say, and what is said about one that cannot be used."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from runtime.errors import BadInput
from runtime.models.script import FORMAT, Script, ScriptedUsage, load_script, parse_script


def parsed(*replies: dict[str, Any]) -> Script:
    return parse_script({"format": FORMAT, "replies": {"helper": list(replies)}})


def test_script_reads_every_field() -> None:
    reply = {
        "text": "Hello.",
        "tool_calls": [{"name": "look", "arguments": {"at": 1}}, {"name": "look", "arguments": "{broken"}],
        "usage": {"input": 10, "cached": 4, "output": 2},
        "cost": "0.40",
        "latency_s": 0.2,
        "finish": "length",
        "error": {"kind": "rate_limited", "message": "Slow.", "retry_after": 2},
        "if": "h[ae]llo",
        "purpose": "summary",
    }
    (read,) = parsed(reply).replies["helper"]
    assert read.tool_calls[1].arguments == "{broken"
    assert read.cost == Decimal("0.40") and isinstance(read.usage, ScriptedUsage)
    assert read.fits("summary", "well hallo") and not read.fits("summary", "bye")
    assert not read.fits("main", "hello")


def test_script_tells_absent_from_null() -> None:
    bare, null = parsed({"text": "a"}, {"text": "b", "usage": None, "cost": None}).replies["helper"]
    assert (bare.usage, bare.cost) == (UNSET, UNSET)
    assert (null.usage, null.cost) == (None, None)


FAULTS: dict[str, tuple[Any, str]] = {
    "format": ({"format": "farthing.script/9"}, "$.format"),
    "no format": ({"replies": {}}, "$.format"),
    "unknown field": ({"format": FORMAT, "replies": {"a": [{"txet": "x"}]}}, "$.replies.a[0].txet"),
    "usage": (
        {"format": FORMAT, "replies": {"a": [{}, {"usage": {"input": -1}}]}},
        "$.replies.a[1].usage.input",
    ),
    "cost": ({"format": FORMAT, "replies": {"a": [{"cost": "-1"}]}}, "$.replies.a[0].cost"),
    "cost of many decimals": ({"format": FORMAT, "replies": {"a": [{"cost": "0.0000000001"}]}}, "decimals"),
    "kind": ({"format": FORMAT, "replies": {"a": [{"error": {"kind": "bored"}}]}}, "rate_limited"),
    "pattern": ({"format": FORMAT, "replies": {"a": [{"if": "("}]}}, "regular expression"),
    "purpose": ({"format": FORMAT, "replies": {"a": [{"purpose": "fun"}]}}, "$.replies.a[0].purpose"),
    "latency": ({"format": FORMAT, "replies": {"a": [{"latency_s": 1e9}]}}, "$.replies.a[0].latency_s"),
    "list": ([], "$"),
    "two faults": ({"format": FORMAT, "replies": {"a": [{"x": 1}, {"y": 2}]}}, "(1 more)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_script_says_what_is_wrong_and_where(fault: str) -> None:
    data, says = FAULTS[fault]
    with pytest.raises(BadInput) as caught:
        parse_script(data)
    assert says in caught.value.message and FORMAT in str(caught.value)
    assert (caught.value.code, caught.value.exit_code) == ("script.invalid", 2)


def test_script_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "support.script.json"
    path.write_text("\ufeff" + json.dumps({"format": FORMAT, "replies": {"*": [{"text": "Hi."}]}}), "utf-8")
    assert load_script(path).replies["*"][0].text == "Hi."


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "script.invalid"),
        (b"\xff\xfe{}", "script.invalid"),
        (b"[" * 100_000, "script.invalid"),
        (None, "script.missing"),
    ],
)
def test_script_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, code: str) -> None:
    path = tmp_path / "x.script.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        load_script(path)
    assert caught.value.code == code and "x.script.json" in caught.value.message
