"""What earlier knowledge a session begins with, by number of items and within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from runtime.memory.payload import Payload, Pieces
from runtime.memory.ranges import check

T = TypeVar("T")


class Priming(msgspec.Struct, frozen=True):
    """What earlier knowledge is brought in at the start of a session.

    `enabled`: whether anything is. `token_budget`: tokens for it. `top_entities`, `max_insights`,
    `max_summaries`, `max_known_facts`: most items of each kind. `previous_sessions`: how many earlier
    sessions' turns come along, first to be dropped; `previous_session_turns`: how many last turns of each.
    """

    enabled: bool = True
    token_budget: int = 4000
    top_entities: int = 20
    max_insights: int = 10
    max_summaries: int = 5
    max_known_facts: int = 20
    previous_sessions: int = 1
    previous_session_turns: int = 3

    def __post_init__(self) -> None:
        for field in ("token_budget", "top_entities", "max_insights", "max_summaries", "max_known_facts"):
            check(field, getattr(self, field), 0)
        check("previous_sessions", self.previous_sessions, 0)
        check("previous_session_turns", self.previous_session_turns, 0)


def prior_turns(sessions: Sequence[Sequence[T]], priming: Priming) -> tuple[T, ...]:
    """The last turns of the last earlier sessions, oldest first; `sessions` and their turns oldest first."""
    if not priming.enabled or not priming.previous_sessions or not priming.previous_session_turns:
        return ()
    last = sessions[-priming.previous_sessions :]
    return tuple(turn for session in last for turn in session[-priming.previous_session_turns :])


def primed(found: Payload, priming: Priming) -> Payload:
    """Of what was found, best first in each section, what a new session begins with.

    Facts come first, then entities, insights and summaries, at most as many as `priming` says and together
    at most its tokens; a piece that does not fit is passed over. Nothing else of `found` is kept.
    """
    if not priming.enabled:
        return Payload()
    room = priming.token_budget
    kept: list[Pieces] = []
    for pieces, most in (
        (found.facts, priming.max_known_facts),
        (found.entities, priming.top_entities),
        (found.insights, priming.max_insights),
        (found.summaries, priming.max_summaries),
    ):
        chosen: Pieces = ()
        for piece in pieces:
            if len(chosen) < most and piece.tokens <= room:
                chosen += (piece,)
                room -= piece.tokens
        kept.append(chosen)
    return Payload(facts=kept[0], entities=kept[1], insights=kept[2], summaries=kept[3])
