"""A user's other sessions, as one run of one of them sees them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from runtime.facts import Shelf
from runtime.memory.candidates import Candidate
from runtime.memory.estimate import Estimator
from runtime.memory_service.exchanges import hidden_by
from runtime.memory_service.indexes import Indexes, Whose
from runtime.record import Record, TurnLine


class OtherSessions(msgspec.Struct, frozen=True):
    """What was said in the same user's other sessions of the same flow to the agents of one Memory."""

    record: Record
    indexes: Indexes
    whose: Whose
    session_uid: str
    node_id: str

    async def episodes(
        self, shelf: Shelf, query: str, most: int, now: datetime, count: Estimator
    ) -> list[Candidate]:
        """The exchanges that fit the query best, at most `most`; none that tells what was forgotten."""
        if most <= 0 or not query.strip():
            return []
        index = self.indexes.turns(self.whose)
        found = await index.recall(self.record, self.session_uid, query, now, count)
        if not found:
            return []
        hidden = hidden_by(await self.record.fact_versions(shelf))
        kept = [each for each in found if not each.exchange.tells(hidden)]
        return [each.exchange.candidate(each.score) for each in kept[:most]]

    async def last_turns(self, sessions: int, turns: int) -> list[TurnLine]:
        """The last turns of the last earlier sessions with this agent, oldest first."""
        return await self.record.earlier_turns(self.session_uid, self.node_id, sessions=sessions, turns=turns)
