"""Rows of sessions, runs, turns and events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from runtime.events import Entry, Event, encode
from runtime.record import RunEnd, RunStart, RunTotals, SessionKey
from runtime.store.rows import RunRow, SessionRow
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import instant, micros, to_json
from runtime.usage import Usage

_RUN = """SELECT r.id, r.run_id, s.id, s.uid, s.partition, s.user_id, s.flow_id, r.state, r.owner,
r.queued_at, coalesce(c.uid, s.uid) FROM run r JOIN session s ON s.id = r.session
LEFT JOIN session c ON c.id = r.charged WHERE r.run_id = ?"""
SEQ_BITS = 32
"""An event's place is its session's id, shifted by so many bits, and its seq."""
TOTALS = """SELECT total(input), total(cached), total(cache_write), total(output), total(reasoning),
coalesce(sum(cost), 0), count(*) FILTER (WHERE kind = 'settle' AND cost IS NULL)
FROM ledger WHERE run_id = ? AND kind IN ('settle', 'correct')"""


def totals_of(row: Sequence[float]) -> RunTotals:
    return RunTotals(Usage(*(int(value) for value in row[:5])), int(row[5]), int(row[6]))


class RunRows(Transaction):
    """Sessions, runs, turns, events."""

    def session(self, key: SessionKey) -> SessionRow | None:
        row = self.one(
            "SELECT id, uid, partition, user_id, flow_id FROM session"
            " WHERE partition = ? AND flow_id = ? AND name = ? AND user_id IS ?",
            key.partition,
            key.flow_id,
            key.name,
            key.user_id,
        )
        return SessionRow(*row) if row else None

    def session_by_uid(self, uid: str) -> SessionRow | None:
        row = self.one("SELECT id, uid, partition, user_id, flow_id FROM session WHERE uid = ?", uid)
        return SessionRow(*row) if row else None

    def add_session(self, key: SessionKey, uid: str, flow_name: str, at: datetime) -> SessionRow:
        row_id = self.insert(
            "INSERT INTO session (uid, partition, user_id, flow_id, name, flow_name, opened_at, last_at,"
            " next_seq, first_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 1)",
            (uid, key.partition, key.user_id, key.flow_id, key.name, flow_name, micros(at), micros(at)),
        )
        return SessionRow(row_id, uid, key.partition, key.user_id, key.flow_id)

    def run(self, run_id: str) -> RunRow | None:
        known = self.known.runs.get(run_id)
        if known is None and (row := self.one(_RUN, run_id)) is not None:
            known = self.known.runs[run_id] = RunRow._make((*row[:9], instant(row[9]), row[10]))
        return known

    def runs_of_owner(self, owner: str) -> list[RunRow]:
        """The runs that this owner has not ended."""
        found = self.execute(
            "SELECT run_id FROM run WHERE owner = ? AND finished_at IS NULL ORDER BY id", (owner,)
        ).fetchall()
        return [run for (run_id,) in found if (run := self.run(run_id)) is not None]

    def add_run(self, start: RunStart, session: SessionRow) -> RunRow:
        charged = session if start.charged is None else self.session_by_uid(start.charged) or session
        row_id = self.insert(
            "INSERT INTO run (run_id, session, owner, state, kind, flow_name, flow_hash, model, input,"
            " outputs, queued_at, charged) VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, '{}', ?, ?)",
            (
                start.run_id,
                session.id,
                self._owner,
                start.kind,
                start.flow_name,
                start.flow_hash,
                start.model,
                to_json(start.input),
                micros(start.at),
                charged.id,
            ),
        )
        self.execute("INSERT OR IGNORE INTO flow VALUES (?, ?)", (start.flow_hash, start.flow))
        if start.flow_path is not None:
            self.execute("INSERT OR IGNORE INTO flow_path VALUES (?, ?)", (session.flow_id, start.flow_path))
        self.execute("UPDATE session SET flow_name = ? WHERE id = ?", (start.flow_name, session.id))
        return RunRow(
            row_id,
            start.run_id,
            session.id,
            session.uid,
            session.partition,
            session.user_id,
            session.flow_id,
            "running",
            self._owner,
            start.at,
            charged.uid,
        )

    def end_run(self, run: RunRow, end: RunEnd) -> None:
        self.execute(
            "UPDATE run SET state = ?, outputs = ?, error = ?, finished_at = ? WHERE id = ?",
            (
                end.state,
                to_json(end.outputs),
                None if end.error is None else to_json(end.error),
                micros(end.at),
                run.id,
            ),
        )
        self.known.runs.pop(run.run_id, None)
        if end.state != "completed":
            return
        self.connection.executemany(
            "INSERT INTO turn (session, run, node_id, size, messages, tainted) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    run.session,
                    run.id,
                    turn.node_id,
                    len(turn.messages),
                    msgspec.json.encode(turn.messages),
                    turn.tainted,
                )
                for turn in end.turns
            ],
        )

    def run_totals(self, run_id: str) -> RunTotals:
        return totals_of(self.one(TOTALS, run_id))

    def add_events(
        self, session: int, uid: str, run: int | None, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        if not events:
            return ()
        first = self.known.next_seq.get(session)
        if first is None:
            (first,) = self.one("SELECT next_seq FROM session WHERE id = ?", session)
        following = self.known.next_seq[session] = first + len(events)
        self.execute(
            "UPDATE session SET next_seq = ?, last_at = max(last_at, ?) WHERE id = ?",
            (following, micros(events[-1].at), session),
        )
        entries = tuple([Entry(uid, seq, event, encode(event)) for seq, event in enumerate(events, first)])
        start = session << SEQ_BITS
        self.connection.executemany(
            "INSERT INTO event VALUES (?, ?, ?)", [(start | seq, run, body) for _, seq, _, body in entries]
        )
        self.touched.add(uid)
        return entries
