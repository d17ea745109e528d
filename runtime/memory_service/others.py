"""A user's other sessions, as one run of one of them sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from runtime.facts import Shelf
from runtime.memory.candidates import Candidate
from runtime.memory.estimate import Estimator
from runtime.memory_service.exchanges import exchange_of, hidden_by
from runtime.memory_service.indexes import Indexes, Whose
from runtime.memory_service.shared import BUDGET, SHARE
from runtime.messages import Message
from runtime.record import Record, TurnLine

if TYPE_CHECKING:
    from runtime.memory.priming import Priming
    from runtime.memory_service.ageing import Freshness

CountMessages = Callable[[Sequence[Message]], int]
"""Tokens of some messages."""


class Brought(NamedTuple):
    """Turns of earlier sessions that come along, oldest first, and those that do not, with the reason."""

    lines: tuple[TurnLine, ...] = ()
    left_out: tuple[tuple[TurnLine, str], ...] = ()


class OtherSessions(msgspec.Struct, frozen=True):
    """What was said in the same user's other sessions of the same flow to the agents of one Memory.

    `with_own`: this session counts among them, as it does for one that is yet to begin.
    """

    record: Record
    indexes: Indexes
    whose: Whose
    session_uid: str
    node_id: str
    with_own: bool = False

    async def episodes(
        self,
        shelf: Shelf,
        query: str,
        most: int,
        now: datetime,
        count: Estimator,
        fresh: Freshness | None = None,
    ) -> list[Candidate]:
        """The exchanges that fit the query best, at most `most`; none that tells what was forgotten, and only
        what `fresh` keeps."""
        if most <= 0 or not query.strip():
            return []
        index = self.indexes.turns(self.whose)
        left_out = "" if self.with_own else self.session_uid
        found = await index.recall(self.record, self.session_uid, query, now, count, left_out)
        if not found:
            return []
        hidden = hidden_by(await self.record.fact_versions(shelf))
        kept = [each for each in found if not each.exchange.tells(hidden)]
        if fresh is not None:
            kept = [each for each in kept if fresh.keeps(each.exchange, each.likeness)]
        return [each.exchange.candidate(each.score, each.likeness) for each in kept[:most]]

    async def tainted_sessions(self) -> frozenset[str]:
        """The uids of sessions in which something came of a tool's output."""
        turns = await self.record.user_turns(self.session_uid, [self.node_id])
        return frozenset(line.session_uid for line in turns.lines if line.tainted)

    async def prior(
        self, shelf: Shelf, priming: Priming, count: CountMessages, tokens: int, most: int
    ) -> Brought:
        """The last turns of the last earlier sessions with this agent, oldest first, by `priming`, at most
        `most` of each and within `tokens`; none that tells what was forgotten."""
        lines = await self.record.earlier_turns(
            self.session_uid,
            self.node_id,
            sessions=priming.previous_sessions,
            turns=priming.previous_session_turns,
        )
        if not lines:
            return Brought()
        hidden = hidden_by(await self.record.fact_versions(shelf))
        kept: list[TurnLine] = []
        out: list[tuple[TurnLine, str]] = []
        left, of_session = tokens, Counter[str]()
        for line in reversed(lines):
            of_session[line.session_uid] += 1
            told = exchange_of(line).tells(hidden)
            if of_session[line.session_uid] > most:
                out += [] if told else [(line, SHARE)]
                continue
            left = left - count(line.messages) if left >= 0 else left
            if not told:
                if left < 0:
                    out.append((line, BUDGET))
                else:
                    kept.append(line)
        return Brought(tuple(kept[::-1]), tuple(out[::-1]))
