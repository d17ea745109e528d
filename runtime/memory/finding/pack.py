"""Filling a token budget in order of score; what is superseded or repeated stays out."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

_MISFITS = 64
_LATEST = itemgetter(3)


Candidate = tuple[int, int, int, float, int | None]
"""Row, cost in tokens (at least 1), checksum of its words, its time, and the row that replaces it, if any."""


class Left(NamedTuple):
    """A candidate that stayed out: its place, the reason, and the row because of which."""

    place: int
    reason: str
    by: int | None


class Packed(NamedTuple):
    """Places (in the order given) that went in, those that stayed out before the budget was full, tokens
    used."""

    chosen: list[int]
    left: list[Left]
    used: int


def pack(candidates: Sequence[Candidate], budget: int) -> Packed:
    """Take candidates in order while they fit; one that does not is skipped and smaller ones follow. Of those
    with the same words the newest is taken.

    `used` never exceeds `budget`. Packing ends when 64 in a row did not fit: what is left over is then
    smaller than nearly everything.
    """
    chosen: list[int] = []
    left: list[Left] = []
    newest = _newest(candidates)
    used = misfits = 0
    for place, (row, cost, digest, _, replaced_by) in enumerate(candidates):
        if used >= budget or misfits == _MISFITS:
            break
        if replaced_by is not None:
            left.append(Left(place, "superseded", replaced_by))
        elif newest[digest] != row:
            left.append(Left(place, "repeated", newest[digest]))
        elif cost > budget - used:
            left.append(Left(place, "too_large", None))
            misfits += 1
        else:
            chosen.append(place)
            used += cost
            misfits = 0
    return Packed(chosen, left, used)


def _newest(candidates: Sequence[Candidate]) -> dict[int, int]:
    """For each checksum the row that was said last (the first given of those at one time): of the same words,
    that one is shown."""
    newest = {digest: row for row, _, digest, _, _ in candidates}
    if len(newest) < len(candidates):
        by_time = sorted(candidates, key=_LATEST, reverse=True)[::-1]
        newest.update((digest, row) for row, _, digest, _, _ in by_time)
    return newest
