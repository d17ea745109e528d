"""What finding takes and gives: items, hits with the parts of their score, and the outcome of one recall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that may be recalled: a fact, or a turn of a conversation.

    `tokens` is what it costs in the context, by the caller's counter (at least 1). `session` joins the turns
    of one conversation; neighbours are turns that were added one after the other. `by_user` says that the
    user said it. `subject` and `attribute`, where both are given, say what the item states; a later one of
    the same pair supersedes it. It is current from `at` (with a time zone) until `ended` (None: still).
    """

    id: str
    text: str
    at: datetime
    tokens: int
    speaker: str = ""
    session: str = ""
    by_user: bool = False
    subject: str = ""
    attribute: str = ""
    ended: datetime | None = None


class Hit(NamedTuple):
    """An item that was chosen, in the order of injection."""

    id: str
    score: float
    tokens: int


class Skipped(NamedTuple):
    """A well-scored item that did not go in. `reason`: `too_large` (for what was left of the budget),
    `superseded` (by the item `by`), or `repeated` (the same words by the same speaker are in already, as
    `by`)."""

    id: str
    score: float
    tokens: int
    reason: str
    by: str | None = None


class Parts(NamedTuple):
    """What each named ingredient adds to the scores of the hits: a row of `values` for each name."""

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


_NOTHING = Parts((), ())


@dataclass(frozen=True, slots=True)
class Recalled:
    """The outcome of one recall: hits in order, tokens used (never over the budget) and, if that was asked
    for, what was skipped before the budget was full and what the scores are made of."""

    hits: tuple[Hit, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    used: int = 0
    parts: Parts = _NOTHING

    def explained(self) -> list[dict[str, float]]:
        """For each hit the parts that add up to its score; part `length` is what the penalty for long items
        took away."""
        return [
            dict(zip(self.parts.names, each, strict=True)) for each in zip(*self.parts.values, strict=True)
        ]
