"""What is shown of memory as pieces that may give way again where the window is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runtime.facts import Fact
from runtime.memory.candidates import Candidate
from runtime.memory.payload import Piece, Pieces
from runtime.memory_service.shared import MESSAGE
from runtime.memory_service.showing import ref_of


class Known(NamedTuple):
    """Facts as pieces: about a named subject, about none, and derived."""

    entities: Pieces
    facts: Pieces
    insights: Pieces


def known(facts: Sequence[Fact], tokens: Mapping[str, int]) -> Known:
    """Those of the facts that have `tokens`, by their references; in the given order."""
    shown = [fact for fact in facts if ref_of(fact) in tokens]
    told = [fact for fact in shown if fact.origin != "derived"]
    return Known(
        _pieces([fact for fact in told if fact.subject is not None], tokens),
        _pieces([fact for fact in told if fact.subject is None], tokens),
        _pieces([fact for fact in shown if fact.origin == "derived"], tokens),
    )


def surest(facts: Sequence[Fact]) -> list[Fact]:
    """Surer facts before less sure ones, newer before older: an order that no question changes."""
    return sorted(facts, key=lambda fact: (-fact.confidence, -fact.recorded_at.timestamp(), fact.key))


def passages(found: Sequence[Candidate], tokens: Mapping[str, int]) -> Pieces:
    """Those of the passages that have `tokens`. What was said in this session is short-term; how relevant one
    is says the share of the question's words that it has."""
    return tuple(
        Piece(
            each.ref,
            tokens[each.ref],
            1.0 if each.likeness is None else each.likeness,
            stage="short_term" if each.ref.startswith(MESSAGE) else "long_term",
        )
        for each in found
        if each.ref in tokens
    )


def _pieces(facts: Sequence[Fact], tokens: Mapping[str, int]) -> Pieces:
    return tuple(Piece(ref_of(fact), tokens[ref_of(fact)]) for fact in facts)
