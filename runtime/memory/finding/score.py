"""From raw scores to centred ones: pure functions over arrays."""

from __future__ import annotations

import numpy as np

from runtime.memory.finding.columns import Array, Columns
from runtime.memory.finding.config import FindingConfig


def with_neighbours(lexical: Array, columns: Columns, config: FindingConfig) -> Array:
    """Lexical scores of all rows, with shares of those of the turns before and after."""
    near: Array = lexical.copy()
    found = np.flatnonzero(lexical)
    # A long neighbour matches something of nearly every query: it passes on less.
    passed = lexical[found] * columns["factor"][found]
    near[columns["after"][found]] += np.float32(config.previous_share) * passed
    near[columns["before"][found]] += np.float32(config.next_share) * passed
    near[0] = 0
    return near


def with_session(scores: Array, sessions: Array, share: float) -> Array:
    """Scores with a share of the best of their session, where that is positive.

    An item without a session is a session of its own.
    """
    if not share:
        return scores
    best = np.zeros(int(sessions.max()) + 1, dtype=scores.dtype)
    found = np.flatnonzero(scores > 0)
    np.maximum.at(best, sessions[found], scores[found])
    shared: Array = scores + np.float32(share) * np.where(sessions > 0, best[sessions], scores)
    return shared


def centred(scores: Array) -> Array:
    """z-scores; all zero where nothing differs."""
    spread = float(scores.std())
    if spread < 1e-9:
        return np.zeros_like(scores)
    centre: Array = (scores - scores.mean()) / spread
    return centre


def decay(starts: Array, now: float, half_life_days: float) -> Array:
    """0.5 ^ (age / half-life), ages below zero taken as zero."""
    ages = np.maximum(now - starts, 0) / (86_400 * half_life_days)
    factor: Array = 0.5**ages
    return factor


def top(total: Array, most: int) -> Array:
    """Positions of the best `most` scores, best first; the earlier position first among equals."""
    if len(total) <= most:
        return np.argsort(-total, kind="stable")
    edge = np.partition(total, len(total) - most)[len(total) - most]
    above = np.flatnonzero(total >= edge)
    best: Array = above[np.argsort(-total[above], kind="stable")][:most]
    return best


def reach(tokens: Array, budget: int) -> int:
    """How many of the best candidates packing may need: twice the budget's worth, and room for misfits."""
    return int(np.searchsorted(np.cumsum(tokens), 2 * budget)) + 128
