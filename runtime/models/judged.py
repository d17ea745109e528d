"""A rehearsal of judging pairs of notes, by rule: words alone decide, since no model is asked."""

from __future__ import annotations

import re
from typing import Any

import msgspec


def judged(asked: str) -> str:
    """The answer to a question about pairs of notes: `same` where one has all words of the other, `conflict`
    where only numbers differ, else `different`."""
    try:
        pairs = msgspec.json.decode(asked)["pairs"]
    except (msgspec.DecodeError, KeyError, TypeError):
        pairs = []
    verdicts = [{"pair": pair["pair"], **_relation(pair["one"], pair["other"])} for pair in pairs]
    return msgspec.json.encode({"verdicts": verdicts}).decode()


def _relation(one: dict[str, Any], other: dict[str, Any]) -> dict[str, str]:
    a, b = _words(one["value"]), _words(other["value"])
    if a and b and (a <= b or b <= a):
        return {"relation": "same", "why": "the same words"}
    if a and b and _plain(a) == _plain(b) and a != b:
        return {"relation": "conflict", "why": "the same words with other numbers"}
    return {"relation": "different"}


def _words(value: Any) -> frozenset[str]:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return frozenset(re.findall(r"\w+", text.casefold()))


def _plain(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not any(sign.isdigit() for sign in word))
