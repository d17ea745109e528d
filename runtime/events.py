"""The timeline's events: one closed tagged union, immutable, written once, read for ever.

An event is built by who saw it happen; `seq` and `session_uid` come with the commit (`Entry`). The stored
body is the event's JSON without those two, so that reading a timeline as JSON is splicing bytes.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import msgspec

from runtime.usage import Usage


class Base(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Fields that every event has; null where there is none. `at` is UTC; `v` the version of the shape.

    Events hold JSON and no circles, so that the garbage collector need not look at them.
    """

    at: datetime
    run_id: str | None = None
    node_id: str | None = None
    step: int | None = None
    v: int = 1


class Gauge(msgspec.Struct, frozen=True, kw_only=True):
    """A budget as it stood: amounts are tokens or nano-dollars, by `metric`.

    `limit` null: no limit is known here. `unknown` counts calls of unknown cost, so `used` is "at least".
    """

    budget: str
    pot: str
    metric: str
    period: str
    used: int
    held: int
    limit: int | None
    threshold_pct: float | None = None
    unknown: int = 0
    node_id: str | None = None
    resets_at: datetime | None = None
    field: str | None = None


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """What one call holds of one budget until it is settled."""

    pot: str
    metric: str
    period: str
    amount: int


class CallError(msgspec.Struct, frozen=True, kw_only=True):
    """Why something failed, as a person may read it; never a secret."""

    code: str
    message: str
    remedy: str | None = None
    status: int | None = None


# Sessions and runs


class SessionOpened(Base, tag="session.opened", frozen=True, kw_only=True):
    """The session's first event."""

    name: str
    flow_id: str
    user_id: str | None = None
    partition: str = "real"


class RunQueued(Base, tag="run.queued", frozen=True, kw_only=True):
    """A run was accepted and waits for its turn."""

    flow_id: str
    flow_hash: str


class RunStarted(Base, tag="run.started", frozen=True, kw_only=True):
    """A run began: on which flow's bytes, with which input and default model."""

    flow_id: str
    flow_name: str
    flow_hash: str
    kind: str = "flow"
    model: str | None = None
    rehearsal: bool = False
    input: Any = None


class RunPaused(Base, tag="run.paused", frozen=True, kw_only=True):
    """A run waits for a person or for a budget."""

    reason: str


class RunResumed(Base, tag="run.resumed", frozen=True, kw_only=True):
    """A run goes on, maybe in another process."""

    reason: str


class RunFinished(Base, tag="run.finished", frozen=True, kw_only=True):
    """A run's last event. `state`: completed, failed, cancelled or interrupted.

    `cost` sums the known costs in nano-dollars; `unknown_cost` counts the calls that have none.
    """

    state: str
    outputs: dict[str, Any] = {}
    usage: Usage = Usage()
    cost: int = 0
    unknown_cost: int = 0
    error: CallError | None = None
    ms: int = 0


# Nodes


class NodeStarted(Base, tag="node.started", frozen=True, kw_only=True):
    """A node has its inputs and runs. `visit` counts from 1 in a cycle, `item` from 0 in a map."""

    visit: int = 1
    item: int | None = None


class NodeFinished(Base, tag="node.finished", frozen=True, kw_only=True):
    """A node gave its result on `port`."""

    visit: int = 1
    item: int | None = None
    port: str = "out"
    output: Any = None


class NodeFailed(Base, tag="node.failed", frozen=True, kw_only=True):
    """A node could not give a result. `handled`: its `on_error` lets the run go on, at `port`."""

    error: CallError
    visit: int = 1
    item: int | None = None
    handled: bool = False
    port: str | None = None


class NodeSkipped(Base, tag="node.skipped", frozen=True, kw_only=True):
    """A node was not run, since every branch that leads to it was not taken, or the run ended first."""

    reason: str = "branch not taken"


# Agents and calls


class AgentRequest(Base, tag="agent.request", frozen=True, kw_only=True):
    """What an agent was asked."""

    text: str
    model: str | None = None


class AgentClarify(Base, tag="agent.clarify", frozen=True, kw_only=True):
    """An agent ends its turn with a question."""

    text: str


class AgentResponse(Base, tag="agent.response", frozen=True, kw_only=True):
    """What the model said at a step. `final`: it is the answer. `tool_calls` names those it asks for."""

    text: str
    final: bool = False
    purpose: str = "main"
    tool_calls: tuple[str, ...] = ()
    call: str | None = None


class AgentWarning(Base, tag="agent.warning", frozen=True, kw_only=True):
    """Something a person should know; the run goes on. Code `budget.threshold`: see `gauge`."""

    code: str
    message: str
    remedy: str | None = None
    gauge: Gauge | None = None


class AgentError(Base, tag="agent.error", frozen=True, kw_only=True):
    """An agent stops. Code `budget.exceeded`: `gauge` has the numbers, the reset and the field to change."""

    code: str
    message: str
    remedy: str | None = None
    gauge: Gauge | None = None


class AgentUsage(Base, tag="agent.usage", frozen=True, kw_only=True):
    """The end of a model call: what it used. `cost` null: unknown. `estimated`: by our own count."""

    call: str
    purpose: str
    model: str
    attempt: int = 1
    usage: Usage = Usage()
    cost: int | None = None
    cost_source: str = "unknown"
    estimated: bool = False
    finish: str | None = None
    request_id: str | None = None
    ms: int = 0
    error: CallError | None = None


class PlanUpdated(Base, tag="plan.updated", frozen=True, kw_only=True):
    """An agent's active plan and how far it is."""

    items: list[dict[str, Any]]
    done: int = 0


class ContextItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of a context or one that was left out: `why` says why."""

    ref: str
    tokens: int
    score: float | None = None
    source: str | None = None
    why: str | None = None


class ContextSection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of what was sent, in the order sent; history is a range of the session's messages."""

    name: str
    tokens: int
    items: tuple[ContextItem, ...] = ()
    first: int | None = None
    count: int | None = None


class GaveWay(msgspec.Struct, frozen=True, kw_only=True):
    """What one stage took away so that a context fits into the window: how many `items`, and the tokens of
    all that is sent before and after it."""

    stage: int
    name: str
    items: int
    before: int
    after: int


class ContextAssembled(Base, tag="context.assembled", frozen=True, kw_only=True):
    """The bill of a context: each section with its tokens; what was left out (50 at most, then a count). Of
    `window`, `output_buffer` tokens are kept for the answer; null where it is not known. `gave_way`: the
    stages that it took to fit; empty where all did."""

    purpose: str = "main"
    sections: tuple[ContextSection, ...] = ()
    tokens: int = 0
    window: int | None = None
    output_buffer: int | None = None
    left_out: tuple[ContextItem, ...] = ()
    left_out_count: int = 0
    gave_way: tuple[GaveWay, ...] = ()


class ModelCalled(Base, tag="model.called", frozen=True, kw_only=True):
    """A model call goes out: messages new since the last call (`kept` are sent again), and a digest."""

    call: str
    purpose: str
    model: str
    attempt: int = 1
    kept: int = 0
    messages: tuple[Any, ...] = ()
    digest: str = ""
    tools: tuple[str, ...] = ()


class ToolRequest(Base, tag="tool.request", frozen=True, kw_only=True):
    """A tool is called; `arguments` is what the model sent."""

    call: str
    tool: str
    arguments: Any = None
    effect: str = "once"


class ToolResponse(Base, tag="tool.response", frozen=True, kw_only=True):
    """A tool answered, or could not: then `error` says why and the model is told."""

    call: str
    tool: str
    result: Any = None
    error: CallError | None = None
    truncated: bool = False
    ms: int = 0


# Memory


class MemoryEvent(Base, frozen=True, kw_only=True):
    """Where a memory event happened."""

    namespace: str
    scope: str
    keys: tuple[str, ...] = ()


class MemoryRead(MemoryEvent, tag="memory.read", frozen=True, kw_only=True):
    """Facts were read; values are not repeated here."""

    found: int = 0


class MemoryWrite(MemoryEvent, tag="memory.write", frozen=True, kw_only=True):
    """A fact was written. `outcome`: created, replaced, seen or conflict."""

    outcome: str
    version: int
    value: Any = None
    kind: str = "fact"
    origin: str = "model"
    actor: str | None = None
    valid_to: datetime | None = None


class MemoryRefused(MemoryEvent, tag="memory.refused", frozen=True, kw_only=True):
    """The gate refused a write; the value is not repeated."""

    code: str
    message: str


class MemoryForgotten(MemoryEvent, tag="memory.forgotten", frozen=True, kw_only=True):
    """Facts were forgotten: a marker stays that nothing resurrects."""

    actor: str | None = None


class MemoryErased(MemoryEvent, tag="memory.erased", frozen=True, kw_only=True):
    """Values were erased everywhere; the receipt says what was reached."""

    receipt: str
    actor: str | None = None
    places: dict[str, int] = {}


class MemoryMoved(MemoryEvent, tag="memory.moved", frozen=True, kw_only=True):
    """Facts were moved to another shelf."""

    to_scope: str
    to_owner: str
    to_namespace: str = ""
    actor: str | None = None


class MemoryCompacted(MemoryEvent, tag="memory.compacted", frozen=True, kw_only=True):
    """Old turns were replaced by a summary."""

    turns: int
    tokens_before: int
    tokens_after: int
    target_met: bool
    errors: tuple[str, ...] = ()


class Retired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version of a fact that consolidation is about, and why.

    `action`: `expire` (its time is over), `merge` (`by`, at version `by_version`, says the same), `rewrite`
    (`by` says both as `text`, in its version `wrote`), or `conflict` (it and `by` cannot both be true;
    neither changes). A person settles such a mark: `keep` (`by` is right, this one was retired) or `both`
    (both are right; neither changes). `until`: when it was to end. `judged_in`: the run in which a model said
    so.
    """

    key: str
    version: int
    action: str
    why: str
    by: str | None = None
    until: datetime | None = None
    by_version: int | None = None
    text: str | None = None
    wrote: int | None = None
    judged_in: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model says of two versions of facts. `relation`: same, merge (`text` says both), conflict or
    different."""

    key: str
    version: int
    other: str
    other_version: int
    relation: str
    text: str = ""
    why: str = ""


class MemoryJudged(MemoryEvent, tag="memory.judged", frozen=True, kw_only=True):
    """A model said of pairs of facts on one shelf how they relate; nothing was changed. `tokens` and `cost`
    (nano-dollars; null: unknown) are those of the calls that it took."""

    owner: str = ""
    verdicts: tuple[Verdict, ...] = ()
    model: str | None = None
    tokens: int = 0
    cost: int | None = None


class MemoryProposed(MemoryEvent, tag="memory.proposed", frozen=True, kw_only=True):
    """What consolidation would change on one shelf, to be looked at; nothing was changed. A batch has one
    such event for each `part`. `conflicts` keys of the shelf wait for a person, said once a shelf."""

    owner: str = ""
    batch: str
    part: int = 0
    changes: tuple[Retired, ...] = ()
    conflicts: int = 0
    actor: str | None = None


class MemoryConsolidated(MemoryEvent, tag="memory.consolidated", frozen=True, kw_only=True):
    """Maintenance changed memory: one part of a batch, on one shelf. `faded`: derived facts that were not
    used for long are former versions now; `emptied`: former ones lost their value. `conflicts` were found and
    left to people; `skipped` changes rested on versions that had moved on. `undoes`: the batch whose part was
    taken back."""

    part: int = 0
    skipped: int = 0
    merged: int = 0
    expired: int = 0
    promoted: int = 0
    faded: int = 0
    emptied: int = 0
    conflicts: int = 0
    owner: str = ""
    batch: str = ""
    changes: tuple[Retired, ...] = ()
    undoes: str | None = None
    actor: str | None = None


class PolicyFailed(Base, tag="policy.failed", frozen=True, kw_only=True):
    """A memory policy could not do its work; memory is unchanged and the turn goes on."""

    policy: str
    error: CallError


# Budgets


class BudgetReserved(Base, tag="budget.reserved", frozen=True, kw_only=True):
    """A call was admitted: its estimate, and what it holds of each budget."""

    call: str
    purpose: str
    estimate_tokens: int
    estimate_cost: int | None
    holds: tuple[Hold, ...] = ()


class BudgetWaiting(Base, tag="budget.waiting", frozen=True, kw_only=True):
    """Only the holds of other calls stand in the way; this one waits in order of arrival."""

    call: str
    gauges: tuple[Gauge, ...] = ()


class BudgetSettled(Base, tag="budget.settled", frozen=True, kw_only=True):
    """Usage is recorded; `gauges` show each budget after it. `status`: settled, orphaned, corrected."""

    call: str
    tokens: int
    cost: int | None
    status: str = "settled"
    estimated: bool = False
    over_estimate: bool = False
    gauges: tuple[Gauge, ...] = ()


class BudgetReleased(Base, tag="budget.released", frozen=True, kw_only=True):
    """A call used nothing; what it held is free again."""

    call: str
    reason: str


class BudgetChanged(Base, tag="budget.changed", frozen=True, kw_only=True):
    """A person raised or reset a budget. `amount` is the new limit of a raise."""

    action: str
    budget: str
    metric: str
    period: str
    owner: str
    actor: str
    reason: str
    amount: int | None = None
    previous: int | None = None
    for_good: bool = False


# People and plugins


class HumanAsked(Base, tag="human.asked", frozen=True, kw_only=True):
    """A person is asked."""

    ask_id: str
    kind: str
    question: str


class HumanAnswered(Base, tag="human.answered", frozen=True, kw_only=True):
    """A person, or the time-out's default, answered."""

    ask_id: str
    answer: Any
    actor: str | None = None


class Custom(Base, tag="custom", frozen=True, kw_only=True):
    """What a node of somebody's own has to say."""

    name: str
    data: Any = None


Event = (
    SessionOpened
    | RunQueued
    | RunStarted
    | RunPaused
    | RunResumed
    | RunFinished
    | NodeStarted
    | NodeFinished
    | NodeFailed
    | NodeSkipped
    | AgentRequest
    | AgentClarify
    | AgentResponse
    | AgentWarning
    | AgentError
    | AgentUsage
    | PlanUpdated
    | ContextAssembled
    | ModelCalled
    | ToolRequest
    | ToolResponse
    | MemoryRead
    | MemoryWrite
    | MemoryRefused
    | MemoryForgotten
    | MemoryErased
    | MemoryMoved
    | MemoryCompacted
    | MemoryJudged
    | MemoryProposed
    | MemoryConsolidated
    | PolicyFailed
    | BudgetReserved
    | BudgetWaiting
    | BudgetSettled
    | BudgetReleased
    | BudgetChanged
    | HumanAsked
    | HumanAnswered
    | Custom
)


class Unknown(msgspec.Struct, frozen=True):
    """An event of a type that this version does not know: shown raw, never an error."""

    type: str
    body: dict[str, Any]


class Entry(NamedTuple):
    """A committed event: its place on the timeline, itself, and its stored bytes."""

    session_uid: str
    seq: int
    event: Event
    body: bytes

    def json(self) -> bytes:
        """The whole event as JSON."""
        return splice(self.session_uid, self.seq, self.body)


encoder = msgspec.json.Encoder()


@cache
def _decoder() -> msgspec.json.Decoder[Event]:
    """Made where an event is read: it looks into every type, which a run that only writes need not pay."""
    return msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """The stored body of an event. NaN and infinities become null; halves of characters the sign for one that
    cannot be shown."""
    try:
        return encoder.encode(event)
    except UnicodeEncodeError:
        return encoder.encode(_whole_characters(msgspec.to_builtins(event)))


def _whole_characters(value: Any) -> Any:
    """The same tree without lone surrogates, which no file can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole_characters(item) for item in value]
    return value


def decode(body: bytes) -> Event | Unknown:
    """The event of a stored body; an unknown type or an unreadable shape comes back raw."""
    try:
        return _decoder().decode(body)
    except (msgspec.ValidationError, RecursionError):
        raw = msgspec.json.decode(body)
        return Unknown(str(raw.get("type", "?")), raw)


def splice(session_uid: str, seq: int, body: bytes) -> bytes:
    """JSON of a whole event from its place and its stored body, without parsing."""
    return b'{"session_uid":"%s","seq":%d,%s' % (session_uid.encode(), seq, body[1:])


def event_types() -> dict[str, type[Base]]:
    """Every event class by its type, in the order of the union."""
    return {str(cls.__struct_config__.tag): cls for cls in Event.__args__}
