"""Reads on a connection: small ones of the run's path, and whole timelines."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.facts import Fact, Partition, Shelf
from runtime.ledger import EVERYONE, RECENT_CALLS, Counter, CounterKey, ModelPast
from runtime.messages import Message
from runtime.record import CounterLine, RunLine, RunTotals
from runtime.store.sqlite.rows_calls import in_flight
from runtime.store.sqlite.rows_counters import COUNTER, RECENT, counter_of, find_counter, fold
from runtime.store.sqlite.rows_facts import FACT, fact_of
from runtime.store.sqlite.rows_runs import SEQ_BITS, TOTALS, totals_of
from runtime.store.values import from_json, instant, instant_or_none, past_of

_messages = msgspec.json.Decoder(tuple[Message, ...])
_RUN = """SELECT r.run_id, s.uid, s.partition, s.user_id, s.flow_id, r.flow_name, r.flow_hash, r.kind,
r.state, r.model, r.input, r.outputs, r.error, r.queued_at, r.finished_at, coalesce(c.uid, s.uid)
FROM run r JOIN session s ON s.id = r.session LEFT JOIN session c ON c.id = r.charged WHERE """


def facts(connection: sqlite3.Connection, shelf: Shelf, keys: Sequence[str] | None) -> list[Fact]:
    if keys is None:
        found = connection.execute(FACT + "AND state = 'current' ORDER BY key", shelf).fetchall()
        return [fact_of(row) for row in found]
    sql = FACT + "AND key = ? AND state = 'current'"
    rows = [connection.execute(sql, (*shelf, key)).fetchone() for key in sorted(set(keys))]
    return [fact_of(row) for row in rows if row]


def fact_versions(connection: sqlite3.Connection, shelf: Shelf, key: str | None) -> list[Fact]:
    which, values = ("", ()) if key is None else ("AND key = ? ", (key,))
    found = connection.execute(FACT + which + "ORDER BY key, version", (*shelf, *values)).fetchall()
    return [fact_of(row) for row in found]


def shelves(
    connection: sqlite3.Connection, partition: Partition, user_id: str | None
) -> list[tuple[Shelf, int]]:
    sql = (
        "SELECT partition, namespace, scope, owner, count(*) FILTER (WHERE state = 'current') FROM fact f"
        " WHERE partition = ?1 AND (?2 IS NULL OR (scope = 'user' AND owner = ?2) OR (scope = 'session'"
        " AND EXISTS (SELECT 1 FROM session s WHERE s.uid = f.owner AND s.user_id = ?2)))"
        " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    found = connection.execute(sql, (partition, user_id)).fetchall()
    return [(Shelf(*row[:4]), row[4]) for row in found]


def history(
    connection: sqlite3.Connection, session_uid: str, node_id: str, last: int | None
) -> list[Message]:
    found = connection.execute(
        "SELECT t.size, t.messages FROM turn t JOIN session s ON s.id = t.session"
        " WHERE s.uid = ? AND t.node_id = ? ORDER BY t.id DESC",
        (session_uid, node_id),
    )
    turns: list[tuple[Message, ...]] = []
    count = 0
    for size, body in found:
        if last is not None and count >= last:
            break
        turns.append(_messages.decode(body))
        count += size
    found.close()
    return [message for turn in reversed(turns) for message in turn]


def counters(connection: sqlite3.Connection, keys: Sequence[CounterKey]) -> list[Counter]:
    return [_counter(connection, key) for key in keys]


def _counter(connection: sqlite3.Connection, key: CounterKey) -> Counter:
    row = find_counter(connection, key)
    if row is not None:
        return row.counter
    held = sum(call.may_use(key.metric) for call in in_flight(connection, key))
    return fold(connection, key)._replace(held=held)


def all_counters(
    connection: sqlite3.Connection, partition: Partition, user_id: str | None
) -> list[CounterLine]:
    sql = (
        COUNTER + "c WHERE partition = ?1 AND (?2 IS NULL OR owner = ?3"
        " OR CASE period WHEN 'run' THEN EXISTS (SELECT 1 FROM run r JOIN session s ON s.id = r.session"
        " WHERE r.run_id = c.owner AND s.user_id = ?2)"
        " WHEN 'session' THEN EXISTS (SELECT 1 FROM session s WHERE s.uid = c.owner AND s.user_id = ?2)"
        " ELSE owner = ?2 END) ORDER BY start DESC, pot, metric, period, owner"
    )
    rows = map(counter_of, connection.execute(sql, (partition, user_id, EVERYONE)).fetchall())
    return [CounterLine(row.key, row.counter) for row in rows]


def model_past(connection: sqlite3.Connection, partition: Partition, model: str) -> ModelPast:
    return past_of(connection.execute(RECENT, (partition, model, RECENT_CALLS)).fetchall())


def run_totals(connection: sqlite3.Connection, run_id: str) -> RunTotals:
    return totals_of(connection.execute(TOTALS, (run_id,)).fetchone())


def run(connection: sqlite3.Connection, run_id: str) -> RunLine | None:
    row = connection.execute(_RUN + "r.run_id = ?", (run_id,)).fetchone()
    return _run_line(row) if row else None


def runs(connection: sqlite3.Connection, session_uid: str) -> list[RunLine]:
    found = connection.execute(_RUN + "s.uid = ? ORDER BY r.id", (session_uid,)).fetchall()
    return [_run_line(row) for row in found]


def _run_line(row: tuple[Any, ...]) -> RunLine:
    error = None if row[12] is None else from_json(row[12])
    times = instant(row[13]), instant_or_none(row[14])
    return RunLine._make((*row[:10], from_json(row[10]), from_json(row[11]), error, *times, row[15]))


def flow_bytes(connection: sqlite3.Connection, flow_hash: str) -> bytes | None:
    row = connection.execute("SELECT body FROM flow WHERE hash = ?", (flow_hash,)).fetchone()
    return None if row is None else bytes(row[0])


def flow_paths(connection: sqlite3.Connection, flow_id: str) -> list[str]:
    sql = "SELECT path FROM flow_path WHERE flow_id = ? ORDER BY path"
    return [path for (path,) in connection.execute(sql, (flow_id,)).fetchall()]


def session_names(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    sql = (
        "SELECT uid, name FROM session WHERE uid IN (SELECT value FROM json_each(?1)) UNION ALL"
        " SELECT r.run_id, s.name FROM run r JOIN session s ON s.id = r.session"
        " WHERE r.run_id IN (SELECT value FROM json_each(?1))"
    )
    return dict(connection.execute(sql, (msgspec.json.encode(ids).decode(),)).fetchall())


def hidden_rehearsals(connection: sqlite3.Connection, user_id: str | None) -> int:
    sql = (
        "SELECT count(*) FROM session WHERE partition = 'rehearsal' AND (?1 IS NULL OR user_id = ?1)"
        " AND substr(name, 1, 1) <> '@' AND substr(flow_id, 1, 1) <> '@'"
    )
    return int(connection.execute(sql, (user_id,)).fetchone()[0])


def first_seq(connection: sqlite3.Connection, session_uid: str) -> int:
    row = connection.execute("SELECT first_seq FROM session WHERE uid = ?", (session_uid,)).fetchone()
    return row[0] if row else 1


def events(
    connection: sqlite3.Connection,
    session_uid: str,
    after: int,
    limit: int | None,
    run_id: str | None,
) -> list[tuple[int, bytes]]:
    """Seq and JSON of a session's events."""
    row = connection.execute("SELECT id FROM session WHERE uid = ?", (session_uid,)).fetchone()
    if row is None:
        return []
    start, end = row[0] << SEQ_BITS, (row[0] + 1) << SEQ_BITS
    sql = "SELECT place, body FROM event WHERE place > ? AND place < ?"
    values: list[Any] = [start + min(max(0, after), end - start - 1), end]
    if run_id is not None:
        sql += " AND run = (SELECT id FROM run WHERE run_id = ?)"
        values.append(run_id)
    sql += " ORDER BY place LIMIT ?"
    values.append(-1 if limit is None else limit)
    head = b'{"session_uid":%s,"seq":' % msgspec.json.encode(session_uid)
    found = connection.execute(sql, values).fetchall()
    return [(place - start, b"%b%d,%b" % (head, place - start, body[1:])) for place, body in found]
