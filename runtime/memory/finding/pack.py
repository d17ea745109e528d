"""Filling a token budget in order of score; what is superseded or repeated stays out."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array

_MISFITS = 64


class Out(NamedTuple):
    """Why a candidate is not to be shown: the reason, and the place of that because of which."""

    reason: str
    by: int


class Packed(NamedTuple):
    """Places (in the order given) that went in, those that stayed out before the budget was full, tokens
    used."""

    chosen: list[int]
    left: list[int]
    used: int


def pack(costs: Sequence[int], out: Container[int], budget: int) -> Packed:
    """Take candidates, each of which costs so many tokens (at least 1), in order while they fit, but for
    those at the places that are `out`; one that does not fit is skipped and smaller ones follow.

    `used` never exceeds `budget`. Packing ends when 64 in a row did not fit: what is left over is then
    smaller than nearly everything.
    """
    chosen: list[int] = []
    left: list[int] = []
    room, misfits = budget, 0
    for place, cost in enumerate(costs):
        if room <= 0 or misfits == _MISFITS:
            break
        if place in out:
            left.append(place)
        elif cost > room:
            left.append(place)
            misfits += 1
        else:
            chosen.append(place)
            room -= cost
            misfits = 0
    return Packed(chosen, left, budget - room)


def repeats(digests: Array, times: Array) -> dict[int, int]:
    """Places of words that another place has as well, each with the place of those that were said last (the
    first given of those at one time): of the same words, that one is shown."""
    ordered = np.sort(digests)
    if not (ordered[1:] == ordered[:-1]).any():
        return {}
    newest: dict[int, int] = {}
    for place, digest in enumerate(digests.tolist()):
        known = newest.setdefault(digest, place)
        if times[place] > times[known]:
            newest[digest] = place
    return {place: newest[digest] for place, digest in enumerate(digests.tolist()) if newest[digest] != place}
