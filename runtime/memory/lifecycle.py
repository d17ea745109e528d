"""How derived memories fade, are refreshed by use, earn a longer stay, and qualify for one recall.

Scores say what to prefer, not what is true. A score is only ever taken together with the time it was true
at, so fading once over a month or thirty times over a day gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import exp, log
from typing import NamedTuple

import msgspec

from runtime.errors import BadConfig
from runtime.memory.ranges import check


class Lifecycle(msgspec.Struct, frozen=True):
    """How derived short-term items change with time and use.

    `enabled`: off, scores stay as they are. `decay_rate`: per hour since the last access. `access_boost`:
    added by an access. `decay_threshold`: below it an item is retired. `promotion_threshold`: from it on an
    item may stay. `short_term_min_age_hours`: younger items are not promoted. `decay_check_interval_hours`:
    how often to look. `decayed_retention_days`: how long a retired item is kept. `promotion_weight_*`: shares
    of age, accesses, confidence and links in the promotion score, together 1, give or take `weight_slack`.
    `full_*`: what counts as a full share of each. The formulas and values are those of the memory text.
    """

    enabled: bool = False
    decay_rate: float = 0.01
    access_boost: float = 0.2
    decay_threshold: float = 0.2
    promotion_threshold: float = 0.7
    short_term_min_age_hours: float = 24
    decay_check_interval_hours: float = 24
    decayed_retention_days: float = 30
    promotion_weight_age: float = 0.2
    promotion_weight_access: float = 0.4
    promotion_weight_confidence: float = 0.2
    promotion_weight_connection: float = 0.2
    full_age_hours: float = 72
    full_accesses: float = 5
    full_links: float = 3
    weight_slack: float = 0.01

    def __post_init__(self) -> None:
        check("decay_rate", self.decay_rate, 0.001, 0.5)
        check("access_boost", self.access_boost, 0, 0.5)
        check("short_term_min_age_hours", self.short_term_min_age_hours, 1)
        check("decay_check_interval_hours", self.decay_check_interval_hours, 1)
        check("decayed_retention_days", self.decayed_retention_days, 1)
        weights = (
            self.promotion_weight_age,
            self.promotion_weight_access,
            self.promotion_weight_confidence,
            self.promotion_weight_connection,
        )
        for field in ("decay_threshold", "promotion_threshold"):
            check(field, getattr(self, field), 0, 1)
        for weight in weights:
            check("a promotion weight", weight, 0, 1)
        if abs(sum(weights) - 1) > self.weight_slack + 1e-9:
            raise BadConfig(
                f"The promotion weights add up to {sum(weights):g}.",
                remedy="Choose the four promotion_weight_* so that they make 1.",
            )


class Score(NamedTuple):
    """A relevance from 0 to 1 and the time at which it was that."""

    value: float
    at: datetime


def hours_between(earlier: datetime | None, later: datetime) -> float:
    """Hours from `earlier` to `later`; 0 where `earlier` is missing or in the future; naive times are UTC."""
    if earlier is None:
        return 0.0
    return max(0.0, (_aware(later) - _aware(earlier)).total_seconds() / 3600)


def _aware(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def faded(score: Score, now: datetime, rules: Lifecycle) -> Score:
    """The score as it is at `now`: value × exp(-rate × hours since its time), kept within 0 and 1.

    Store the result whole or not at all: its value belongs to its time.
    """
    if not rules.enabled:
        return score
    hours = hours_between(score.at, now)
    value = score.value * exp(-rules.decay_rate * hours)
    later = now if hours else score.at
    return Score(min(1.0, max(0.0, value)), later)


def accessed(score: Score, now: datetime, rules: Lifecycle) -> Score:
    """The score after an item was injected or read at `now`: faded until then, raised, at most 1."""
    if not rules.enabled:
        return score
    current = faded(score, now, rules)
    return Score(min(1.0, current.value + rules.access_boost), current.at)


def retires(value: float, rules: Lifecycle, *, protected: bool = False) -> bool:
    """Whether an item with this faded score is to be retired; a protected one never is."""
    return not protected and value < rules.decay_threshold


def hours_left(score: Score, now: datetime, rules: Lifecycle) -> float | None:
    """Hours from `now` until the score falls to the threshold; None if it has, or where nothing fades."""
    value = faded(score, now, rules).value
    if not rules.enabled or value <= rules.decay_threshold or rules.decay_threshold <= 0:
        return None
    return log(value / rules.decay_threshold) / rules.decay_rate


class Promotion(NamedTuple):
    """The promotion score, whether the item is old enough, whether the score suffices."""

    score: float
    eligible: bool
    suffices: bool

    @property
    def promoted(self) -> bool:
        """Old enough and with a sufficient score."""
        return self.eligible and self.suffices


def promotion(
    *,
    age_hours: float,
    accesses: int,
    confidence: float,
    links: int,
    rules: Lifecycle,
    protected: bool = False,
) -> Promotion:
    """How much an item has earned a longer stay: the weighted shares of age, accesses, confidence, links.

    Each share is kept within 0 and 1. A protected item is never promoted: it does not need it.
    """
    score = rules.promotion_weight_age * _share(age_hours, rules.full_age_hours)
    score += rules.promotion_weight_access * _share(accesses, rules.full_accesses)
    score += rules.promotion_weight_confidence * _share(confidence, 1)
    score += rules.promotion_weight_connection * _share(links, rules.full_links)
    eligible = not protected and age_hours >= rules.short_term_min_age_hours
    return Promotion(score, eligible, score >= rules.promotion_threshold)


def _share(value: float, full: float) -> float:
    return min(1.0, max(0.0, value / full))


class Inclusion(msgspec.Struct, frozen=True):
    """Whether a lasting item qualifies for one recall.

    `decay_rate`: per hour of age. `usage_boost`: factor of ln(1 + hits). `threshold`: least score.
    """

    decay_rate: float = 0.005
    usage_boost: float = 0.1
    threshold: float = 0.6

    def __post_init__(self) -> None:
        check("decay_rate", self.decay_rate, 0.0001, 0.1)
        check("usage_boost", self.usage_boost, 0, 1)
        check("threshold", self.threshold, 0, 1)


class Included(NamedTuple):
    """The factors of an inclusion score, their product, and whether it reaches the threshold."""

    time_factor: float
    usage_factor: float
    score: float
    include: bool


def inclusion(similarity: float, age_hours: float, hits: int, rules: Inclusion | None = None) -> Included:
    """Similarity × exp(-rate × age in hours) × (1 + boost × ln(1 + hits)); negative ages and hits are 0."""
    rules = rules or Inclusion()
    time_factor = exp(-rules.decay_rate * max(0.0, age_hours))
    usage_factor = 1.0 + rules.usage_boost * log(1 + max(0, hits))
    score = similarity * time_factor * usage_factor
    return Included(time_factor, usage_factor, score, score >= rules.threshold)


class Recallable(NamedTuple):
    """A lasting item found by a search: likeness to the query, time of creation, times injected."""

    ref: str
    similarity: float
    created_at: datetime | None = None
    hits: int = 0


def included(
    items: Sequence[Recallable], now: datetime, rules: Inclusion | None = None
) -> tuple[tuple[str, float], ...]:
    """References and scores of the items that qualify, best first, equals in the given order.

    An item without a time counts as new.
    """
    scored = [
        (item.ref, inclusion(item.similarity, hours_between(item.created_at, now), item.hits, rules))
        for item in items
    ]
    kept = [(ref, result.score) for ref, result in scored if result.include]
    return tuple(sorted(kept, key=lambda pair: -pair[1]))
