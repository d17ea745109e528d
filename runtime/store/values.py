"""Plain conversions that both stores share: instants, JSON values and their equality."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from runtime.ledger import ModelPast, start_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode


def micros(at: datetime) -> int:
    """Microseconds since 1970 of a time; a naive one is read as UTC."""
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return (at - EPOCH) // _TICK


def instant(value: int) -> datetime:
    """The time of so many microseconds since 1970, in UTC."""
    return EPOCH + timedelta(microseconds=value)


def micros_or_none(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def instant_or_none(value: int | None) -> datetime | None:
    return None if value is None else instant(value)


def to_json(value: Any) -> bytes:
    """A JSON value as stored; keys keep the order they came in."""
    return _encode(value)


def from_json(body: bytes) -> Any:
    return msgspec.json.decode(body)


def canonical(value: Any) -> bytes:
    """One spelling per JSON value, typed: 1, 1.0 and true differ, the order of keys does not matter."""
    return _canonical(value)


def past_of(recent: Sequence[tuple[int, int | None]]) -> ModelPast:
    """What the last settled calls of a model, given as tokens and cost, showed."""
    if not recent:
        return ModelPast()
    costs = [cost for _, cost in recent if cost is not None]
    tokens = max([tokens for tokens, _ in recent])
    return ModelPast(len(recent), tokens, max(costs) if costs else None)


class PeriodStarts(NamedTuple):
    """The starts, as in a counter's key, of the periods that a time lies in."""

    daily: str
    weekly: str
    monthly: str


def period_starts(at: datetime) -> PeriodStarts:
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return _period_starts(at.date())


@lru_cache(maxsize=64)
def _period_starts(day: date) -> PeriodStarts:
    return PeriodStarts(start_text("daily", day), start_text("weekly", day), start_text("monthly", day))
