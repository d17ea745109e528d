"""The hard bound: what is sent never exceeds the window without its output buffer, by our count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from runtime.errors import ContextTooLarge
from runtime.memory.cascade import Cascade, Pruned, overhead_of, prune
from runtime.memory.payload import Payload, gone


class Part(NamedTuple):
    """Something that must be sent whole, and its tokens."""

    name: str
    tokens: int


def fit(payload: Payload, required: Sequence[Part], limit: int, rules: Cascade | None = None) -> Pruned:
    """Prune to what `required` leaves of `limit`, and drop further until it fits for certain.

    After the stages passages go, the least relevant first, then whole turns, the oldest first. Raises
    ContextTooLarge, naming sizes, where `required` alone exceeds `limit` (window - output buffer).
    """
    rules = rules or Cascade()
    room = limit - sum(part.tokens for part in required)
    if room < 0:
        raise _too_large(required, limit)
    pruned = prune(payload, room, rules)
    current, dropped, overhead = pruned.payload, list(pruned.dropped), pruned.overhead
    while current.pieces() and current.tokens + overhead > room:
        before = current
        current = _without_one(current)
        dropped += gone(before, current, "hard bound")
        overhead = overhead_of(current, rules)
    if not current.pieces():
        overhead = 0
    return Pruned(current, overhead, room - overhead, pruned.stage, tuple(dropped))


def _without_one(payload: Payload) -> Payload:
    """Without the least important piece of what the last stage leaves."""
    if payload.passages:
        weakest = min(payload.passages, key=lambda piece: piece.relevance)
        return replace(payload, passages=tuple(p for p in payload.passages if p.ref != weakest.ref))
    return replace(payload, history=payload.history[1:])


def _too_large(required: Sequence[Part], limit: int) -> ContextTooLarge:
    total = sum(part.tokens for part in required)
    largest = sorted(required, key=lambda part: -part.tokens)
    sizes = ", ".join(f"{part.name} {part.tokens}" for part in largest if part.tokens)
    return ContextTooLarge(
        f"What must be sent takes {total} tokens and {max(0, limit)} are available: {sizes}.",
        remedy=f"Shorten {largest[0].name}, ask for a shorter answer, or use a model with a larger window.",
    )
