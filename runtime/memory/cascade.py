"""What gives way when a context does not fit: filters, then the stages, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from runtime.memory.cascade_stages import STAGES, Cascade, long_term, overhead_of, short_term
from runtime.memory.payload import Dropped, Payload, Piece, Pieces, gone

Sizing = Callable[[Payload], int]
"""Tokens of a payload as it is sent, with all that stands around it."""

_FIRST_LEFT = ("prior", "history", "results")
"""Sections whose first pieces are the least important; of the others the last ones are."""
_ORDER = (
    "prior", "history", "passages", "tools", "insights", "summaries", "entities", "facts", "results", "state",
)  # fmt: skip
"""Within one stage pieces go in this order of their sections."""


class Gave(NamedTuple):
    """What one stage came to: how many pieces went, and the tokens of all that is sent before and after."""

    stage: int
    name: str
    pieces: int
    before: int
    after: int


class Pruned(msgspec.Struct, frozen=True):
    """What is left. `overhead` and `available` (limit - overhead) are those that the last check used.

    `stage` is the last one that ran, 0 where all fitted; `dropped` has everything that is not sent; `gave`
    has the stages in which something went.
    """

    payload: Payload
    overhead: int
    available: int
    stage: int
    dropped: tuple[Dropped, ...] = ()
    gave: tuple[Gave, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of what is left, without formatting."""
        return self.payload.tokens

    @property
    def fits(self) -> bool:
        """Whether what is left is within the limit; stage 9 alone does not warrant it."""
        return self.tokens <= self.available


def _filtered(payload: Payload, rules: Cascade) -> tuple[Payload, list[Dropped]]:
    """Without what is never sent: retired passages, superseded items, superfluous summaries."""
    live = msgspec.structs.replace(
        payload, passages=tuple(p for p in payload.passages if p.stage != "decayed")
    )
    valid = msgspec.structs.replace(
        live,
        passages=tuple(piece for piece in live.passages if not piece.superseded_by),
        insights=tuple(piece for piece in live.insights if not piece.superseded_by),
    )
    superfluous = 0 < rules.redundant_from <= len(valid.history)
    needed = msgspec.structs.replace(valid, summaries=()) if superfluous else valid
    relevant = msgspec.structs.replace(
        needed,
        passages=_relevant(needed.passages, rules),
        insights=_relevant(needed.insights, rules),
        summaries=_relevant(needed.summaries, rules),
    )
    dropped = gone(payload, live, "retired") + gone(live, valid, "superseded")
    dropped += gone(valid, needed, "the history is there") + gone(needed, relevant, "not relevant")
    return relevant, dropped


def _relevant(pieces: Pieces, rules: Cascade) -> Pieces:
    return tuple(p for p in pieces if rules.min_relevance <= 0 or p.relevance >= rules.min_relevance)


def prune(payload: Payload, limit: int, rules: Cascade | None = None, sizing: Sizing | None = None) -> Pruned:
    """Filter, then go through the stages until contents and formatting fit into `limit` tokens.

    `sizing` counts what is sent; without it formatting costs what `rules` say. Any stage puts short-term
    passages first. The last may leave more than `limit`; `bound.bounded` does not.
    """
    rules = rules or Cascade()
    current, dropped = _filtered(payload, rules)
    sizing = sizing or _by_rules(current, rules)
    gave: list[Gave] = []
    stage, size = 0, sizing(current)
    while size > limit and stage < len(STAGES):
        name, rule = STAGES[stage]
        stage += 1
        before, old = (
            msgspec.structs.replace(current, passages=short_term(current) + long_term(current)),
            size,
        )
        current = rule(before, rules)
        if rules.take == "needed":
            current = only_needed(before, gone(before, current, name), limit, sizing)
        went = gone(before, current, name, stage)
        old, size = size, sizing(current)
        dropped += went
        gave += [Gave(stage, name, len(went), old, size)] if went else []
    overhead = size - current.tokens
    return Pruned(current, overhead, limit - overhead, stage, tuple(dropped), tuple(gave))


def _by_rules(payload: Payload, rules: Cascade) -> Sizing:
    before = overhead_of(payload, rules)
    if rules.overhead == "fixed":
        return lambda current: current.tokens + before
    return lambda current: current.tokens + overhead_of(current, rules)


def only_needed(
    payload: Payload, going: Sequence[Dropped], limit: int, sizing: Sizing, sections: Sequence[str] = _ORDER
) -> Payload:
    """`payload` without so few of the pieces that may go that it fits, the least important first, section
    after section; without all of them where that is not enough."""
    wanted = {(each.section, each.ref) for each in going}
    order = [each for each in _least_first(payload, sections) if each in wanted]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        fits = sizing(payload.without(frozenset(order[:middle]))) <= limit
        low, high = (low, middle) if fits else (middle + 1, high)
    return payload.without(frozenset(order[:low]))


def _least_first(payload: Payload, sections: Sequence[str]) -> list[tuple[str, str]]:
    """Their pieces, each as its section and reference, the least important first."""
    found = []
    for section in sections:
        pieces: Sequence[Piece] = getattr(payload, section)
        if section == "passages":
            pieces = sorted(pieces, key=lambda piece: -piece.relevance)[::-1]
        elif section not in _FIRST_LEFT:
            pieces = pieces[::-1]
        found += [(section, piece.ref) for piece in pieces]
    return found
