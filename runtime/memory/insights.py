"""Care of derived insights: which repeat a newer one, and which short-term ones have earned to stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from runtime.memory.compaction_rules import Compaction
from runtime.memory.policies import Vector, cosine


class Insight(NamedTuple):
    """A derived statement. `at`: when it was written; `vector`: its embedding, where there is one."""

    ref: str
    text: str
    at: datetime | None = None
    vector: Vector | None = None
    hits: int = 0
    short_term: bool = True


class Duplicate(NamedTuple):
    """`ref` says what the newer `superseded_by` says; `likeness` is from 0 to 1."""

    ref: str
    superseded_by: str
    likeness: float


Likeness = Callable[[Insight, Insight], float]


def likeness(a: Insight, b: Insight) -> float:
    """Cosine of the vectors where both have one, else the share of common words (Dice).

    Without vectors, texts with different numbers are not alike: one figure changes what is said.
    """
    if a.vector and b.vector and len(a.vector) == len(b.vector):
        value = cosine(a.vector, b.vector)
        return value if value == value else 0.0
    words_a, words_b = _words(a.text), _words(b.text)
    if not words_a or not words_b or _numbers(words_a) != _numbers(words_b):
        return 0.0
    return 2 * len(words_a & words_b) / (len(words_a) + len(words_b))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(sign.isdigit() for sign in word))


def duplicates(
    insights: Sequence[Insight], rules: Compaction, alike: Likeness = likeness
) -> tuple[Duplicate, ...]:
    """Older insights that are at least `insight_similarity_threshold` like a newer one, which stays.

    At most `max_insights_to_check` are looked at, the newest; one without a time is older than all others.
    """
    if not rules.insight_dedup_enabled:
        return ()
    newest_first = sorted(insights, key=_age, reverse=True)[: rules.max_insights_to_check]
    kept: list[Insight] = []
    found: list[Duplicate] = []
    for insight in newest_first:
        best = max(((alike(newer, insight), newer.ref) for newer in kept), default=None, key=lambda p: p[0])
        if best is not None and best[0] >= rules.insight_similarity_threshold:
            found.append(Duplicate(insight.ref, best[1], best[0]))
        else:
            kept.append(insight)
    return tuple(found)


def _age(insight: Insight) -> datetime:
    if insight.at is None:
        return datetime.min.replace(tzinfo=UTC)
    return insight.at if insight.at.tzinfo else insight.at.replace(tzinfo=UTC)


def promotions(insights: Sequence[Insight], rules: Compaction) -> tuple[str, ...]:
    """Short-term insights that were used `promote_hits` times or more and so stay."""
    return tuple(item.ref for item in insights if item.short_term and item.hits >= rules.promote_hits)
