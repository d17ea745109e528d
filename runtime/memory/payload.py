"""What of a context may give way, as pieces with their sizes, and what was dropped of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

import msgspec

Stage = Literal["short_term", "long_term", "decayed"]


class Piece(NamedTuple):
    """Something that may be sent and what it costs.

    `score` is its likeness to the query, `inclusion` a score that stands above that where it is given.
    `stage` matters for passages; none counts as long-term. Refs are unique within a section.
    """

    ref: str
    tokens: int
    score: float = 0.0
    inclusion: float | None = None
    stage: Stage | None = None
    superseded_by: str | None = None

    @property
    def relevance(self) -> float:
        """The inclusion score, or the likeness."""
        return self.score if self.inclusion is None else self.inclusion


Pieces = tuple[Piece, ...]


class Payload(msgspec.Struct, frozen=True):
    """The supporting part of a context, each section in the order it would be sent.

    `prior`: turns of earlier sessions. `history`: turns of this one, oldest first. `entities` (about a named
    subject) and `facts` are one section, the known facts. `tools`: hints at fitting tools. `results`: what
    tools gave in the turn that is being answered, oldest first. `state`: the plan.
    """

    prior: Pieces = ()
    history: Pieces = ()
    passages: Pieces = ()
    insights: Pieces = ()
    summaries: Pieces = ()
    entities: Pieces = ()
    facts: Pieces = ()
    tools: Pieces = ()
    results: Pieces = ()
    state: Pieces = ()

    @property
    def tokens(self) -> int:
        """Tokens of all contents, without formatting."""
        return sum(piece.tokens for _, piece in self.pieces())

    def pieces(self) -> list[tuple[str, Piece]]:
        """Every piece with the name of its section."""
        return [(name, piece) for name in self.__struct_fields__ for piece in getattr(self, name)]

    def without(self, some: Collection[tuple[str, str]]) -> Payload:
        """Without these pieces, each named by its section and reference."""
        return Payload(
            **{
                name: tuple(piece for piece in getattr(self, name) if (name, piece.ref) not in some)
                for name in self.__struct_fields__
            }
        )


class Dropped(NamedTuple):
    """A piece that is not sent, the section it was in, why, and in which stage (0: before the first)."""

    section: str
    ref: str
    tokens: int
    reason: str
    stage: int = 0


def gone(before: Payload, after: Payload, reason: str, stage: int = 0) -> list[Dropped]:
    """What `before` has and `after` has not, each with `reason`."""
    left = {(section, piece.ref) for section, piece in after.pieces()}
    return [
        Dropped(section, piece.ref, piece.tokens, reason, stage)
        for section, piece in before.pieces()
        if (section, piece.ref) not in left
    ]
