"""The database's schema as a list of steps with frozen SQL; `tables.py` documents where they lead.

A step is never edited once released: a change is a new one. All run in one BEGIN IMMEDIATE, so that
processes that start at once on a missing file make it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from runtime.errors import StoreCorrupt, StoreNewer

APPLICATION_ID = 0x46415254
"""`FART`hing in the file's header: what tells our databases from others."""

_FIRST = """
CREATE TABLE owner (
  id TEXT NOT NULL PRIMARY KEY, pid INTEGER NOT NULL, since INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE pulse (id INTEGER NOT NULL PRIMARY KEY, beats INTEGER NOT NULL);
INSERT INTO pulse VALUES (1, 0);
CREATE TABLE flow (hash TEXT NOT NULL PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE flow_path (
  flow_id TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (flow_id, path)
) WITHOUT ROWID;
CREATE TABLE session (
  id INTEGER NOT NULL PRIMARY KEY, uid TEXT NOT NULL, partition TEXT NOT NULL, user_id TEXT,
  flow_id TEXT NOT NULL, name TEXT NOT NULL, flow_name TEXT NOT NULL, opened_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL, next_seq INTEGER NOT NULL, first_seq INTEGER NOT NULL
);
CREATE UNIQUE INDEX session_uid ON session (uid);
CREATE UNIQUE INDEX session_key ON session (partition, flow_id, name, user_id);
CREATE UNIQUE INDEX session_key_no_user ON session (partition, flow_id, name) WHERE user_id IS NULL;
CREATE TABLE run (
  id INTEGER NOT NULL PRIMARY KEY, run_id TEXT NOT NULL, session INTEGER NOT NULL REFERENCES session (id),
  owner TEXT NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL, flow_name TEXT NOT NULL,
  flow_hash TEXT NOT NULL, model TEXT, input BLOB NOT NULL, outputs BLOB NOT NULL, error BLOB,
  queued_at INTEGER NOT NULL, finished_at INTEGER
);
CREATE UNIQUE INDEX run_run_id ON run (run_id);
CREATE INDEX run_session ON run (session);
CREATE INDEX run_active ON run (owner) WHERE finished_at IS NULL;
CREATE TABLE turn (
  id INTEGER NOT NULL PRIMARY KEY, session INTEGER NOT NULL REFERENCES session (id),
  run INTEGER NOT NULL REFERENCES run (id), node_id TEXT NOT NULL, size INTEGER NOT NULL,
  messages BLOB NOT NULL
);
CREATE INDEX turn_node ON turn (session, node_id);
CREATE TABLE event (place INTEGER NOT NULL PRIMARY KEY, run INTEGER, body BLOB NOT NULL);
CREATE TABLE call (
  id INTEGER NOT NULL PRIMARY KEY, run INTEGER NOT NULL REFERENCES run (id), key TEXT NOT NULL,
  attempt INTEGER NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL, effect TEXT NOT NULL, node_id TEXT,
  step INTEGER, purpose TEXT NOT NULL, model TEXT, provider TEXT, tokens INTEGER NOT NULL, cost INTEGER,
  counters TEXT NOT NULL, pots TEXT NOT NULL, holds TEXT, reserved_at INTEGER NOT NULL, result BLOB
);
CREATE UNIQUE INDEX call_key ON call (run, key, attempt);
CREATE TABLE counter (
  id INTEGER NOT NULL PRIMARY KEY, partition TEXT NOT NULL, pot TEXT NOT NULL, owner TEXT NOT NULL,
  start TEXT NOT NULL, period TEXT NOT NULL, metric TEXT NOT NULL, used INTEGER NOT NULL,
  held INTEGER NOT NULL, unknown INTEGER NOT NULL, raised INTEGER
);
CREATE UNIQUE INDEX counter_key ON counter (partition, pot, owner, start, period, metric);
CREATE TABLE ticket (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, run INTEGER NOT NULL REFERENCES run (id), key TEXT NOT NULL
);
CREATE UNIQUE INDEX ticket_call ON ticket (run, key);
CREATE TABLE ticket_counter (
  counter INTEGER NOT NULL REFERENCES counter (id), ticket INTEGER NOT NULL REFERENCES ticket (id),
  PRIMARY KEY (counter, ticket)
) WITHOUT ROWID;
CREATE INDEX ticket_counter_ticket ON ticket_counter (ticket);
CREATE TABLE ledger (
  id INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, partition TEXT NOT NULL,
  user_id TEXT, session_uid TEXT, run_id TEXT, flow_id TEXT, node_id TEXT, step INTEGER, call_id INTEGER,
  attempt INTEGER NOT NULL, purpose TEXT, model TEXT, provider TEXT, request_id TEXT,
  input INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write INTEGER NOT NULL, output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL, cost INTEGER, cost_source TEXT, price BLOB, estimated INTEGER NOT NULL,
  status TEXT, pots TEXT NOT NULL, amount INTEGER, actor TEXT, reason TEXT, reserved_at INTEGER,
  metric TEXT, period TEXT, owner TEXT, start TEXT, for_good INTEGER NOT NULL
);
CREATE INDEX ledger_run ON ledger (run_id) WHERE kind IN ('settle', 'correct');
CREATE INDEX ledger_model ON ledger (partition, model) WHERE kind = 'settle' AND estimated = 0;
CREATE INDEX ledger_limits ON ledger (partition, owner, period, metric) WHERE kind IN ('raise', 'reset');
CREATE TABLE charge (
  partition TEXT NOT NULL, owner TEXT NOT NULL, reserved_at INTEGER NOT NULL,
  ledger_id INTEGER NOT NULL REFERENCES ledger (id), pot TEXT NOT NULL,
  PRIMARY KEY (partition, owner, reserved_at, ledger_id, pot)
) WITHOUT ROWID;
CREATE TABLE fact (
  id INTEGER NOT NULL PRIMARY KEY, partition TEXT NOT NULL, namespace TEXT NOT NULL, scope TEXT NOT NULL,
  owner TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
  value BLOB NOT NULL, kind TEXT NOT NULL, origin TEXT NOT NULL, confidence REAL NOT NULL,
  recorded_at INTEGER NOT NULL, valid_from INTEGER, valid_to INTEGER, source TEXT, step INTEGER,
  actor TEXT, subject TEXT, attribute TEXT, seen INTEGER NOT NULL
);
CREATE UNIQUE INDEX fact_version ON fact (partition, namespace, scope, owner, key, version);
CREATE UNIQUE INDEX fact_current ON fact (partition, namespace, scope, owner, key) WHERE state = 'current';
CREATE INDEX fact_about ON fact (partition, namespace, scope, owner, subject, attribute)
  WHERE state = 'current' AND subject IS NOT NULL;
"""


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Statements one by one: `executescript` would commit first."""
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def first(connection: sqlite3.Connection) -> None:
    _run(connection, _FIRST)


_SECOND = """
ALTER TABLE turn ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;
UPDATE turn SET tainted = 1 WHERE instr(messages, CAST('"role":"tool"' AS BLOB)) > 0;
CREATE INDEX session_user ON session (partition, user_id, flow_id);
CREATE INDEX fact_erased ON fact (owner) WHERE state = 'erased';
CREATE TABLE access (
  partition TEXT NOT NULL, namespace TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL,
  key TEXT NOT NULL, hits INTEGER NOT NULL, last_at INTEGER NOT NULL,
  PRIMARY KEY (partition, namespace, scope, owner, key)
) WITHOUT ROWID;
"""


def second(connection: sqlite3.Connection) -> None:
    """Memory that is used: which turns are tainted, whose they are, how often facts were shown. Of older
    turns nobody knows what their tools gave, so those with tool calls count as tainted."""
    _run(connection, _SECOND)


def third(connection: sqlite3.Connection) -> None:
    """What ends by itself keeps its end when it is replaced, so that an undo can give it back."""
    connection.execute("ALTER TABLE fact ADD COLUMN ends INTEGER")


_FOURTH = """
ALTER TABLE run ADD COLUMN charged INTEGER;
UPDATE run SET charged = session;
CREATE INDEX run_charged ON run (charged);
"""


def fourth(connection: sqlite3.Connection) -> None:
    """Maintenance is charged to the conversation that it serves: a run says which session that is."""
    _run(connection, _FOURTH)


def fifth(connection: sqlite3.Connection) -> None:
    """What an item that fades was worth when it was last used."""
    connection.execute("ALTER TABLE access ADD COLUMN score REAL")


def sixth(connection: sqlite3.Connection) -> None:
    """On what a call was admitted, so that one which nobody closes can be told like any other."""
    connection.execute("ALTER TABLE call ADD COLUMN terms BLOB")


_SEVENTH = """
CREATE TABLE lease (
  name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, holder TEXT NOT NULL, until INTEGER NOT NULL
) WITHOUT ROWID;
"""


def seventh(connection: sqlite3.Connection) -> None:
    """What only one process may do at a time, and which one does."""
    _run(connection, _SEVENTH)


def eighth(connection: sqlite3.Connection) -> None:
    """Who asked a run to end that another process executes."""
    connection.execute("ALTER TABLE run ADD COLUMN cancel TEXT")


STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    first,
    second,
    third,
    fourth,
    fifth,
    sixth,
    seventh,
    eighth,
)
VERSION = len(STEPS)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a database up to this version; a foreign, odd or newer one is refused untouched."""
    if check(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = check(connection, path)  # again: another process may have been here
        for step in STEPS[version:]:
            step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check(connection: sqlite3.Connection, path: str) -> int:
    """The version of a sound database of ours, 0 for an empty file; any other is refused."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    parts = connection.execute("SELECT type, name FROM sqlite_schema").fetchall()
    if application != APPLICATION_ID:
        if parts or application or version:
            raise StoreCorrupt(
                f"{path} is a database of another program.", remedy="Name another file with --db."
            )
        return 0
    if version > VERSION:
        raise StoreNewer(
            f"{path} has version {version}; this Farthing knows versions up to {VERSION}.",
            remedy="Use a newer Farthing, or another file with --db.",
        )
    odd = sorted(name for kind, name in parts if kind in ("trigger", "view"))
    if odd:
        raise StoreCorrupt(
            f"{path} has triggers or views that Farthing never made: {', '.join(odd)}.",
            remedy="Do not use this file; restore a backup or name another file with --db.",
        )
    return int(version)
