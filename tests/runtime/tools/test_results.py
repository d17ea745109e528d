"""Results: JSON out of anything, and cuts that say what they left out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from runtime.errors import ToolFailure
from runtime.models.counter import HeuristicCounter
from runtime.tools.results import cut, plain, text_of


class Model(BaseModel):
    """A model."""

    n: int = 1


@dataclass
class Data:
    """A dataclass."""

    n: int = 2


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (None, None),
        (True, True),
        (2**80, 2**80),
        ("héllo", "héllo"),
        ("half \ud800", "half ?"),
        (Model(), {"n": 1}),
        ([Data()], [{"n": 2}]),
        ({1}, [1]),
        ((1, Decimal("0.10")), [1, "0.10"]),
        ({3: Path("a")}, {"3": "a"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (b"bytes", "bytes"),
        (float("nan"), "NaN"),
        ({"a": [float("inf")]}, {"a": ["Infinity"]}),
    ],
    ids=range(14),
)
def test_what_functions_give_becomes_json(value: Any, made: Any) -> None:
    assert plain("f", value) == made


def test_what_json_cannot_hold_is_a_failure_with_words() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (object(), b"\xff", loop, (n for n in [1]), {"a": object()}, ["\ud800"], {"a": lambda: 1}):
        with pytest.raises(ToolFailure, match="f was called, but gave") as failed:
            plain("f", value)
        assert failed.value.code == "tool.bad_result"
        assert len(failed.value.message) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_every_result_can_be_stored_and_read_again(value: Any) -> None:
    made = plain("f", value)
    encoded = msgspec.json.encode(made)
    assert json.loads(encoded, parse_constant=pytest.fail) == msgspec.json.decode(encoded)


@given(st.text(max_size=3000) | st.text(alphabet="ab \n", min_size=100, max_size=5000), st.integers(1, 300))
def test_a_cut_keeps_to_its_tokens_and_accounts_for_every_character(text: str, limit: int) -> None:
    def count(part: str) -> int:
        return HeuristicCounter().text("m", part)

    short = cut(text, limit, count)
    if count(text) <= limit:
        assert short == (text, False)
        return
    assert short.truncated
    kept, mark = short.value.rsplit("\n[cut: ", 1)
    assert text.startswith(kept)
    assert count(kept) <= limit
    left, whole = (int(word.replace(",", "")) for word in mark.split() if word[0].isdigit())
    assert (left + len(kept), whole) == (len(text), len(text))


def test_a_cut_of_an_object_is_a_text() -> None:
    short = cut({"rows": list(range(1000))}, 20, len)
    assert short.truncated
    assert short.value.startswith('{"rows":[0,1,2,')
    assert cut({"a": 1}, 20, len) == ({"a": 1}, False)
    assert text_of({"a": 1}) == '{"a":1}'
