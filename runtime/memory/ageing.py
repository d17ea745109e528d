"""What age and use make of a derived item: it stays, is retired, or has earned to stay for good. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

from runtime.memory.lifecycle import (
    Lifecycle,
    Score,
    accessed,
    faded,
    hours_between,
    hours_left,
    promotion,
    retires,
)

Action = Literal["stay", "fade", "promote"]


class Derived(NamedTuple):
    """A short-term item. `at`: when it was written or happened; `hits`: runs that used it; `score`: its last
    score with its time; `links`: other items about the same subject."""

    key: str
    at: datetime
    confidence: float = 1.0
    hits: int = 0
    score: Score | None = None
    links: int = 0


class Verdict(NamedTuple):
    """What is to become of an item. `score`: what it is worth now; `promotion`: what it has earned, which
    counts from `short_term_min_age_hours` on; `hours_left` until it fades, None where it has or never will.
    """

    key: str
    action: Action
    score: float
    promotion: float
    hours_left: float | None


def kept_score(since: datetime, value: float | None, at: datetime | None) -> Score:
    """The score that an item's next change goes out from: the one at its last access, 1 where none is kept,
    and 1 anew for what was written since."""
    if at is None or at < since:
        return Score(1.0, since)
    return Score(1.0 if value is None else value, at)


def refreshed(score: Score, now: datetime, *, decay_rate: float, access_boost: float) -> Score:
    """The score after an access at `now`."""
    rules = Lifecycle(enabled=True, decay_rate=decay_rate, access_boost=access_boost)
    return accessed(score, now, rules)


def verdict(item: Derived, now: datetime, rules: Lifecycle) -> Verdict:
    """Promotion comes before fading: what has earned to stay does not depend on how often one looks."""
    score = item.score or Score(1.0, item.at)
    earned = promotion(
        age_hours=hours_between(item.at, now),
        accesses=item.hits,
        confidence=item.confidence,
        links=item.links,
        rules=rules,
    )
    value = faded(score, now, rules).value
    action: Action = "stay"
    if rules.enabled and earned.promoted:
        action = "promote"
    elif rules.enabled and retires(value, rules):
        action = "fade"
    return Verdict(item.key, action, value, earned.score, hours_left(score, now, rules))


def verdicts(items: Iterable[Derived], now: datetime, rules: Lifecycle) -> tuple[Verdict, ...]:
    """What is to become of each item, in key order."""
    return tuple(verdict(item, now, rules) for item in sorted(items, key=lambda item: item.key))
