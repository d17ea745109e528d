"""What may be injected: pinned blocks, and facts and episodes as candidates; which of these are sound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

CandidateKind = Literal["fact", "episode"]


class Block(msgspec.Struct, frozen=True):
    """A pinned working block: always shown whole, lower `order` first."""

    name: str
    content: str
    order: int = 0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A fact or an episode that may be injected.

    `kind`: which of both. `text` is shown. `key` orders facts that all fit. `at` is when it was recorded or
    happened; naive times are UTC. `score` is an episode's own search score, `likeness` how much of the
    question it has, from 0 to 1, None where nobody said. `confidence` is 0 to 1. `source` says where it comes
    from, `origin` who. `session` is the session that an episode belongs to. It holds from
    `valid_from` until before `valid_to`. Lists of candidates come best first.
    """

    ref: str
    text: str
    kind: CandidateKind = "fact"
    key: str = ""
    at: datetime | None = None
    score: float | None = None
    likeness: float | None = None
    confidence: float = 1.0
    origin: str = "user"
    source: str = ""
    session: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


GATED_ORIGINS: frozenset[str] = frozenset({"model", "derived", "tainted"})
"""Only what a model wrote or derived needs a least confidence; what people said stands."""


def utc(at: datetime) -> datetime:
    """`at` with a zone; a naive time is UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def unsound(candidate: Candidate, now: datetime, min_confidence: float) -> str | None:
    """Why a candidate must not be shown at `now`: expired, not yet valid, confidence; None if it may be."""
    if candidate.valid_to is not None and utc(candidate.valid_to) <= utc(now):
        return "expired"
    if candidate.valid_from is not None and utc(candidate.valid_from) > utc(now):
        return "not yet valid"
    if candidate.origin in GATED_ORIGINS and not candidate.confidence >= min_confidence:
        return "confidence"
    return None


def of_other_sessions(
    episodes: Sequence[Candidate], session: str | None, limit: int | None
) -> tuple[Candidate, ...]:
    """The first `limit` episodes (None: all) that are not of `session`, whose turns are in the history."""
    others = [item for item in episodes if session is None or item.session != session]
    return tuple(others if limit is None else others[: max(0, limit)])
