"""The whole contract of a node type. A node file has a frozen config, one `run`, and one `node` value.

`run(config, inputs, ctx)` is given its checked config, its inputs, and `ctx`, its only door to the world.
The budget lies below that door: no node can make a model call that is not decided, held and settled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from runtime.errors import Problem
from runtime.facts import Fact, Kind, Written
from runtime.ledger import Rule
from runtime.messages import Message, Purpose, Reply, Request
from runtime.shape import Shape

PortKind = Literal["message", "memory", "budget", "tool"]


class Config(Shape):
    """Base of a node's config: frozen, nothing unknown, the text below a field is its help.

    Bounds are written `Annotated[int, Meta(ge=1)]`; `__post_init__` checks what concerns several fields and
    raises `Wrong`. A pydantic model does as well.
    """


class Port(msgspec.Struct, frozen=True):
    """A typed connection point. `many`: takes more than one edge. `required`: the node cannot run without."""

    name: str
    kind: PortKind = "message"
    title: str = ""
    many: bool = True
    required: bool = False


class Inputs(msgspec.Struct, frozen=True, gc=False):
    """What came in by the message edges: `by_source` keyed by node id in edge order; `value` is the single
    source's value, or that object where there are several, or null where there is none."""

    value: Any
    by_source: Mapping[str, Any]

    def names(self) -> dict[str, Any]:
        """What templates and conditions see: `inputs.<id>`, and `input` where there is one source."""
        seen: dict[str, Any] = {"inputs": dict(self.by_source)}
        if len(self.by_source) == 1:
            seen["input"] = self.value
        return seen


class Branch(msgspec.Struct, frozen=True):
    """Directive: only this output port is taken; the others resolve as skipped."""

    port: str


class Repeat(msgspec.Struct, frozen=True):
    """Directive: run the body again with this value."""

    value: Any


class FanOut(msgspec.Struct, frozen=True):
    """Directive: run the body once for each item, at most `concurrency` at the same time."""

    items: Sequence[Any]
    concurrency: int


class Wait(msgspec.Struct, frozen=True):
    """Directive: wait for `all` or `any` of the incoming branches."""

    mode: Literal["all", "any"]


class Ask(msgspec.Struct, frozen=True):
    """Directive: pause until a person answers."""

    kind: Literal["approval", "question"]
    text: str
    timeout_s: float | None = None
    default: Any = None


class CallFlow(msgspec.Struct, frozen=True):
    """Directive: run another flow with this value."""

    flow: str
    value: Any


Directive = Branch | Repeat | FanOut | Wait | Ask | CallFlow


class NodeResult(msgspec.Struct, frozen=True, gc=False):
    """What a node gives: a JSON value on its main output port, or a directive for the run to carry out.

    `turn` is what an agent adds to the session's history once the run completes.
    """

    value: Any = None
    directive: Directive | None = None
    turn: tuple[Message, ...] = ()


class ReadFacts(Protocol):
    """The facts door: the shelf of the attached Memory."""

    async def all(self) -> list[Fact]:
        """Current facts in key order."""
        ...

    async def write(
        self, key: str, value: Any, *, kind: Kind = "fact", ttl_s: float | None = None
    ) -> Written:
        """Write through the gate; raises InputError where it refuses."""
        ...


class NodeContext(Protocol):
    """A node's only door. Everything it does is on the timeline and under the budgets that govern it."""

    @property
    def node_id(self) -> str: ...

    async def reason(self, task: Any, inputs: Inputs) -> NodeResult:
        """The agent's loop: think, call tools, answer. `task` is an agent's config."""
        ...

    async def complete(self, request: Request, *, purpose: Purpose = "main") -> Reply:
        """One model call, decided, held and settled."""
        ...

    def render(self, text: str, inputs: Inputs) -> str:
        """A template rendered with the inputs."""
        ...

    def text(self, value: Any) -> str:
        """A value as a model reads it: a text as it is, nothing as nothing, all else as JSON."""
        ...

    def evaluate(self, text: str, inputs: Inputs) -> Any:
        """A template whose text is one `{{ expression }}` alone gives the value itself, else its text."""
        ...

    def test(self, condition: str, inputs: Inputs) -> bool:
        """A condition over the inputs."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool attached to this node."""
        ...

    @property
    def facts(self) -> ReadFacts: ...

    async def history(self, *, last: int | None = None) -> list[Message]:
        """This node's turns in the session's completed runs."""
        ...

    def emit(self, name: str, data: Any = None) -> None:
        """Put a `custom` event on the timeline."""
        ...


class FlowView(Protocol):
    """What a node's own check may look at."""

    @property
    def node_id(self) -> str: ...

    def attached(self, kind: PortKind) -> Sequence[str]:
        """Ids of nodes attached to this one by edges of that kind."""
        ...


Run = Callable[[Any, Inputs, NodeContext], Awaitable[NodeResult]]
Check = Callable[[Any, FlowView], Sequence[Problem]]


def schema_problems(schema: dict[str, Any] | None) -> Sequence[Problem]:
    """What is wrong with a JSON Schema in a config; paths begin at `$`, the schema itself."""
    if schema is None:
        return ()
    from runtime.schema_check import Schema

    return Schema(schema).problems()


def no_outputs(_config: Any) -> tuple[Port, ...]:
    """No ports beyond the declared ones."""
    return ()


def no_conditions(_config: Any) -> tuple[str, ...]:
    """A node without conditions."""
    return ()


def never(_config: Any) -> bool:
    """A node that calls no model."""
    return False


def always(_config: Any) -> bool:
    """A node that may always call a model."""
    return True


class NodeType(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of node: how it is configured, wired, shown and run.

    `run` is None for attachments (memory, budget, tool): they are never executed, they govern. `outputs`
    are fixed ports; `more_outputs(config)` adds those that depend on the config (a router's branches).
    `summary(config)` is the one line on the node's card. `migrate(config, from_version)` lifts a raw config.
    `rule(config, node_id, flow_id)` makes a budget's limit; only the budget kind has one. `templates` names
    config fields that are templates; `conditions(config)` gives its conditions. `steers`: it may close a
    cycle. `instant`: it never really awaits, so it needs no task of its own. `reasons(config)`: it may call
    models, by its config's `model`. `entry_of_flow` takes the run's input; `result_of_flow` gives a result.
    """

    name: str
    config: type[Config]
    title: str
    category: Literal["Flow", "Reason", "Memory", "Budget", "Tools", "Text", "Steer"]
    help: str
    icon: str
    version: int = 1
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    run: Run | None = None
    more_outputs: Callable[[Any], tuple[Port, ...]] = no_outputs
    summary: Callable[[Any], str] | None = None
    check: Check | None = None
    migrate: Callable[[dict[str, Any], int], dict[str, Any]] | None = None
    rule: Callable[[Any, str, str], Rule] | None = None
    result_of_flow: bool = False
    entry_of_flow: bool = False
    steers: bool = False
    instant: bool = False
    conditions: Callable[[Any], tuple[str, ...]] = no_conditions
    reasons: Callable[[Any], bool] = never
    templates: tuple[str, ...] = ()
    keywords: tuple[str, ...] = msgspec.field(default=())
