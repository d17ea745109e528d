"""The hard bound: what is sent never exceeds the window without its output buffer, by our count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from runtime.errors import ContextTooLarge
from runtime.memory.cascade import Gave, Pruned, Sizing, only_needed, prune
from runtime.memory.cascade_stages import STAGES, Cascade, overhead_of
from runtime.memory.payload import Payload, gone

BOUND = "hard bound"
"""Why something is not sent after the last stage."""
BOUND_STAGE = len(STAGES) + 1
"""The stage that this counts as."""
_ORDER = ("passages", "history", "results", "state")
"""What the last stage leaves goes in this order."""


class Part(NamedTuple):
    """Something that must be sent whole, and its tokens."""

    name: str
    tokens: int


def fit(payload: Payload, required: Sequence[Part], limit: int, rules: Cascade | None = None) -> Pruned:
    """Prune to what `required` leaves of `limit`, and drop further until it fits for certain.

    Raises ContextTooLarge, naming sizes, where `required` alone exceeds `limit` (window - output buffer).
    """
    room = limit - sum(part.tokens for part in required)
    if room < 0:
        raise too_large(required, limit)
    return bounded(payload, room, rules)


def bounded(
    payload: Payload, limit: int, rules: Cascade | None = None, sizing: Sizing | None = None
) -> Pruned:
    """Prune, and drop further until all fits into `limit` tokens or nothing is left to drop.

    After the stages passages go, the least relevant first, then whole turns, the oldest first, then results
    of tools, the oldest first, and the plan. `sizing` counts what is sent; without it formatting costs what
    `rules` say, and nothing where nothing is left.
    """
    rules = rules or Cascade()
    pruned = prune(payload, limit, rules, sizing)
    if pruned.fits:
        return pruned
    size = sizing or (lambda left: left.tokens + overhead_of(left, rules) if left.pieces() else 0)
    before = pruned.payload
    left = only_needed(before, gone(before, Payload(), BOUND), limit, size, _ORDER)
    went, now = gone(before, left, BOUND, BOUND_STAGE), size(left)
    gave = (Gave(BOUND_STAGE, BOUND, len(went), pruned.tokens + pruned.overhead, now),) if went else ()
    overhead = now - left.tokens
    return replace(
        pruned,
        payload=left,
        overhead=overhead,
        available=limit - overhead,
        dropped=(*pruned.dropped, *went),
        gave=(*pruned.gave, *gave),
    )


def too_large(required: Sequence[Part], limit: int, total: int | None = None) -> ContextTooLarge:
    """The error of what must be sent whole and exceeds `limit`; it names the largest parts. `total`: tokens
    of all, with what stands around them."""
    total = sum(part.tokens for part in required) if total is None else total
    largest = [part for part in sorted(required, key=lambda part: -part.tokens) if part.tokens][:4]
    sizes = ", ".join(f"{part.name} {part.tokens:,}" for part in largest)
    first = largest[0].name if largest else "the prompt"
    return ContextTooLarge(
        f"What must be sent takes {total:,} tokens and {max(0, limit):,} are available: {sizes}.",
        remedy=f"Shorten {first}, ask for a shorter answer, or use a model with a larger window.",
    )
