"""What the in-memory store holds: plain lists and dicts, with a log to take a failed verb back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from runtime.events import Entry, encode
from runtime.facts import Fact, Shelf
from runtime.ledger import CounterKey, ModelPast
from runtime.messages import Message
from runtime.record import Access, LedgerRow, RunEnd, RunStart, SessionKey
from runtime.store.rows import CallRow, CounterRow, RunRow
from runtime.store.values import PeriodStarts

K = TypeVar("K")
V = TypeVar("V")


class LazyEntry(Entry):
    """An entry whose body is encoded when it is asked for: a run that nobody reads pays nothing."""

    __slots__ = ()

    @property
    def body(self) -> bytes:
        return encode(self.event)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.session_uid, self.seq, self.event, self.body))

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]


class TurnMark(NamedTuple):
    """A turn's number in the order of completion, its run, when that ended, and whether it is tainted."""

    id: int
    run_id: str
    at: datetime
    tainted: bool


class Session:
    """A session with its timeline, its runs and its turns by node."""

    __slots__ = (
        "entries",
        "flow_name",
        "id",
        "key",
        "last_at",
        "opened_at",
        "run_ids",
        "runs",
        "turn_marks",
        "turns",
        "uid",
    )

    def __init__(self, number: int, key: SessionKey, uid: str, flow_name: str, at: datetime) -> None:
        self.id = number
        self.key = key
        self.uid = uid
        self.flow_name = flow_name
        self.opened_at = at
        self.last_at = at
        self.entries: list[Entry] = []
        self.run_ids: list[int | None] = []
        """The run of each entry."""
        self.runs: list[str] = []
        self.turns: dict[str, list[tuple[Message, ...]]] = {}
        self.turn_marks: dict[str, list[TurnMark]] = {}
        """What else is known of each of the turns."""


class State:
    """Everything, and how to undo the verb under way.

    Rows are immutable and are replaced whole, so that undoing is putting the old one back.
    """

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.by_key: dict[SessionKey, Session] = {}
        self.by_uid: dict[str, Session] = {}
        self.runs: dict[str, RunRow] = {}
        self.starts: dict[str, RunStart] = {}
        self.ends: dict[str, RunEnd] = {}
        self.flows: dict[str, bytes] = {}
        self.paths: dict[str, set[str]] = {}
        self.calls: list[CallRow] = []
        self.calls_by_key: dict[tuple[int, str], list[int]] = {}
        self.open_calls: dict[int, dict[int, None]] = {}
        """The ids of a run's calls that are open or hold something, by run."""
        self.counters: list[CounterRow] = []
        self.counter_ids: dict[CounterKey, int] = {}
        self.counters_of: dict[tuple[str, str, str], list[int]] = {}
        """The ids of the counters of a partition, pot and owner."""
        self.charged: dict[tuple[int, Sequence[str], PeriodStarts], list[int]] = {}
        """The counters in which a run's calls count, until a new counter comes."""
        self.ledger: list[LedgerRow] = []
        self.settled: dict[str | None, list[LedgerRow]] = {}
        """The rows that count, by run id and by session uid."""
        self.charges: dict[tuple[str, str], list[LedgerRow]] = {}
        self.pasts: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
        self.summaries: dict[tuple[str, str], ModelPast] = {}
        """What `pasts` add up to, until another call settles."""
        self.tickets: dict[int, tuple[int, str]] = {}
        self.waits_on: dict[int, frozenset[int]] = {}
        self.last_ticket = 0
        self.pulse = 0
        self.facts: dict[Shelf, dict[str, list[Fact]]] = {}
        self.accesses: dict[tuple[Shelf, str], Access] = {}
        self.last_turn = 0
        self.touched: set[str] = set()
        self._undo: list[Callable[[], Any]] = []

    def undoable(self, undo: Callable[[], Any]) -> None:
        self._undo.append(undo)

    def put(self, where: MutableMapping[K, V], key: K, value: V) -> None:
        """Set an item so that it can be taken back."""
        if key in where:
            old = where[key]
            self._undo.append(lambda: where.__setitem__(key, old))
        else:
            self._undo.append(lambda: where.pop(key, None))
        where[key] = value

    def drop(self, where: MutableMapping[K, V], key: K) -> None:
        """Remove an item so that it can be put back."""
        if key in where:
            old = where.pop(key)
            self._undo.append(lambda: where.__setitem__(key, old))

    def add(self, where: list[V], value: V) -> None:
        """Append so that it can be taken back."""
        where.append(value)
        self._undo.append(where.pop)

    def replace(self, where: list[V], index: int, value: V) -> None:
        old = where[index]
        self._undo.append(lambda: where.__setitem__(index, old))
        where[index] = value

    def commit(self) -> None:
        self._undo.clear()

    def roll_back(self) -> None:
        while self._undo:
            self._undo.pop()()
        self.charged.clear()
        self.summaries.clear()
        self.touched.clear()
