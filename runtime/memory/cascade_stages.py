"""The nine stages in which a context gives way, how far each goes, and what formatting costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from runtime.memory.payload import Payload, Pieces


class Cascade(msgspec.Struct, frozen=True):
    """How far each stage goes, and what formatting costs.

    `take`: a stage takes `all` that it may, or only what is `needed`, the least important first. `overhead`:
    `recomputed` after every stage, or `fixed` as before the first one. `*_overhead`: tokens of
    formatting for a turn, a section that is not empty (history and prior are none), a passage, an insight or
    summary, and the separator. `min_relevance`: passages, insights and summaries below it are not sent at all
    (0: off). `redundant_from`: turns of history from which summaries are superfluous (0: never).
    `deep_turns`, `recent_turns`, `last_turns`: turns kept in stages 2, 5 and 9. `weak_long`, `weak`: scores
    below which stages 3 and 4 drop passages. `keep_*`: items kept in stages 6 to 8. `last_passages`:
    short-term passages kept in stage 9.
    """

    take: Literal["all", "needed"] = "all"
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


def short_term(payload: Payload) -> Pieces:
    """Passages of this session, or young ones."""
    return tuple(piece for piece in payload.passages if piece.stage == "short_term")


def long_term(payload: Payload) -> Pieces:
    """All other passages."""
    return tuple(piece for piece in payload.passages if piece.stage != "short_term")


def _last(turns: Pieces, number: int) -> Pieces:
    return turns[max(0, len(turns) - number) :]


def _best(pieces: Pieces, number: int) -> Pieces:
    return tuple(sorted(pieces, key=lambda piece: -piece.relevance)[:number])


def _no_weak(payload: Payload, short: float, long: float) -> Payload:
    kept_short = tuple(piece for piece in short_term(payload) if piece.relevance >= short)
    return msgspec.structs.replace(
        payload, passages=kept_short + tuple(piece for piece in long_term(payload) if piece.relevance >= long)
    )


def _best_passages(payload: Payload, rules: Cascade) -> Payload:
    best = _best(short_term(payload), rules.keep_short) + _best(long_term(payload), rules.keep_long)
    return msgspec.structs.replace(payload, passages=best)


def _few_derived(payload: Payload, rules: Cascade) -> Payload:
    insights, summaries = payload.insights[: rules.keep_insights], payload.summaries[: rules.keep_summaries]
    return msgspec.structs.replace(payload, insights=insights, summaries=summaries)


def _few_known(payload: Payload, rules: Cascade) -> Payload:
    entities, facts = payload.entities[: rules.keep_entities], payload.facts[: rules.keep_facts]
    return msgspec.structs.replace(payload, entities=entities, facts=facts)


def _least(payload: Payload, rules: Cascade) -> Payload:
    history = _last(payload.history, rules.last_turns)
    passages = short_term(payload)[: rules.last_passages]
    return Payload(history=history, passages=passages, results=payload.results, state=payload.state)


StageRule = tuple[str, Callable[[Payload, Cascade], Payload]]
"""The reason that is given, and what is left."""


STAGES: tuple[StageRule, ...] = (
    ("turns of earlier sessions", lambda payload, rules: msgspec.structs.replace(payload, prior=())),
    ("old turns", lambda p, rules: msgspec.structs.replace(p, history=_last(p.history, rules.deep_turns))),
    ("weak passages of other sessions", lambda p, rules: _no_weak(p, float("-inf"), rules.weak_long)),
    ("weak passages", lambda p, rules: _no_weak(p, rules.weak, rules.weak)),
    (
        "all but the latest turns",
        lambda p, rules: msgspec.structs.replace(p, history=_last(p.history, rules.recent_turns)),
    ),
    ("all but the best passages", _best_passages),
    ("all but the first insights and summaries", _few_derived),
    ("all but the first facts", _few_known),
    ("emergency", _least),
)
"""The stages in their order."""
