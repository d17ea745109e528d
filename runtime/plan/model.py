"""A flow that was checked and compiled: the only thing that is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from runtime.errors import Problem
from runtime.ledger import Rule
from runtime.node import NodeType

if TYPE_CHECKING:
    from runtime.tools.attached import Attached


class Source(NamedTuple):
    """An incoming message edge: the plan index of the node it comes from, its output port, that node's id;
    `back`: it closes a cycle."""

    node: int
    port: str
    id: str
    back: bool = False


class Target(NamedTuple):
    """An outgoing message edge: the plan index of the node it goes to and the output port it leaves from."""

    node: int
    port: str
    back: bool = False


class MemoryBinding(msgspec.Struct, frozen=True):
    """The Memory that serves a node: its id, its config and the namespace of its facts."""

    node_id: str
    config: Any
    namespace: str


class PlanNode(msgspec.Struct, frozen=True):
    """A node ready to run. `rules` are the flow's budgets that govern its model calls; `awaits` counts the
    edges that it waits for on its first visit."""

    index: int
    id: str
    type: NodeType
    config: Any
    sources: tuple[Source, ...] = ()
    targets: tuple[Target, ...] = ()
    awaits: int = 0
    rules: tuple[Rule, ...] = ()
    memory: MemoryBinding | None = None
    tools: tuple[Attached, ...] = ()
    main_port: str = "out"


class Plan(msgspec.Struct, frozen=True):
    """A compiled flow: nodes in canonical order, attachments apart."""

    flow_id: str
    name: str
    hash: str
    raw: bytes
    nodes: tuple[PlanNode, ...]
    attachments: dict[str, Any] = msgspec.field(default_factory=dict)
    needs: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    has_cycles: bool = False

    @property
    def entry(self) -> PlanNode | None:
        """The node that takes the run's input, where there is one."""
        return next((node for node in self.nodes if node.type.entry_of_flow), None)

    @property
    def reasoners(self) -> tuple[PlanNode, ...]:
        """The nodes that may call models, in plan order."""
        return tuple(node for node in self.nodes if node.type.reasons(node.config))

    def needs_user(self) -> str | None:
        """Why this flow cannot run without a user, in words; None where it can."""
        for node in self.reasoners:
            for rule in node.rules:
                if rule.period not in ("run", "session") and not rule.everyone:
                    return f"the budget {rule.name!r} counts {rule.period} use of a user"
            if node.memory is not None and node.memory.config.scope == "user":
                return f"the Memory {node.memory.node_id!r} keeps facts of a user"
        return None
