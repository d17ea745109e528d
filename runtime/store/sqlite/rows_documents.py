"""Rows of everything that a session holds, for what is erased or moved."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.facts import Fact, Shelf
from runtime.store.rows import Document, FactRow, SessionRow
from runtime.store.sqlite.rows_runs import SEQ_BITS
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import micros_or_none, to_json

_RUNS = "run IN (SELECT id FROM run WHERE session = ?)"
_DOCUMENTS = (
    ("events", "event", "place", "body", False, "place >= ? AND place < ?"),
    ("calls", "call", "id", "result", False, f"{_RUNS} AND result IS NOT NULL"),
    ("turns", "turn", "id", "messages", False, "session = ?"),
    ("inputs", "run", "id", "input", True, "session = ?"),
    ("outputs", "run", "id", "outputs", True, "session = ?"),
    ("outputs", "run", "id", "error", False, "session = ? AND error IS NOT NULL"),
)
"""Kind, table, key, column, whether all of it is free, and which rows are a session's."""
_COLUMNS = {(table, column): key for _, table, key, column, _, _ in _DOCUMENTS}


class DocumentRows(Transaction):
    """Documents of sessions, and facts as a whole."""

    def sessions_of(self, user_id: str) -> list[SessionRow]:
        sql = "SELECT id, uid, partition, user_id, flow_id FROM session WHERE user_id = ? ORDER BY id"
        return [SessionRow(*row) for row in self.execute(sql, (user_id,)).fetchall()]

    def active_runs(self, session: int) -> list[str]:
        sql = "SELECT run_id FROM run WHERE session = ? AND finished_at IS NULL ORDER BY id"
        return [run_id for (run_id,) in self.execute(sql, (session,)).fetchall()]

    def documents(self, session: SessionRow, needles: Sequence[bytes]) -> list[Document]:
        if not needles:
            return []
        found: list[Document] = []
        start = session.id << SEQ_BITS
        for kind, table, key, column, free, which in _DOCUMENTS:
            holds = " OR ".join([f"instr({column}, ?)"] * len(needles))
            place = (start, (session.id + 1) << SEQ_BITS) if table == "event" else (session.id,)
            sql = f"SELECT {key}, {column} FROM {table} WHERE {which} AND ({holds}) ORDER BY {key}"
            rows = self.execute(sql, (*place, *needles)).fetchall()
            found += [Document(kind, (table, column, at), free, _bytes(body)) for at, body in rows]
        return found

    def put_document(self, session: SessionRow, document: Document, raw: bytes) -> None:
        table, column, at = document.place
        self.execute(f"UPDATE {table} SET {column} = ? WHERE {_COLUMNS[table, column]} = ?", (raw, at))
        self.known.calls.pop(at, None)

    def keys_on(self, shelf: Shelf) -> list[str]:
        sql = (
            "SELECT DISTINCT key FROM fact WHERE partition = ? AND namespace = ? AND scope = ?"
            " AND owner = ? ORDER BY key"
        )
        return [key for (key,) in self.execute(sql, shelf).fetchall()]

    def shelves_of(self, user_id: str | None, session_uids: Sequence[str]) -> list[Shelf]:
        sql = "SELECT DISTINCT partition, namespace, scope, owner FROM fact WHERE scope = ? AND owner = ?"
        wanted = [("session", uid) for uid in session_uids]
        wanted += [] if user_id is None else [("user", user_id)]
        return sorted({Shelf(*row) for each in wanted for row in self.execute(sql, each).fetchall()})

    def write_over(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        self.execute(
            "UPDATE fact SET state = ?, value = ?, subject = ?, attribute = ?, valid_to = ? WHERE id = ?",
            (
                fact.state,
                to_json(fact.value),
                fact.subject,
                fact.attribute,
                micros_or_none(fact.valid_to),
                row.id,
            ),
        )

    def move_fact(self, row: FactRow, shelf: Shelf, to: Shelf) -> None:
        self.execute(
            "UPDATE fact SET namespace = ?, scope = ?, owner = ? WHERE id = ?",
            (to.namespace, to.scope, to.owner, row.id),
        )


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body)
