"""The order in which candidates compete: reciprocal rank × freshness × confidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest

import msgspec

from runtime.memory.candidates import Candidate, utc

SECONDS_A_DAY = 86_400.0


class Ranked(msgspec.Struct, frozen=True):
    """A candidate, its rank in its own list (from 0), its relevance by rank, and its score."""

    item: Candidate
    rank: int
    relevance: float
    score: float


def relevance(rank: int, k: int = 60) -> float:
    """1 / (k + rank + 1): the reciprocal rank of fusion; the best of every list counts the same."""
    return 1.0 / (k + rank + 1)


def age_days(at: datetime, now: datetime) -> float:
    """Days from `at` to `now`, 0 for a future time; naive times are UTC."""
    return max(0.0, (utc(now) - utc(at)).total_seconds() / SECONDS_A_DAY)


def freshness(at: datetime | None, now: datetime, half_life_days: float | None) -> float:
    """0.5 ^ (age / half-life); 1 without a time, and where the half-life is None, 0 or negative."""
    if at is None or half_life_days is None or half_life_days <= 0:
        return 1.0
    return float(0.5 ** (age_days(at, now) / half_life_days))


def trust(confidence: float, weight: float) -> float:
    """1 - weight × (1 - confidence): 1 with weight 0, the confidence itself with weight 1."""
    return 1.0 - weight * (1.0 - min(1.0, max(0.0, confidence)))


def by_search_score(episodes: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Episodes with the highest search score first, equals and those without one in the given order."""
    return tuple(sorted(episodes, key=lambda item: -(item.score or 0.0)))


def rank(
    facts: Sequence[Candidate],
    episodes: Sequence[Candidate],
    now: datetime,
    *,
    half_life_days: float | None = None,
    confidence_weight: float = 0.0,
    k: int = 60,
) -> tuple[Ranked, ...]:
    """Both lists in one, best score first; ties go fact, episode, fact, … by rank.

    Facts rank in the given order, episodes by search score.
    """

    def scored(position: int, item: Candidate) -> Ranked:
        by_rank = relevance(position, k)
        fresh = freshness(item.at, now, half_life_days)
        return Ranked(item, position, by_rank, by_rank * fresh * trust(item.confidence, confidence_weight))

    lists = zip_longest(
        (scored(i, item) for i, item in enumerate(facts)),
        (scored(i, item) for i, item in enumerate(by_search_score(episodes))),
    )
    alternating = [entry for pair in lists for entry in pair if entry is not None]
    return tuple(sorted(alternating, key=lambda entry: -entry.score))
