"""The database's tables, documented; the reading side's larger queries are built with them.

The only home of sqlmodel, imported when a list or a report is asked for and never on the way of a run. The
schema itself is made by `migrations.py`; a test holds the two together. Times are microseconds since 1970 in
UTC, money is nano-dollars, JSON is stored as UTF-8 bytes.
"""

from __future__ import annotations

from sqlalchemy import Index, LargeBinary, text
from sqlmodel import Field, SQLModel

SETTLED = text("kind IN ('settle', 'correct')")


class Owner(SQLModel, table=True):
    """A process that runs may belong to; it holds the lock file of its id for as long as it lives."""

    __table_args__ = {"sqlite_with_rowid": False}
    id: str = Field(primary_key=True)
    pid: int
    since: int


class Lease(SQLModel, table=True):
    """Who does what only one may do at a time: until when, and as which process."""

    __table_args__ = {"sqlite_with_rowid": False}
    name: str = Field(primary_key=True)
    owner: str
    holder: str
    until: int


class Pulse(SQLModel, table=True):
    """One row: how often something happened that may let a waiting call through."""

    id: int = Field(primary_key=True)
    beats: int


class Flow(SQLModel, table=True):
    """The bytes of every document that was run, by hash."""

    hash: str = Field(primary_key=True)
    body: bytes = Field(sa_type=LargeBinary)


class FlowPath(SQLModel, table=True):
    """Where a flow id was run from."""

    __tablename__ = "flow_path"
    __table_args__ = {"sqlite_with_rowid": False}
    flow_id: str = Field(primary_key=True)
    path: str = Field(primary_key=True)


class Session(SQLModel, table=True):
    """A session and the counter of its timeline. `user_id` null is no user, which is not the empty one."""

    __table_args__ = (
        Index("session_key", "partition", "flow_id", "name", "user_id", unique=True),
        Index(
            "session_key_no_user",
            "partition",
            "flow_id",
            "name",
            unique=True,
            sqlite_where=text("user_id IS NULL"),
        ),
        Index("session_uid", "uid", unique=True),
        Index("session_user", "partition", "user_id", "flow_id"),
    )
    id: int = Field(primary_key=True)
    uid: str
    partition: str
    user_id: str | None = None
    flow_id: str
    name: str
    flow_name: str
    opened_at: int
    last_at: int
    next_seq: int
    first_seq: int


class Run(SQLModel, table=True):
    """A run. `owner` is the process that may write for it; `finished_at` null: not ended. `charged` is the
    session that its calls are charged to; `cancel` who asked it to end."""

    __table_args__ = (
        Index("run_run_id", "run_id", unique=True),
        Index("run_session", "session"),
        Index("run_charged", "charged"),
        Index("run_active", "owner", sqlite_where=text("finished_at IS NULL")),
    )
    id: int = Field(primary_key=True)
    run_id: str
    session: int = Field(foreign_key="session.id")
    owner: str
    state: str
    kind: str
    flow_name: str
    flow_hash: str
    model: str | None = None
    input: bytes = Field(sa_type=LargeBinary)
    outputs: bytes = Field(sa_type=LargeBinary)
    error: bytes | None = Field(default=None, sa_type=LargeBinary)
    queued_at: int
    finished_at: int | None = None
    charged: int | None = None
    cancel: str | None = None


class Turn(SQLModel, table=True):
    """What a node of a completed run added to history; ids are in the order of completion. `tainted`: the
    output of a tool was in its context."""

    __table_args__ = (Index("turn_node", "session", "node_id"),)
    id: int = Field(primary_key=True)
    session: int = Field(foreign_key="session.id")
    run: int = Field(foreign_key="run.id")
    node_id: str
    size: int
    messages: bytes = Field(sa_type=LargeBinary)
    tainted: int


class Event(SQLModel, table=True):
    """An event's JSON without session and seq, which are spliced in on reading.

    `place` is the session's id times 2^32 plus the seq: a timeline lies together and in order, in a single
    tree that grows at its end, which halves the pages that a commit writes.
    """

    place: int = Field(primary_key=True)
    run: int | None = None
    body: bytes = Field(sa_type=LargeBinary)


class Call(SQLModel, table=True):
    """A call of the journal. `tokens` and `cost` are its estimate; `counters` the ids of its rules' counters,
    in their order; `pots` the JSON list of what it is charged to; `holds` the JSON object of what it holds
    by counter, null once it is over; `result` what a done one gave; `terms` the JSON list of
    the tokens sent, the calls held for, and the rules."""

    __table_args__ = (Index("call_key", "run", "key", "attempt", unique=True),)
    id: int = Field(primary_key=True)
    run: int = Field(foreign_key="run.id")
    key: str
    attempt: int
    state: str
    kind: str
    effect: str
    node_id: str | None = None
    step: int | None = None
    purpose: str
    model: str | None = None
    provider: str | None = None
    tokens: int
    cost: int | None = None
    counters: str
    pots: str
    holds: str | None = None
    reserved_at: int
    result: bytes | None = Field(default=None, sa_type=LargeBinary)
    terms: bytes | None = Field(default=None, sa_type=LargeBinary)


class Counter(SQLModel, table=True):
    """A cache: what the ledger rows charged to its pot by its owner since its start add up to, less what was
    reset; `held` is the sum of what calls hold; `raised` the limit that a person set."""

    __table_args__ = (
        Index("counter_key", "partition", "pot", "owner", "start", "period", "metric", unique=True),
    )
    id: int = Field(primary_key=True)
    partition: str
    pot: str
    owner: str
    start: str
    period: str
    metric: str
    used: int
    held: int
    unknown: int
    raised: int | None = None


class Ticket(SQLModel, table=True):
    """The place of a waiting call; ids never come again and are the order of arrival."""

    __table_args__ = (Index("ticket_call", "run", "key", unique=True), {"sqlite_autoincrement": True})
    id: int = Field(primary_key=True)
    run: int = Field(foreign_key="run.id")
    key: str


class TicketCounter(SQLModel, table=True):
    """The counters that a waiting call waits for."""

    __tablename__ = "ticket_counter"
    __table_args__ = (Index("ticket_counter_ticket", "ticket"), {"sqlite_with_rowid": False})
    counter: int = Field(primary_key=True, foreign_key="counter.id")
    ticket: int = Field(primary_key=True, foreign_key="ticket.id")


class Ledger(SQLModel, table=True):
    """The ledger, append-only: `runtime.record.LedgerRow` says what the fields mean."""

    __table_args__ = (
        Index("ledger_run", "run_id", sqlite_where=SETTLED),
        Index("ledger_model", "partition", "model", sqlite_where=text("kind = 'settle' AND estimated = 0")),
        Index(
            "ledger_limits",
            "partition",
            "owner",
            "period",
            "metric",
            sqlite_where=text("kind IN ('raise', 'reset')"),
        ),
    )
    id: int = Field(primary_key=True)
    at: int
    kind: str
    partition: str
    user_id: str | None = None
    session_uid: str | None = None
    run_id: str | None = None
    flow_id: str | None = None
    node_id: str | None = None
    step: int | None = None
    call_id: int | None = None
    attempt: int
    purpose: str | None = None
    model: str | None = None
    provider: str | None = None
    request_id: str | None = None
    input: int
    cached: int
    cache_write: int
    output: int
    reasoning: int
    cost: int | None = None
    cost_source: str | None = None
    price: bytes | None = Field(default=None, sa_type=LargeBinary)
    estimated: int
    status: str | None = None
    pots: str
    amount: int | None = None
    actor: str | None = None
    reason: str | None = None
    reserved_at: int | None = None
    metric: str | None = None
    period: str | None = None
    owner: str | None = None
    start: str | None = None
    for_good: int


class Charge(SQLModel, table=True):
    """In which pots a settled or corrected row counts, by whom and since when: the index of the folds.
    `owner` is the user, empty for none. The pots of one row lie side by side, which is one page to write."""

    __table_args__ = {"sqlite_with_rowid": False}
    partition: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    reserved_at: int = Field(primary_key=True)
    ledger_id: int = Field(primary_key=True, foreign_key="ledger.id")
    pot: str = Field(primary_key=True)


class Fact(SQLModel, table=True):
    """A version of a fact; of each key at most one is current."""

    __table_args__ = (
        Index("fact_version", "partition", "namespace", "scope", "owner", "key", "version", unique=True),
        Index(
            "fact_current",
            "partition",
            "namespace",
            "scope",
            "owner",
            "key",
            unique=True,
            sqlite_where=text("state = 'current'"),
        ),
        Index(
            "fact_about",
            "partition",
            "namespace",
            "scope",
            "owner",
            "subject",
            "attribute",
            sqlite_where=text("state = 'current' AND subject IS NOT NULL"),
        ),
        Index("fact_erased", "owner", sqlite_where=text("state = 'erased'")),
    )
    id: int = Field(primary_key=True)
    partition: str
    namespace: str
    scope: str
    owner: str
    key: str
    version: int
    state: str
    value: bytes = Field(sa_type=LargeBinary)
    kind: str
    origin: str
    confidence: float
    recorded_at: int
    valid_from: int | None = None
    valid_to: int | None = None
    source: str | None = None
    step: int | None = None
    actor: str | None = None
    subject: str | None = None
    attribute: str | None = None
    seen: int
    ends: int | None = None


class Access(SQLModel, table=True):
    """How often a fact was sent to a model or read by one, and when last. `score`: what an item that fades
    was worth then; null: 1."""

    __table_args__ = {"sqlite_with_rowid": False}
    partition: str = Field(primary_key=True)
    namespace: str = Field(primary_key=True)
    scope: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    hits: int
    last_at: int
    score: float | None = None
