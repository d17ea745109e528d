"""What memory reads beside facts, in memory: turns of a user's sessions, and how often facts were used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from runtime.facts import Shelf
from runtime.record import Access, TurnLine, UserTurns
from runtime.store.memory.state import Session, State


class TurnReads:
    """The reads of `Record` that memory needs."""

    _state: State

    async def user_turns(self, session_uid: str, node_ids: Sequence[str], *, after: int = 0) -> UserTurns:
        session = self._state.by_uid.get(session_uid)
        if session is None or session.key.user_id is None or not node_ids:
            return UserTurns((), 0, 0)
        found = [line for other in self._sessions(session) for node in node_ids for line in _of(other, node)]
        lines = sorted(line for line in found if line.id > after)
        return UserTurns(tuple(lines), len(found), self._erasures(session.key.user_id))

    async def earlier_turns(
        self, session_uid: str, node_id: str, *, sessions: int, turns: int
    ) -> list[TurnLine]:
        session = self._state.by_uid.get(session_uid)
        if session is None or session.key.user_id is None or sessions <= 0 or turns <= 0:
            return []
        found = [list(_of(other, node_id)) for other in self._sessions(session) if other is not session]
        last = sorted((lines for lines in found if lines), key=lambda lines: lines[-1].id)[-sessions:]
        return [line for lines in last for line in lines[-turns:]]

    async def accesses(self, shelf: Shelf) -> dict[str, Access]:
        found = sorted(self._state.accesses.items())
        return {key: access for (where, key), access in found if where == shelf}

    def _sessions(self, session: Session) -> list[Session]:
        """Every session of the same partition, user and flow."""
        mine = msgspec.structs.replace(session.key, name="")
        return [
            other for other in self._state.sessions if msgspec.structs.replace(other.key, name="") == mine
        ]

    def _erasures(self, user_id: str) -> int:
        owners = {session.uid for session in self._state.sessions if session.key.user_id == user_id}
        owners.add(user_id)
        return sum(
            fact.state == "erased"
            for shelf, keys in self._state.facts.items()
            if shelf.owner in owners
            for versions in keys.values()
            for fact in versions
        )


def _of(session: Session, node_id: str) -> Iterator[TurnLine]:
    """A node's turns in a session, oldest first."""
    marks, turns = session.turn_marks.get(node_id, ()), session.turns.get(node_id, ())
    for mark, messages in zip(marks, turns, strict=True):
        yield TurnLine(
            mark.id, session.uid, session.key.name, node_id, mark.run_id, mark.at, mark.tainted, messages
        )
