"""The storage protocol: verbs, each one transaction, and the reads.

Two implementations stand in `runtime.store`: SQLite and the in-memory twin; one contract suite runs over
both. Verbs that decide something in their transaction take a `build` function, called inside it with the
outcome, which returns the events to commit with it; it must be pure and quick and must not await. Every
verb of a run is fenced: it raises Fenced when the run is no longer running under this record's owner.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from runtime.events import Entry, Event
from runtime.facts import (
    Ageing,
    Erase,
    Erased,
    Fact,
    FactChange,
    FactWrite,
    Imported,
    Made,
    Origin,
    Partition,
    Shelf,
    Shelved,
    Written,
)
from runtime.ledger import Admission, Counter, CounterKey, Estimate, ModelPast, Rule
from runtime.messages import Message
from runtime.usage import Usage

RunState = Literal["queued", "running", "paused", "completed", "failed", "cancelled", "interrupted"]
ACTIVE: frozenset[str] = frozenset({"queued", "running", "paused"})
Effect = Literal["none", "idempotent", "once"]


class SessionKey(msgspec.Struct, frozen=True):
    """Names a session: ids reach storage exactly as given. `user_id` None is no user, not the empty one."""

    partition: Partition
    user_id: str | None
    flow_id: str
    name: str


class RunStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is begun with. `flow` is the document's bytes as run; `flow_path` where they came from.
    `charged`: the uid of the session that its calls are charged to, where that is not its own: maintenance of
    a conversation has its events elsewhere and counts there.
    """

    run_id: str
    session: SessionKey
    flow_name: str
    flow_hash: str
    flow: bytes
    flow_path: str | None = None
    kind: Literal["flow", "maintenance"] = "flow"
    charged: str | None = None
    model: str | None = None
    input: Any = None
    at: datetime


class Claimed(msgspec.Struct, frozen=True):
    """A run that is ours. `session_new`: the session was opened with it."""

    run_id: str
    session_uid: str
    session_new: bool


class CallIntent(msgspec.Struct, frozen=True, kw_only=True):
    """A call about to be made: the unit of the journal. `key` is node path, visit, item, step and index.

    `counted` is what we count beforehand for this attempt; `input` of its tokens are sent, the others are the
    answer's at most. `rules` govern it; all are admitted in one act.
    `free`: the model is known to cost nothing. `carries` names the call (key) of this step whose hold this
    one goes on with (thinker's second): it is not decided again. `hold_for`: how many calls the hold is for.
    """

    run_id: str
    key: str
    attempt: int = 1
    node_id: str | None = None
    step: int | None = None
    kind: Literal["model", "tool"] = "model"
    purpose: str = "main"
    model: str | None = None
    provider: str | None = None
    effect: Effect = "none"
    rules: tuple[Rule, ...] = ()
    counted: Estimate = Estimate(0, 0)
    input: int = 0
    free: bool = False
    carries: str | None = None
    hold_for: int = 1
    at: datetime


class CallOpened(msgspec.Struct, frozen=True):
    """The call may go out; it is `call_id` in the ledger."""

    call_id: int
    admission: Admission
    counters: tuple[Counter, ...]
    entries: tuple[Entry, ...]


class CallDone(msgspec.Struct, frozen=True):
    """The call was finished before (in an earlier life of the run): its stored result."""

    call_id: int
    result: Any
    entries: tuple[Entry, ...] = ()


class CallHeld(msgspec.Struct, frozen=True):
    """The call is not admitted: `admission` is Refused or Blocked. A blocked one keeps `ticket`, its place
    in the order of arrival, and asks again with it."""

    admission: Admission
    counters: tuple[Counter, ...]
    entries: tuple[Entry, ...]
    ticket: int | None = None


class CallClose(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended. `usage` and `cost` as recorded in the ledger; `cost` None is unknown.

    `state`: `done` keeps `result` for ever; `failed` was billed but gave nothing. `estimated`: the usage is
    our own count. `keep_hold`: another call of this step goes on with the hold.
    """

    call_id: int
    run_id: str
    state: Literal["done", "failed"] = "done"
    result: Any = None
    usage: Usage = Usage()
    cost: int | None = 0
    cost_source: str = "unknown"
    price: dict[str, Any] | None = None
    estimated: bool = False
    request_id: str | None = None
    keep_hold: bool = False
    at: datetime


class Settled(msgspec.Struct, frozen=True):
    """The counters after the call, in the order of its rules, and the committed events.

    `over_estimate`: the call used more than it was estimated at.
    """

    counters: tuple[Counter, ...]
    over_estimate: bool
    entries: tuple[Entry, ...]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent node adds to the session's history when its run completes."""

    node_id: str
    messages: tuple[Message, ...]
    tainted: bool = False


class TurnLine(NamedTuple):
    """A turn of a completed run. `id` is in the order of completion, `at` when the run ended. `tainted`: the
    output of a tool, or memory that came from one, was in its context."""

    id: int
    session_uid: str
    session_name: str
    node_id: str
    run_id: str
    at: datetime
    tainted: bool
    messages: tuple[Message, ...]


class UserTurns(msgspec.Struct, frozen=True):
    """Turns by id. `total` is how many there are in all, `erasures` how much of the user's memory was erased
    so far: where either is not as expected, what was taken in before must be read anew."""

    lines: tuple[TurnLine, ...]
    total: int
    erasures: int


class Fading(msgspec.Struct, frozen=True):
    """How an item that fades is refreshed by an access: `decay_rate` per hour, `access_boost` added; a score
    of 1 at `since`, where no later one is kept."""

    decay_rate: float
    access_boost: float
    since: datetime


class Access(NamedTuple):
    """A fact was sent to a model or read by one, `hits` times, the last time at `at`; so was a past exchange,
    under the key `__episode/` and its number. `score`: what the item was worth at `at`, from 0 to 1; None: 1.
    `fading`: what this access makes of the score, where it is written."""

    shelf: Shelf
    key: str
    hits: int
    at: datetime
    score: float | None = None
    fading: Fading | None = None


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    run_id: str
    state: Literal["completed", "failed", "cancelled", "interrupted"]
    outputs: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    turns: tuple[Turn, ...] = ()
    accesses: tuple[Access, ...] = ()
    at: datetime


class RunTotals(NamedTuple):
    """What a run has used so far, from the ledger. `unknown` counts calls without a known cost."""

    usage: Usage
    cost: int
    unknown: int


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the ledger, never edited.

    `kind`: hold, settle, release, correct, raise or reset. `cost` None: unknown. `pots` are the budgets
    the row counts in, `session_uid` the session that is charged. Money in nano-dollars. `status`: `open`
    (hold), `settled` or `orphaned` (settle), `released`, `corrected`. A hold's `amount` and `cost` are
    its estimate in tokens and money; a raise's `amount` is the new limit and a reset's what was used
    until then, of the counter that `pots`, `metric`, `period`, `owner` and `start` name. `reserved_at`
    is when the call was admitted, which is the period that a settled row counts in.
    """

    id: int
    at: datetime
    kind: str
    partition: str
    user_id: str | None = None
    session_uid: str | None = None
    run_id: str | None = None
    flow_id: str | None = None
    node_id: str | None = None
    step: int | None = None
    call_id: int | None = None
    attempt: int = 1
    purpose: str | None = None
    model: str | None = None
    provider: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    cost: int | None = None
    cost_source: str | None = None
    price: dict[str, Any] | None = None
    estimated: bool = False
    status: str | None = None
    pots: tuple[str, ...] = ()
    amount: int | None = None
    actor: str | None = None
    reason: str | None = None
    reserved_at: datetime | None = None
    metric: str | None = None
    period: str | None = None
    owner: str | None = None
    start: str | None = None
    for_good: bool = False


class LedgerFilter(msgspec.Struct, frozen=True):
    """Which rows; every field that is set must match, and the kind be one of `kinds` where there are any.
    Times are half-open: since <= at < until."""

    partition: Partition = "real"
    user_id: str | None = None
    flow_id: str | None = None
    session_uid: str | None = None
    run_id: str | None = None
    model: str | None = None
    purpose: str | None = None
    pot: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    kinds: tuple[str, ...] = ()


class SpendLine(NamedTuple):
    """A sum over settled and corrected rows of one group; `unknown` counts rows without a known cost."""

    group: tuple[str | None, ...]
    calls: int
    usage: Usage
    cost: int
    unknown: int
    estimated: int


class CounterLine(NamedTuple):
    """A counter with its key, as stored."""

    key: CounterKey
    counter: Counter


class SessionLine(NamedTuple):
    """A session in a list. `state` is that of its newest run; usage and cost are what was charged to it, by
    its own runs and by maintenance on its behalf."""

    uid: str
    partition: str
    user_id: str | None
    flow_id: str
    flow_name: str
    name: str
    opened_at: datetime
    last_at: datetime
    runs: int
    state: str
    events: int
    usage: Usage
    cost: int
    unknown: int


class RunLine(NamedTuple):
    """A run as stored. `charged_uid`: the session that its calls are charged to."""

    run_id: str
    session_uid: str
    partition: str
    user_id: str | None
    flow_id: str
    flow_name: str
    flow_hash: str
    kind: str
    state: str
    model: str | None
    input: Any
    outputs: dict[str, Any]
    error: dict[str, Any] | None
    queued_at: datetime
    finished_at: datetime | None
    charged_uid: str


class SessionFilter(msgspec.Struct, frozen=True):
    """Which sessions. `text` is found in names, ids and flow names. `before` pages: older than that time."""

    partition: Partition = "real"
    user_id: str | None = None
    flow_id: str | None = None
    name: str | None = None
    state: str | None = None
    text: str | None = None
    before: datetime | None = None
    limit: int = 50


class LimitChange(msgspec.Struct, frozen=True, kw_only=True):
    """A raise or a reset of one counter by a named person.

    `action` `raise`: the limit becomes `amount` (for this period, or `for_good`). `reset`: the counter
    starts from 0 now; no row changes.
    """

    action: Literal["raise", "reset"]
    key: CounterKey
    budget: str
    amount: int | None = None
    for_good: bool = False
    actor: str
    reason: str
    at: datetime


class Lease(msgspec.Struct, frozen=True):
    """The right to do something that only one may do at a time, until a time. `holder` is whoever has it."""

    name: str
    holder: str
    until: datetime


class OrphanCall(msgspec.Struct, frozen=True):
    """A call whose owner died, charged at its estimate."""

    key: str
    node_id: str | None
    step: int | None
    purpose: str
    estimate: Estimate


class Interrupted(msgspec.Struct, frozen=True):
    """A run that was found without an owner and ended so."""

    run_id: str
    session_uid: str
    orphans: tuple[OrphanCall, ...]


BuildAdmission = Callable[[Admission, tuple[Counter, ...]], Sequence[Event]]
BuildSettled = Callable[[tuple[Counter, ...], bool], Sequence[Event]]
BuildWritten = Callable[[Written], Sequence[Event]]
BuildMade = Callable[[tuple[Made, ...]], Sequence[Event]]
BuildFinish = Callable[[RunTotals], Sequence[Event]]
BuildAged = Callable[[Ageing], Sequence[Event]]
"""Makes the events of an ageing of facts, from what was done."""
BuildErased = Callable[[Erased], Sequence[Event]]
BuildImported = Callable[[Shelved], Sequence[Event]]


class Record(Protocol):
    """What every store does. Times given are UTC; money is nano-dollars; lists are in a documented order."""

    # -- life

    async def open(self) -> None:
        """Connect, create or migrate the database, register this process as an owner, end dead owners'
        runs (see `reap`). Raises StoreError with a remedy."""
        ...

    async def close(self) -> None:
        """Finish what is under way and let go."""
        ...

    async def reap(self) -> list[Interrupted]:
        """End the runs of owners that died: their open calls are settled at their estimates, never
        released, their waiters leave, the run is `interrupted` with its events; their leases are free."""
        ...

    # -- runs

    async def claim(self, start: RunStart, events: Sequence[Event]) -> tuple[Claimed, tuple[Entry, ...]]:
        """Begin a run in state `running` under this owner. A new session gets its `session.opened` first."""
        ...

    async def append(self, run_id: str, events: Sequence[Event]) -> tuple[Entry, ...]:
        """Put events on the run's session timeline."""
        ...

    async def open_call(
        self, intent: CallIntent, before: Sequence[Event], build: BuildAdmission, *, ticket: int | None = None
    ) -> CallOpened | CallHeld | CallDone:
        """Decide, hold and open in one transaction, committed durably. `before` (what the run has said
        since its last commit) is put on the timeline whatever the outcome, then what `build` returns."""
        ...

    async def leave_queue(self, ticket: int) -> None:
        """A waiting call gives up its place."""
        ...

    async def wait_settled(self, timeout_s: float) -> bool:
        """Wait until some hold was settled or released, here or in another process; False: nothing yet."""
        ...

    async def close_call(self, close: CallClose, build: BuildSettled) -> Settled:
        """Record usage and result and settle the hold, in one transaction, committed durably. It never
        fails for lack of budget. If the run was fenced off meanwhile, the usage is still recorded: as a
        `correct` row where the call was settled at its estimate; then Fenced is raised."""
        ...

    async def release_call(
        self, call_id: int, run_id: str, at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        """The call used nothing: its hold is free again."""
        ...

    async def finish(self, end: RunEnd, before: Sequence[Event], build: BuildFinish) -> tuple[Entry, ...]:
        """End a run. On `completed` its turns become history. Holds that are still open are settled at
        their estimates."""
        ...

    # -- facts and limits

    async def write_fact(
        self, shelf: Shelf, write: FactWrite, at: datetime, build: BuildWritten, *, run_id: str | None
    ) -> tuple[Written, tuple[Entry, ...]]:
        """Write one fact by the rules of SPEC 6: the same value counts up `seen`; a tainted write to an
        untainted key becomes a `conflict` beside it; `expect_version` raises Conflict when it moved on.
        Without a run its events go to the owner's `@admin` session."""
        ...

    async def forget_facts(
        self,
        shelf: Shelf,
        keys: Sequence[str],
        at: datetime,
        events: Sequence[Event],
        *,
        run_id: str | None,
        retire: bool = False,
    ) -> tuple[Entry, ...]:
        """Put a marker over the keys: reads answer absent; a later write starts a new version. `retire`: what
        is current only becomes a former version, which nothing stops from being written again."""
        ...

    async def age_facts(
        self,
        shelf: Shelf,
        wish: Ageing,
        receipt: str,
        at: datetime,
        build: BuildAged,
        *,
        run_id: str | None,
    ) -> tuple[Ageing, tuple[Entry, ...]]:
        """Carry out what `wish` says of versions that are still the last of their keys; `build` makes the
        events of what was done, where anything was. `receipt` stands where a value was. What a person said of
        the same attribute of the same subject is never promoted over."""
        ...

    async def undo_fact(
        self, shelf: Shelf, key: str, actor: str | None, at: datetime, build: BuildWritten
    ) -> tuple[Written, tuple[Entry, ...]]:
        """Put back the version before as a new one; lifts a forgetting, never an erasure. Raises NotFound
        or Conflict where there is nothing to go back to."""
        ...

    async def settle_fact(
        self,
        shelf: Shelf,
        key: str,
        keep: int,
        origin: Origin,
        actor: str | None,
        at: datetime,
        build: BuildWritten,
    ) -> tuple[Written, tuple[Entry, ...]]:
        """Decide between the current version and the conflicts beside it: `keep` is the version that a
        person vouches for; the others are retired. Raises NotFound or Conflict."""
        ...

    async def change_facts(
        self,
        shelf: Shelf,
        changes: Sequence[FactChange],
        at: datetime,
        build: BuildMade,
        *,
        quiet: bool = True,
    ) -> tuple[tuple[Made, ...], tuple[Entry, ...]]:
        """Make those of these changes whose versions are still the newest, with what `build` says of all.
        Refused with Conflict, where `quiet`, while a run of the shelf's user is active."""
        ...

    async def erase_facts(
        self, shelf: Shelf, wish: Erase, build: BuildErased
    ) -> tuple[Erased, tuple[Entry, ...]]:
        """Replace every value of these keys by the receipt's mark, in all data of their user. Refused with
        Conflict while a run of that user is active. A preview changes and says nothing."""
        ...

    async def move_facts(
        self, shelf: Shelf, to: Shelf, keys: Sequence[str], at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        """Put keys with all their versions on another shelf of the partition, whole or not at all: Conflict
        where one is there already, NotFound where one is missing."""
        ...

    async def import_facts(
        self, items: Sequence[Shelved], at: datetime, build: BuildImported, *, keep_ours: bool = False
    ) -> tuple[Imported, tuple[Entry, ...]]:
        """Add keys with all their versions. Where one is there otherwise, nothing is added at all, unless
        `keep_ours` leaves those out."""
        ...

    async def change_limit(self, change: LimitChange, events: Sequence[Event]) -> tuple[Entry, ...]:
        """A ledger row with actor and reason, effective at the next decision in every process."""
        ...

    # -- cancelling from anywhere

    async def ask_cancel(self, run_id: str, actor: str) -> bool:
        """Ask whoever executes this run to end it. False where it has ended, or was asked before."""
        ...

    async def cancel_asked(self, run_id: str) -> str:
        """Wait until this run, which is executed here, is asked to end; gives who asked."""
        ...

    # -- one at a time

    async def take_lease(self, lease: Lease, at: datetime) -> bool:
        """Take or renew a lease. False while another holder has it, whose time is not over and whose process
        is not known to be dead (see `reap`)."""
        ...

    async def drop_lease(self, lease: Lease) -> None:
        """Let it go; harmless where it is somebody else's by now."""
        ...

    async def lease_held(self, name: str, at: datetime) -> bool:
        """Whether anybody has this lease."""
        ...

    # -- reads

    async def facts(self, shelf: Shelf, *, keys: Sequence[str] | None = None) -> list[Fact]:
        """The current facts in key order; forgotten, superseded and conflicting versions are left out."""
        ...

    async def fact_versions(self, shelf: Shelf, key: str | None = None) -> list[Fact]:
        """Every version, conflicts and forgotten ones included, by key and version."""
        ...

    async def shelves(self, partition: Partition, user_id: str | None = None) -> list[tuple[Shelf, int]]:
        """The shelves that have facts, with how many current ones. A session's shelf is its user's."""
        ...

    async def history(self, session_uid: str, node_id: str, *, last: int | None = None) -> list[Message]:
        """The messages of a node's turns in the session's completed runs, in the order in which the runs
        completed; `last` takes only about the last so many messages, whole turns."""
        ...

    async def user_turns(self, session_uid: str, node_ids: Sequence[str], *, after: int = 0) -> UserTurns:
        """The turns of these nodes in every session of this session's user and flow, itself included, after
        the turn `after`. Nothing where the session has no user."""
        ...

    async def earlier_turns(
        self, session_uid: str, node_id: str, *, sessions: int, turns: int
    ) -> list[TurnLine]:
        """The last `turns` turns of a node in each of the last `sessions` other sessions of this session's
        user and flow, oldest first. Nothing where the session has no user."""
        ...

    async def accesses(self, shelf: Shelf) -> dict[str, Access]:
        """How often the facts of a shelf were used, by key."""
        ...

    async def counters(self, keys: Sequence[CounterKey]) -> list[Counter]:
        """The counters as they stand; one that is not there yet reads as the fold over its ledger rows, with
        what the calls in flight of its pot may use at most as held."""
        ...

    async def all_counters(self, partition: Partition, user_id: str | None = None) -> list[CounterLine]:
        """Every stored counter, newest period first; with a user only theirs and those of all together."""
        ...

    async def model_past(self, partition: Partition, model: str) -> ModelPast:
        """What the last settled calls of a model showed."""
        ...

    async def ledger(
        self, which: LedgerFilter, *, after: int = 0, before: int | None = None, limit: int | None = None
    ) -> list[LedgerRow]:
        """Rows by id, those after one; with `before` those before one, the newest first."""
        ...

    async def spend(self, which: LedgerFilter, by: Sequence[str]) -> list[SpendLine]:
        """Sums by `user`, `flow`, `model`, `purpose`, `day`, `session`, `run` or `node`, dearest first."""
        ...

    async def run_totals(self, run_id: str) -> RunTotals:
        """What a run has used so far."""
        ...

    async def run(self, run_id: str) -> RunLine | None:
        """One run."""
        ...

    async def runs(self, session_uid: str) -> list[RunLine]:
        """The runs of a session, oldest first."""
        ...

    async def flow_bytes(self, flow_hash: str) -> bytes | None:
        """The document that a run went by."""
        ...

    async def flow_paths(self, flow_id: str) -> list[str]:
        """The paths that this flow id was run from."""
        ...

    async def sessions(self, which: SessionFilter) -> list[SessionLine]:
        """Sessions, the latest active first."""
        ...

    async def session(self, uid: str) -> SessionLine | None:
        """One session."""
        ...

    async def session_names(self, ids: Sequence[str]) -> dict[str, str]:
        """What sessions are called, by the uid, or by the id of a run in them, that is given. An id that is
        not known is left out."""
        ...

    async def hidden_rehearsals(self, user_id: str | None = None) -> int:
        """How many sessions belong to rehearsals: all of them, or a user's. Farthing's own, whose names or
        flow ids begin with `@`, are not counted."""
        ...

    async def events_json(
        self, session_uid: str, *, after: int = 0, limit: int | None = None, run_id: str | None = None
    ) -> list[bytes]:
        """Events of a session as JSON, in order of seq, from after `after`."""
        ...

    async def first_seq(self, session_uid: str) -> int:
        """The first seq that is still kept; 1 unless retention removed a prefix."""
        ...

    def follow(self, session_uid: str, *, after: int = 0) -> AsyncIterator[bytes]:
        """Events as JSON as they are committed, here or in another process, without a gap or a repeat."""
        ...
