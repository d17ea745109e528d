"""What the verbs need of a store: small acts on rows, all inside one transaction.

`runtime.store.verbs` says what a verb means, once; SQLite and the in-memory twin carry out these acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from runtime.events import Entry, Event
from runtime.facts import Fact, Shelf
from runtime.ledger import Counter, CounterKey, Estimate, Metric, ModelPast, used_by
from runtime.record import (
    Access,
    CallIntent,
    LedgerRow,
    LimitChange,
    RunEnd,
    RunStart,
    RunTotals,
    SessionKey,
)
from runtime.store.terms import Terms


class SessionRow(NamedTuple):
    """A session; `id` is the store's own number for it."""

    id: int
    uid: str
    partition: str
    user_id: str | None
    flow_id: str


class RunRow(NamedTuple):
    """A run with what a verb asks of it. `owner` is the process that may write for it; `charged_uid` the
    session that its calls are charged to."""

    id: int
    run_id: str
    session: int
    session_uid: str
    partition: str
    user_id: str | None
    flow_id: str
    state: str
    owner: str
    queued_at: datetime
    charged_uid: str


class CallRow(NamedTuple):
    """A call of the journal.

    `state`: open, done, failed, released, orphaned (charged at its estimate; a late figure may still come).
    `estimate` is for this one call. `counters` are those of its rules, in their order; `pots` what it is
    charged to; `holds` what it holds, by counter.
    """

    id: int
    run: int
    key: str
    attempt: int
    state: str
    kind: str
    node_id: str | None
    step: int | None
    purpose: str
    model: str | None
    provider: str | None
    estimate: Estimate
    counters: tuple[int, ...]
    pots: tuple[str, ...]
    holds: Mapping[int, int]
    reserved_at: datetime
    result: Any
    terms: Terms = Terms()

    def may_use(self, metric: Metric) -> int:
        """What is still to come of it by its estimate, and of the calls that go on with its hold."""
        times = self.terms.times if self.state == "open" else self.terms.times - 1
        return used_by(metric, *self.estimate) * times


class CounterRow(NamedTuple):
    """A stored counter."""

    id: int
    key: CounterKey
    counter: Counter


class Delta(NamedTuple):
    """What changes of a counter."""

    used: int = 0
    held: int = 0
    unknown: int = 0


class FactRow(NamedTuple):
    """A stored version of a fact."""

    id: int
    fact: Fact


class Document(NamedTuple):
    """A stored JSON document of a session that holds what people, models and tools wrote.

    `kind`: events, calls, inputs, outputs or turns. `free`: all of it is theirs; else it is a document of
    ours, in which only some fields are. `place` is the store's own.
    """

    kind: str
    place: Any
    free: bool
    raw: bytes


class Rows(Protocol):
    """The acts. Those that change something happen in the transaction of the verb that calls them."""

    @property
    def owner(self) -> str:
        """The process that this store speaks for."""
        ...

    # -- sessions, runs, events

    def session(self, key: SessionKey) -> SessionRow | None: ...

    def session_by_uid(self, uid: str) -> SessionRow | None: ...

    def add_session(self, key: SessionKey, uid: str, flow_name: str, at: datetime) -> SessionRow: ...

    def run(self, run_id: str) -> RunRow | None: ...

    def add_run(self, start: RunStart, session: SessionRow) -> RunRow: ...

    def end_run(self, run: RunRow, end: RunEnd) -> None: ...

    def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Add to how often facts were used."""
        ...

    def forget_uses(self, shelf: Shelf, key: str) -> None:
        """How often a fact was used is counted from 0 again."""
        ...

    def run_totals(self, run_id: str) -> RunTotals: ...

    def add_events(
        self, session: int, uid: str, run: int | None, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        """Number the events and put them on the timeline."""
        ...

    # -- calls

    def calls_of(self, run: RunRow, key: str) -> list[CallRow]:
        """Every attempt of a call, oldest first."""
        ...

    def in_flight(self, key: CounterKey) -> list[CallRow]:
        """The calls that are open or hold something and will count in a counter of this key."""
        ...

    def add_call(
        self,
        run: RunRow,
        intent: CallIntent,
        attempt: int,
        estimate: Estimate,
        counters: tuple[int, ...],
        pots: tuple[str, ...],
        holds: Mapping[int, int],
    ) -> CallRow: ...

    def call(self, call_id: int) -> CallRow | None: ...

    def end_call(self, call_id: int, state: str, result: Any, holds: Mapping[int, int] | None) -> None:
        """Close a call. `holds`: what it still holds for the one that carries on; None: nothing."""
        ...

    def put_holds(self, call_id: int, holds: Mapping[int, int] | None) -> None: ...

    def live_calls(self, run: RunRow) -> list[CallRow]:
        """The calls of a run that are open or still hold something."""
        ...

    # -- counters, holds, ledger

    def counters(self, keys: Sequence[CounterKey], created: Callable[[CounterRow], None]) -> list[CounterRow]:
        """The counters of these keys, in their order; those that are missing are created from the fold, and
        `created` is told of each."""
        ...

    def counters_by_id(self, ids: Sequence[int]) -> list[CounterRow]: ...

    def charged(self, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> Sequence[CounterRow]:
        """Every stored counter of these pots in which a call of this run, reserved then, counts; whether
        or not a rule of the call reads it, so that each stays the fold of its ledger rows."""
        ...

    def adjust(self, changes: Mapping[int, Delta]) -> None:
        """Add to counters, by id."""
        ...

    def add_ledger(self, row: LedgerRow) -> int: ...

    def add_charge(self, ledger_id: int, run: RunRow, pots: Sequence[str], reserved_at: datetime) -> None:
        """Note in which pots a settled row counts."""
        ...

    def model_past(self, partition: str, model: str) -> ModelPast: ...

    def add_limit_change(self, ledger_id: int, change: LimitChange, counter: CounterRow) -> None: ...

    # -- waiting

    def anyone_waits(self) -> bool: ...

    def ticket_of(self, run: RunRow, key: str) -> int | None: ...

    def add_ticket(self, run: RunRow, key: str) -> int: ...

    def wait_on(self, ticket: int, counters: Iterable[int]) -> None: ...

    def ahead(self, counters: Sequence[int], ticket: int | None) -> set[int]:
        """Those counters that an earlier ticket waits on; without a ticket all tickets are earlier."""
        ...

    def drop_ticket(self, ticket: int) -> None: ...

    def drop_tickets(self, run: RunRow) -> None: ...

    def stir(self) -> None:
        """Something happened that may let a waiting call through."""
        ...

    # -- facts

    def fact_rows(self, shelf: Shelf, key: str) -> list[FactRow]:
        """Every version of a key, oldest first."""
        ...

    def facts_about(self, shelf: Shelf, subject: str, attribute: str) -> list[FactRow]:
        """The current facts that say this attribute of this subject."""
        ...

    def add_fact(self, shelf: Shelf, fact: Fact) -> None: ...

    def put_fact(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        """Replace what is stored of this version: its state, validity and count."""
        ...

    def write_over(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        """Replace what is stored of this version whole, its value too, for an erasure."""
        ...

    def move_fact(self, row: FactRow, shelf: Shelf, to: Shelf) -> None:
        """Put a version on another shelf."""
        ...

    def keys_on(self, shelf: Shelf) -> list[str]:
        """Every key that has versions on a shelf."""
        ...

    def shelves_of(self, user_id: str | None, session_uids: Sequence[str]) -> list[Shelf]:
        """The shelves of a user (null: none) and of these sessions."""
        ...

    # -- everything that a session holds, for an erasure

    def sessions_of(self, user_id: str) -> list[SessionRow]:
        """Every session of a user, in both partitions."""
        ...

    def active_runs(self, session: int) -> list[str]:
        """The ids of a session's runs that have not ended."""
        ...

    def documents(self, session: SessionRow, needles: Sequence[bytes]) -> list[Document]:
        """The documents of a session in which one of these stands."""
        ...

    def put_document(self, session: SessionRow, document: Document, raw: bytes) -> None:
        """Write a document over; a timeline's places and numbers stay as they are."""
        ...
