"""What memory reads beside facts: turns of a user's sessions, and how often facts were used."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from runtime.facts import Shelf
from runtime.messages import Message
from runtime.record import Access, TurnLine, UserTurns
from runtime.store.sqlite.base import SqliteBase
from runtime.store.values import instant

_messages = msgspec.json.Decoder(tuple[Message, ...])
_TURN = """SELECT t.id, s.uid, s.name, t.node_id, r.run_id, r.finished_at, t.tainted, t.messages
FROM session s JOIN turn t ON t.session = s.id JOIN run r ON r.id = t.run WHERE """
_OF_USER = "s.partition = ? AND s.user_id = ? AND s.flow_id = ?"


class SqliteTurns(SqliteBase):
    """The reads of `Record` that memory needs."""

    async def user_turns(self, session_uid: str, node_ids: Sequence[str], *, after: int = 0) -> UserTurns:
        read = self._look if after else self._study
        found = read(user_turns, session_uid, tuple(node_ids), after)
        return cast(UserTurns, found if after else await found)

    async def earlier_turns(
        self, session_uid: str, node_id: str, *, sessions: int, turns: int
    ) -> list[TurnLine]:
        return cast("list[TurnLine]", self._look(earlier_turns, session_uid, node_id, sessions, turns))

    async def accesses(self, shelf: Shelf) -> dict[str, Access]:
        return cast("dict[str, Access]", self._look(accesses, shelf))


def user_turns(
    connection: sqlite3.Connection, session_uid: str, node_ids: tuple[str, ...], after: int
) -> UserTurns:
    whose = _whose(connection, session_uid)
    if whose is None or not node_ids:
        return UserTurns((), 0, 0)
    nodes = f" AND t.node_id IN ({', '.join('?' * len(node_ids))})"
    sql = _TURN + _OF_USER + nodes
    found = connection.execute(sql + " AND t.id > ? ORDER BY t.id", (*whose, *node_ids, after)).fetchall()
    counting = f"SELECT count(*) FROM session s JOIN turn t ON t.session = s.id WHERE {_OF_USER}{nodes}"
    (count,) = connection.execute(counting, (*whose, *node_ids)).fetchone()
    (erasures,) = connection.execute(
        "SELECT count(*) FROM fact WHERE state = 'erased' AND (owner = ?1"
        " OR owner IN (SELECT uid FROM session WHERE user_id = ?1))",
        (whose[1],),
    ).fetchone()
    return UserTurns(tuple(map(_line, found)), count, erasures)


def earlier_turns(
    connection: sqlite3.Connection, session_uid: str, node_id: str, sessions: int, turns: int
) -> list[TurnLine]:
    whose = _whose(connection, session_uid)
    if whose is None or sessions <= 0 or turns <= 0:
        return []
    found = connection.execute(
        "SELECT s.id FROM session s JOIN turn t ON t.session = s.id"
        f" WHERE {_OF_USER} AND s.uid != ? AND t.node_id = ? GROUP BY s.id ORDER BY max(t.id) DESC LIMIT ?",
        (*whose, session_uid, node_id, sessions),
    ).fetchall()
    lines: list[TurnLine] = []
    for (session,) in reversed(found):
        rows = connection.execute(
            _TURN + "s.id = ? AND t.node_id = ? ORDER BY t.id DESC LIMIT ?", (session, node_id, turns)
        ).fetchall()
        lines += map(_line, reversed(rows))
    return lines


def accesses(connection: sqlite3.Connection, shelf: Shelf) -> dict[str, Access]:
    found = connection.execute(
        "SELECT key, hits, last_at, score FROM access"
        " WHERE partition = ? AND namespace = ? AND scope = ? AND owner = ? ORDER BY key",
        shelf,
    ).fetchall()
    return {key: Access(shelf, key, hits, instant(at), score) for key, hits, at, score in found}


def _whose(connection: sqlite3.Connection, session_uid: str) -> tuple[str, str, str] | None:
    """Partition, user and flow of a session; None where it is not there or nobody's."""
    row: Any = connection.execute(
        "SELECT partition, user_id, flow_id FROM session WHERE uid = ?", (session_uid,)
    ).fetchone()
    return None if row is None or row[1] is None else row


def _line(row: tuple[Any, ...]) -> TurnLine:
    return TurnLine._make((*row[:5], instant(row[5]), bool(row[6]), _messages.decode(row[7])))
