"""Rows of calls and of the calls that wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from runtime.ledger import EVERYONE, CounterKey, Estimate
from runtime.record import CallIntent
from runtime.store.rows import CallRow, RunRow
from runtime.store.sqlite.transaction import Transaction
from runtime.store.terms import Terms
from runtime.store.values import from_json, instant, micros, period_starts, to_json

_CALL = """SELECT c.id, c.run, c.key, c.attempt, c.state, c.kind, c.node_id, c.step, c.purpose, c.model,
c.provider, c.tokens, c.cost, c.counters, c.pots, c.holds, c.reserved_at, c.result, c.terms FROM call c """
_ADD = """INSERT INTO call (run, key, attempt, state, kind, effect, node_id, step, purpose, model, provider,
tokens, cost, counters, pots, holds, reserved_at, terms)
VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_FLYING = """JOIN run r ON r.id = c.run JOIN session s ON s.id = r.session
WHERE r.finished_at IS NULL AND c.holds IS NOT NULL AND s.partition = ? """
_WHOSE = {
    "run": "AND r.run_id = ?",
    "session": "AND r.charged = (SELECT id FROM session WHERE uid = ?)",
    "everyone": "AND ? = '*'",
    "user": "AND coalesce(s.user_id, '') = ?",
}
_holds = msgspec.json.Decoder(dict[int, int]).decode
_terms = msgspec.json.Decoder(Terms).decode


def _call(row: tuple[Any, ...]) -> CallRow:
    counters = tuple(map(int, row[13].split(","))) if row[13] else ()
    holds = {} if row[15] is None else _holds(row[15])
    result = None if row[17] is None else from_json(row[17])
    estimate = Estimate(row[11], row[12])
    terms = Terms(row[11]) if row[18] is None else _terms(row[18])  # null: opened by an older version
    return CallRow._make(
        (*row[:11], estimate, counters, tuple(from_json(row[14])), holds, instant(row[16]), result, terms)
    )


def in_flight(connection: sqlite3.Connection, key: CounterKey) -> list[CallRow]:
    """The calls that are open or hold something and will count in a counter of this key."""
    which = key.period if key.period in _WHOSE else "everyone" if key.owner == EVERYONE else "user"
    sql = _CALL + _FLYING + _WHOSE[which] + " ORDER BY c.id"
    calls = map(_call, connection.execute(sql, (key.partition, key.owner)).fetchall())
    return [call for call in calls if key.pot in call.pots and _begins(key, call) == key.start]


def _begins(key: CounterKey, call: CallRow) -> str:
    """The start, as in a counter's key, of the period that a call counts in."""
    return str(getattr(period_starts(call.reserved_at), key.period, ""))


class CallRows(Transaction):
    """Calls, tickets, and the pulse that tells waiting ones to ask again."""

    def calls_of(self, run: RunRow, key: str) -> list[CallRow]:
        found = self.execute(
            _CALL + "WHERE c.run = ? AND c.key = ? ORDER BY c.attempt", (run.id, key)
        ).fetchall()
        return [_call(row) for row in found]

    def call(self, call_id: int) -> CallRow | None:
        known = self.known.calls.get(call_id)
        if known is not None:
            return known
        row = self.one(_CALL + "WHERE c.id = ?", call_id)
        return _call(row) if row else None

    def in_flight(self, key: CounterKey) -> list[CallRow]:
        return in_flight(self.connection, key)

    def live_calls(self, run: RunRow) -> list[CallRow]:
        found = self.execute(
            _CALL + "WHERE c.run = ? AND c.holds IS NOT NULL ORDER BY c.id", (run.id,)
        ).fetchall()
        return [_call(row) for row in found]

    def add_call(
        self,
        run: RunRow,
        intent: CallIntent,
        attempt: int,
        estimate: Estimate,
        counters: tuple[int, ...],
        pots: tuple[str, ...],
        holds: Mapping[int, int],
    ) -> CallRow:
        terms = Terms(intent.input, intent.hold_for, intent.rules)
        call_id = self.insert(
            _ADD,
            (
                run.id,
                intent.key,
                attempt,
                intent.kind,
                intent.effect,
                intent.node_id,
                intent.step,
                intent.purpose,
                intent.model,
                intent.provider,
                estimate.tokens,
                estimate.cost,
                ",".join(map(str, counters)),
                to_json(pots),
                to_json(holds),
                micros(intent.at),
                to_json(terms),
            ),
        )
        call = CallRow(
            call_id,
            run.id,
            intent.key,
            attempt,
            "open",
            intent.kind,
            intent.node_id,
            intent.step,
            intent.purpose,
            intent.model,
            intent.provider,
            estimate,
            counters,
            pots,
            holds,
            intent.at,
            None,
            terms,
        )
        self.known.calls[call_id] = call
        return call

    def end_call(self, call_id: int, state: str, result: Any, holds: Mapping[int, int] | None) -> None:
        self.known.calls.pop(call_id, None)
        self.execute(
            "UPDATE call SET state = ?, holds = ?, result = ? WHERE id = ?",
            (
                state,
                to_json(holds) if holds else None,
                to_json(result) if state == "done" else None,
                call_id,
            ),
        )

    def put_holds(self, call_id: int, holds: Mapping[int, int] | None) -> None:
        self.known.calls.pop(call_id, None)
        kept = to_json(holds) if holds else None
        self.execute("UPDATE call SET holds = ? WHERE id = ?", (kept, call_id))

    # -- waiting

    def anyone_waits(self) -> bool:
        if self.known.waiting is None:
            self.known.waiting = self.one("SELECT 1 FROM ticket LIMIT 1") is not None
        return self.known.waiting

    def ticket_of(self, run: RunRow, key: str) -> int | None:
        row = self.one("SELECT id FROM ticket WHERE run = ? AND key = ?", run.id, key)
        return row[0] if row else None

    def add_ticket(self, run: RunRow, key: str) -> int:
        self.known.waiting = True
        return self.insert("INSERT INTO ticket (run, key) VALUES (?, ?)", (run.id, key))

    def wait_on(self, ticket: int, counters: Iterable[int]) -> None:
        self.execute("DELETE FROM ticket_counter WHERE ticket = ?", (ticket,))
        self.connection.executemany(
            "INSERT INTO ticket_counter VALUES (?, ?)", [(counter, ticket) for counter in sorted(counters)]
        )

    def ahead(self, counters: Sequence[int], ticket: int | None) -> set[int]:
        before = 2**62 if ticket is None else ticket
        sql = "SELECT 1 FROM ticket_counter WHERE counter = ? AND ticket < ? LIMIT 1"
        return {counter for counter in counters if self.one(sql, counter, before)}

    def drop_ticket(self, ticket: int) -> None:
        self.execute("DELETE FROM ticket_counter WHERE ticket = ?", (ticket,))
        self.execute("DELETE FROM ticket WHERE id = ?", (ticket,))
        self.known.waiting = None

    def drop_tickets(self, run: RunRow) -> None:
        for (ticket,) in self.execute("SELECT id FROM ticket WHERE run = ?", (run.id,)).fetchall():
            self.drop_ticket(ticket)
            self.stir()

    def beats(self) -> int:
        """The pulse as this transaction sees it."""
        return int(self.one("SELECT beats FROM pulse")[0])

    def stir(self) -> None:
        """Counts only while somebody waits: nobody else needs to know."""
        if self.pulse is None and not self.anyone_waits():
            return
        ((self.pulse,),) = self.execute("UPDATE pulse SET beats = beats + 1 RETURNING beats").fetchall()
