"""Cuts a text so that it fits, with a marker; tool definitions and results within their budgets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from runtime.memory.estimate import Estimator
from runtime.memory.ranges import check

MARKER = "…[truncated]"
"""Ends a text of which only the beginning is shown."""

JOINER = "\u200d"


def clip(text: str, fits: Callable[[str], bool], marker: str = MARKER) -> str | None:
    """`text` if it fits, else its longest beginning that does together with `marker`.

    None where not even the marker fits. Combined characters are not parted. `fits` may be any measure;
    only texts that it accepted are returned.
    """
    if fits(text):
        return text
    best = marker if fits(marker) else None
    low, high = 0, len(text)
    while best is not None and low < high:
        middle = (low + high + 1) // 2
        candidate = text[: _boundary(text, middle)].rstrip() + marker
        if fits(candidate):
            best, low = candidate, middle
        else:
            high = middle - 1
    return best


def _boundary(text: str, end: int) -> int:
    """The last position at or before `end` that does not part a combined character."""
    while 0 < end < len(text) and (
        unicodedata.category(text[end]) in ("Mn", "Me", "Mc") or JOINER in (text[end], text[end - 1])
    ):
        end -= 1
    return end


class ToolBudget(msgspec.Struct, frozen=True):
    """What tools may take of a prompt. `definitions_share`: part of the dynamic budget for definitions."""

    definitions_share: float = 0.25

    def __post_init__(self) -> None:
        check("definitions_share", self.definitions_share, 0, 1)

    def tokens(self, dynamic_tokens: int) -> int:
        """Tokens for tool definitions: int(dynamic budget × share), never negative."""
        return max(0, int(dynamic_tokens * self.definitions_share))


class Offered(NamedTuple):
    """Names of the tools that are offered, of those left out, and the tokens of the offered ones."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    tokens: int


def offer(tools: Sequence[tuple[str, int]], budget_tokens: int) -> Offered:
    """The tools (name, tokens of its definition) that fit together, in order; others are passed over."""
    names: list[str] = []
    left_out: list[str] = []
    used = 0
    for name, tokens in tools:
        fits = used + tokens <= budget_tokens
        (names if fits else left_out).append(name)
        used += tokens if fits else 0
    return Offered(tuple(names), tuple(left_out), used)


def clip_result(text: str, max_tokens: int | None, count: Estimator) -> str:
    """A tool's result in at most `max_tokens` (None: whole); empty where not even the marker fits."""
    if max_tokens is None:
        return text
    return clip(text, lambda candidate: count(candidate) <= max_tokens) or ""
