"""Laws of erasing texts: no copy stays, nothing else changes, and the bytes looked for find every copy."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.events import encode
from runtime.memory.fence import escape
from runtime.store.erasing import SHORTEST, Eraser
from tests.runtime.store.support import START

MARK = "[erased R]"
LONG = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\<>&\n\t é中'),
    min_size=SHORTEST,
    max_size=20,
).filter(lambda text: text.strip() == text and len(text) >= SHORTEST and text not in MARK)
OTHER = st.text(st.sampled_from("abcdefg {}:,"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | OTHER,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(OTHER, inner, max_size=3),
    max_leaves=8,
)


def strings(value: Any) -> list[str]:
    """Every text of a JSON value, keys too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    if isinstance(value, dict):
        return [*value, *(text for inner in value.values() for text in strings(inner))]
    return []


def hide(value: str, how: str, around: str) -> Any:
    """A document with a copy of the value somewhere."""
    text = f"{around}{value}{around}"
    return {
        "plain": [text],
        "key": {text: 1},
        "json": {"a": json.dumps({"x": text})},
        "ascii": {"a": json.dumps({"x": text}, ensure_ascii=False)},
        "twice": [json.dumps({"x": json.dumps([text])})],
        "fence": {"a": [f"- note: {escape(text)} [user]"]},
        "lines": {"a": escape(text).replace("\n", "\n  ")},
    }[how]


@given(LONG, st.sampled_from(["plain", "key", "json", "ascii", "twice", "fence", "lines"]), OTHER, JSON)
def test_no_copy_stays_and_the_bytes_looked_for_find_each(
    value: str, how: str, around: str, beside: Any
) -> None:
    eraser = Eraser({"k": [value]}, MARK)
    raw = msgspec.json.encode([hide(value, how, around), beside])
    clean = eraser.clean(raw, free=True)
    assert clean.hits > 0
    assert any(needle in raw for needle in eraser.needles())
    for text in strings(msgspec.json.decode(clean.raw)):
        assert value not in text
        assert escape(value) not in text


@given(LONG, JSON)
def test_a_document_without_the_value_stays_to_the_byte(value: str, document: Any) -> None:
    raw = msgspec.json.encode(document)
    if any(value in text for text in strings(document)):
        return
    clean = Eraser({"key that is nowhere": [value]}, MARK).clean(raw, free=True)
    assert (clean.raw, clean.hits) == (raw, 0)
    assert clean.raw is raw


@given(JSON.filter(lambda value: value not in (None, "")), JSON)
def test_a_value_under_its_key_goes_whatever_it_is(value: Any, beside: Any) -> None:
    document = {"the key": value, "list": [{"key": "the key", "value": value}, beside]}
    eraser = Eraser({"the key": [value]}, MARK)
    raw = msgspec.json.encode(document)
    found = msgspec.json.decode(eraser.clean(raw, free=True).raw)
    assert found["the key"] == MARK
    assert found["list"][0]["value"] == MARK
    assert any(needle in raw for needle in eraser.needles())


@pytest.mark.parametrize("value", ["5550100", 5550100])
@pytest.mark.parametrize("written", ["5550100", 5550100])
def test_digits_are_found_as_a_text_and_as_a_number(value: Any, written: Any) -> None:
    eraser = Eraser({"phone": [value]}, MARK)
    raw = msgspec.json.encode({"call": [written, 15550100.5]})
    assert msgspec.json.decode(eraser.clean(raw, free=True).raw) == {"call": [MARK, 15550100.5]}
    assert any(needle in raw for needle in eraser.needles())


@pytest.mark.parametrize(
    "value", ["completed", "agent.usage", "run-1", "assistant", "1234567", 1234567, True, 1]
)
def test_what_is_ours_in_an_event_is_never_touched(value: Any) -> None:
    from runtime.events import AgentUsage, RunFinished
    from runtime.usage import Usage

    about: dict[str, Any] = {"at": START, "run_id": "run-1", "node_id": "assistant", "step": 1}
    for event in (
        AgentUsage(**about, call="completed", purpose="main", model="m", usage=Usage(input=1234567)),
        RunFinished(**about, state="completed", usage=Usage(output=1234567), ms=1234567),
    ):
        raw = encode(event)
        for key in ("attempt", "state", "type", "model"):
            assert Eraser({key: [value]}, MARK).clean(raw, free=False).raw == raw
