"""From raw lexical and dense scores to one score a row, in parts: pure functions over columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array, Columns
from runtime.memory.finding.config import FindingConfig


class Parts(NamedTuple):
    """Score parts by name, each an array over rows, and their total after the penalties."""

    named: dict[str, Array]
    total: Array


def with_neighbours(lexical: Array, columns: Columns, config: FindingConfig) -> Array:
    """Lexical scores with shares of the turn before, the turn after, and the best of the session."""
    near = lexical + config.previous_share * lexical[columns["before"]]
    near += config.next_share * lexical[columns["after"]]
    near[0] = 0
    if config.session_share:
        sessions = columns["session"]
        best = np.zeros(int(sessions.max()) + 1, dtype=near.dtype)
        found = np.flatnonzero(near > 0)
        np.maximum.at(best, sessions[found], near[found])
        best[0] = 0
        near = near + config.session_share * np.where(sessions > 0, best[sessions], near)
    return near


def centred(scores: Array, among: Array) -> Array:
    """z-scores over the rows of the mask `among`; all zero where nothing differs."""
    chosen = scores[among]
    if not len(chosen):
        return np.zeros_like(scores)
    spread = float(chosen.std())
    if spread < 1e-9:
        return np.zeros_like(scores)
    return (scores - float(chosen.mean())) / spread


def penalised(total: Array, columns: Columns, config: FindingConfig, now: float) -> Array:
    """Length penalty and, where a half-life is set, decay by age; a score below zero is left as it is."""
    factor = np.minimum(1.0, config.short_tokens / np.maximum(columns["tokens"], 1)) ** config.length_power
    if config.half_life_days > 0:
        factor = factor * 0.5 ** (np.maximum(now - columns["start"], 0) / (86_400 * config.half_life_days))
    return np.where(total > 0, total * factor, total)
