"""Filling a token budget in order of score, skipping what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Packed(NamedTuple):
    """Positions (into the order given) that went in, those that were too large when met, and the tokens used."""

    chosen: list[int]
    too_large: list[int]
    used: int


def pack(tokens: Sequence[int], budget: int) -> Packed:
    """Take items in order while they fit; one that does not is skipped and smaller ones follow.

    `tokens` are the costs in order of score, each at least 1. `used` never exceeds `budget`.
    """
    chosen: list[int] = []
    too_large: list[int] = []
    left = budget
    for position, cost in enumerate(tokens):
        if left <= 0:
            break
        if cost <= left:
            chosen.append(position)
            left -= cost
        else:
            too_large.append(position)
    return Packed(chosen, too_large, budget - max(left, 0) if budget > 0 else 0)
