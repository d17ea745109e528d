"""What gives way, in which order, when a context does not fit: filters, and nine stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from runtime.memory.payload import Dropped, Payload, Pieces, gone


class Cascade(msgspec.Struct, frozen=True):
    """How far each stage goes, and what formatting costs.

    `overhead`: `recomputed` after every stage, or `fixed` as before the first one. `*_overhead`: tokens of
    formatting for a turn, a section that is not empty (history and prior are none), a passage, an insight or
    summary, and the separator. `min_relevance`: passages, insights and summaries below it are not sent at all
    (0: off). `redundant_from`: turns of history from which summaries are superfluous.
    `deep_turns`, `recent_turns`, `last_turns`: turns kept in stages 2, 5 and 9. `weak_long`, `weak`: scores
    below which stages 3 and 4 drop passages. `keep_*`: items kept in stages 6 to 8. `last_passages`:
    short-term passages kept in stage 9.
    """

    overhead: Literal["recomputed", "fixed"] = "recomputed"
    turn_overhead: int = 60
    section_overhead: int = 10
    passage_overhead: int = 15
    line_overhead: int = 3
    separator_overhead: int = 10
    min_relevance: float = 0.0
    redundant_from: int = 10
    deep_turns: int = 10
    weak_long: float = 0.3
    weak: float = 0.5
    recent_turns: int = 5
    keep_short: int = 3
    keep_long: int = 2
    keep_insights: int = 3
    keep_summaries: int = 3
    keep_entities: int = 5
    keep_facts: int = 5
    last_turns: int = 2
    last_passages: int = 2


class Pruned(msgspec.Struct, frozen=True):
    """What is left. `overhead` and `available` (limit - overhead) are those that the last check used.

    `stage` is the last one that ran, 0 where all fitted; `dropped` has everything that is not sent.
    """

    payload: Payload
    overhead: int
    available: int
    stage: int
    dropped: tuple[Dropped, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of what is left, without formatting."""
        return self.payload.tokens

    @property
    def fits(self) -> bool:
        """Whether what is left is within the limit; stage 9 alone does not warrant it."""
        return self.tokens <= self.available


def overhead_of(payload: Payload, rules: Cascade) -> int:
    """Tokens that formatting adds to the payload's contents."""
    turns = len(payload.prior) + len(payload.history)
    known = payload.entities + payload.facts
    sections = sum(bool(part) for part in (payload.passages, payload.insights, payload.summaries, known))
    lines = len(payload.insights) + len(payload.summaries)
    return (
        turns * rules.turn_overhead
        + sections * rules.section_overhead
        + len(payload.passages) * rules.passage_overhead
        + lines * rules.line_overhead
        + rules.separator_overhead
    )


def _short(payload: Payload) -> Pieces:
    return tuple(piece for piece in payload.passages if piece.stage == "short_term")


def _long(payload: Payload) -> Pieces:
    return tuple(piece for piece in payload.passages if piece.stage != "short_term")


def _last(turns: Pieces, number: int) -> Pieces:
    return turns[max(0, len(turns) - number) :]


def _best(pieces: Pieces, number: int) -> Pieces:
    return tuple(sorted(pieces, key=lambda piece: -piece.relevance)[:number])


def _no_weak(payload: Payload, short: float, long: float) -> Payload:
    kept_short = tuple(piece for piece in _short(payload) if piece.relevance >= short)
    return msgspec.structs.replace(
        payload, passages=kept_short + tuple(piece for piece in _long(payload) if piece.relevance >= long)
    )


def _best_passages(payload: Payload, rules: Cascade) -> Payload:
    best = _best(_short(payload), rules.keep_short) + _best(_long(payload), rules.keep_long)
    return msgspec.structs.replace(payload, passages=best)


def _few_derived(payload: Payload, rules: Cascade) -> Payload:
    insights, summaries = payload.insights[: rules.keep_insights], payload.summaries[: rules.keep_summaries]
    return msgspec.structs.replace(payload, insights=insights, summaries=summaries)


def _few_known(payload: Payload, rules: Cascade) -> Payload:
    entities, facts = payload.entities[: rules.keep_entities], payload.facts[: rules.keep_facts]
    return msgspec.structs.replace(payload, entities=entities, facts=facts)


def _least(payload: Payload, rules: Cascade) -> Payload:
    history = _last(payload.history, rules.last_turns)
    return Payload(history=history, passages=_short(payload)[: rules.last_passages])


StageRule = tuple[str, Callable[[Payload, Cascade], Payload]]

STAGES: tuple[StageRule, ...] = (
    ("prior sessions", lambda payload, rules: msgspec.structs.replace(payload, prior=())),
    ("deep history", lambda p, rules: msgspec.structs.replace(p, history=_last(p.history, rules.deep_turns))),
    ("weak long-term passage", lambda payload, rules: _no_weak(payload, float("-inf"), rules.weak_long)),
    ("weak passage", lambda payload, rules: _no_weak(payload, rules.weak, rules.weak)),
    (
        "older history",
        lambda p, rules: msgspec.structs.replace(p, history=_last(p.history, rules.recent_turns)),
    ),
    ("beyond the best passages", _best_passages),
    ("beyond the first insights and summaries", _few_derived),
    ("beyond the first facts", _few_known),
    ("emergency", _least),
)
"""The stages in their order: the reason that is given, and what it does."""


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
    needed = (
        msgspec.structs.replace(valid, summaries=()) if len(valid.history) >= rules.redundant_from else valid
    )
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


def prune(payload: Payload, limit: int, rules: Cascade | None = None) -> Pruned:
    """Filter, then go through the stages until contents and formatting fit into `limit` tokens.

    Any stage puts short-term passages first. The last may leave more than `limit`; `bound.fit` does not.
    """
    rules = rules or Cascade()
    current, dropped = _filtered(payload, rules)
    overhead = overhead_of(current, rules)
    stage = 0
    while current.tokens > limit - overhead and stage < len(STAGES):
        reason, rule = STAGES[stage]
        before = msgspec.structs.replace(current, passages=_short(current) + _long(current))
        current = rule(before, rules)
        dropped += gone(before, current, reason)
        stage += 1
        if rules.overhead == "recomputed":
            overhead = overhead_of(current, rules)
    return Pruned(current, overhead, limit - overhead, stage, tuple(dropped))
