"""From raw scores to weighted ones: functions over arrays with one number a row."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array, Columns, Runs
from runtime.memory.finding.config import FindingConfig

_PASSING = 4096
"""So many of the best lexical scores are passed on to other turns: what is passed on by weaker ones lifts
nothing to where it is looked at."""


class Part(NamedTuple):
    """One ingredient of the score: of a row it is `values[row] * scale + shift`."""

    values: Array
    scale: float
    shift: float = 0.0

    def of(self, rows: Array) -> Array:
        """What it adds to the score of these rows."""
        found: Array = self.values.take(rows) * np.float32(self.scale) + np.float32(self.shift)
        return found


def with_neighbours(lexical: Array, columns: Columns, config: FindingConfig) -> Array:
    """Lexical scores of all rows, with shares of those of some turns before and after."""
    near, factor = lexical.copy(), columns["factor"]
    found = (lexical > 0).nonzero()[0]
    if len(found) > _PASSING:
        found = found.take(_highest(lexical.take(found), _PASSING))
    # A long turn matches something of nearly every query: it passes on less, of its own and of others'.
    own = lexical.take(found) * factor.take(found)
    for way, share in (("after", config.previous_share), ("before", config.next_share)):
        links, passed = columns[way], own * np.float32(share)
        to = links.take(found)
        for _ in range(config.reach):
            near[to] += passed
            passed *= factor.take(to)
            passed *= np.float32(config.further_share)
            to = links.take(to)
    near[0] = 0
    return near


def with_session(scores: Array, runs: Runs, codes: int, share: float) -> Array:
    """Scores with a share of the best of their session, where that is positive; `codes`: one more than the
    highest code of a session.

    An item without a session is a session of its own.
    """
    if not share:
        return scores
    of_run = np.maximum.reduceat(scores, runs.starts)
    best = np.zeros(codes, dtype=scores.dtype)
    np.maximum.at(best, runs.sessions, of_run)
    shares = np.where(runs.sessions, best.take(runs.sessions), of_run)
    shares *= np.float32(share)
    found: Array = shares.repeat(runs.lengths)
    found += scores
    return found


def centred(values: Array, current: Array | None, weight: float) -> Part:
    """`weight` times the z-score over the `current` rows (none given: all but row 0); nothing where nothing
    differs."""
    chosen = values[1:] if current is None else values[current]
    # Pairwise sums, which numpy's reduction takes, keep single precision good to a millionth.
    mean = float(np.add.reduce(chosen)) / len(chosen)
    away = chosen - np.float32(mean)
    away *= away
    spread = sqrt(float(np.add.reduce(away)) / len(chosen))
    if spread < 1e-9:
        return Part(values, 0.0)
    return Part(values, weight / spread, -weight * mean / spread)


def total(parts: list[Part], size: int) -> Array:
    """The sum of all parts, for every row."""
    summed = np.full(size, sum(part.shift for part in parts), dtype=np.float32)
    for part in parts:
        if part.scale:
            summed += part.values * np.float32(part.scale)
    return summed


def shortened(raw: Array, factor: Array) -> Array:
    """Scores after a penalty of at most 1 on what is positive."""
    low: Array = raw * factor
    return np.minimum(raw, low, out=low)


def decay(starts: Array, now: float, half_life_days: float) -> Array:
    """0.5 ^ (age / half-life), ages below zero taken as zero."""
    ages = np.maximum(now - starts, 0) / (86_400 * half_life_days)
    factor: Array = 0.5**ages
    return factor


def top(scores: Array, tokens: Array, most: int, budget: int, spare: int = 1) -> Array:
    """Positions of the best scores, best first, the earlier position first among equals: so many that packing
    finds enough (`spare` times), at most `most`."""
    # Of few the best are sorted out below anyway.
    rows = _highest(scores, most) if len(scores) > 2 * most else np.arange(len(scores))
    there = scores.take(rows)
    for tried in (min(256, most), most):
        best: Array = _highest(there, tried)
        best = rows.take(best.take(np.argsort(-there.take(best), kind="stable")))
        needed = spare * _reach(tokens.take(best), budget)
        if needed <= tried:
            break
    return best[: min(needed, most)]


def _highest(scores: Array, most: int) -> Array:
    """Positions of so many of the highest, in order, with all that equal the last of them: which of equals a
    partition leaves out is chance."""
    found: Array = (scores >= np.partition(scores, len(scores) - most)[len(scores) - most]).nonzero()[0]
    return found


def _reach(tokens: Array, budget: int) -> int:
    """How many of the best candidates packing may need: twice the budget's worth, and room for misfits."""
    return int(tokens.cumsum().searchsorted(2 * budget)) + 128
