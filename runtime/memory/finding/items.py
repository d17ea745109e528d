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
    """An item that was chosen, in the order of injection.

    `parts` add up to the score before the length penalty (part `length`: what that took away).
    """

    id: str
    score: float
    tokens: int
    parts: dict[str, float]


class Skipped(NamedTuple):
    """A well-scored item that did not go in. `reason`: `too_large` (for what was left of the budget),
    `superseded` (by the item `by`), or `repeated` (the same words by the same speaker are in already, as
    `by`)."""

    id: str
    score: float
    tokens: int
    reason: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The outcome of one recall: hits in order, what was skipped before the budget was full, tokens used
    (never over the budget)."""

    hits: tuple[Hit, ...]
    skipped: tuple[Skipped, ...]
    used: int
