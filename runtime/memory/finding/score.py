"""From raw scores to centred ones: pure functions over arrays."""

from __future__ import annotations

import numpy as np

from runtime.memory.finding.columns import Array, Columns
from runtime.memory.finding.config import FindingConfig


def with_neighbours(lexical: Array, columns: Columns, config: FindingConfig) -> Array:
    """Lexical scores of all rows, with shares of the turns before and after and of the best of the
    session."""
    near: Array = lexical + config.previous_share * lexical[columns["before"]]
    near += config.next_share * lexical[columns["after"]]
    near[0] = 0
    if not config.session_share:
        return near
    sessions = columns["session"]
    best = np.zeros(int(sessions.max()) + 1, dtype=near.dtype)
    found = np.flatnonzero(near > 0)
    np.maximum.at(best, sessions[found], near[found])
    # An item without a session is a session of its own.
    shared = np.where(sessions > 0, best[sessions], near)
    near += config.session_share * shared
    return near


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
