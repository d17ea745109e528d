"""A function as a tool node lends it to an agent: the node's own bounds, and what the user must grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from runtime.errors import BadSettings, Problem
from runtime.messages import ToolSpec
from runtime.record import Effect
from runtime.tools.calling import call
from runtime.tools.function import Function, ToolContext

if TYPE_CHECKING:
    from runtime.tools.registry import ToolRegistry

FREE = frozenset({"calculator", "current_time"})
"""Of Farthing's own tools, those that reach nothing: no grant is needed (SPEC 7)."""
WEIGHT: dict[Effect, int] = {"none": 0, "idempotent": 1, "once": 2}
"""How much harm a repeated call could do."""


class ToolConfig(Protocol):
    """What a tool node says; absent values are the function's own."""

    @property
    def function(self) -> str | None: ...
    @property
    def folder(self) -> str | None: ...
    @property
    def effect(self) -> Effect | None: ...
    @property
    def timeout_s(self) -> float | None: ...
    @property
    def max_result_tokens(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A tool ready to be lent. `folder` has its links resolved."""

    node_id: str
    function: Function
    effect: Effect
    timeout_s: float
    max_result_tokens: int
    folder: Path | None = None

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def spec(self) -> ToolSpec:
        return self.function.spec

    def needs(self) -> tuple[str, ...]:
        """What the user must grant. It names where the function comes from, and whether the flow takes it
        for more harmless than it says it is."""
        needs = []
        function = self.function
        if function.source:
            softer = WEIGHT[self.effect] < WEIGHT[function.effect]
            as_effect = f" as effect {self.effect}" if softer else ""
            needs.append(f"tool {function.name} ({function.source}){as_effect}")
        elif function.name not in FREE and not function.folder:
            needs.append(f"tool {function.name}")
        if self.folder is not None:
            needs.append(f"folder {self.folder}")
        return tuple(needs)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """The result as a JSON value. Raises InputError for arguments that do not fit, ToolFailure, or what
        the function raises of Farthing's own errors."""
        given = self.function.bind(arguments, context)
        return await call(self.name, self.function.function, given, self.timeout_s)


class ToolNode(NamedTuple):
    """A tool node as it stands in a flow; `path` is its JSON path."""

    node_id: str
    path: str
    config: ToolConfig


class AllAttached(NamedTuple):
    """The tools of a flow by node id, and what is wrong with the others."""

    tools: dict[str, Attached]
    problems: list[Problem]


def attach_all(nodes: Iterable[ToolNode], registry: ToolRegistry, base: Path | None) -> AllAttached:
    """Find the functions that tool nodes name. Folders are relative to `base`, the flow's own; absent, to
    the working folder."""
    found = AllAttached({}, [])
    for node in nodes:
        if node.config.function is None:
            continue  # what it asks for instead is refused by the node's own check
        function = registry.get(node.config.function)
        problem = _problem(node, function, registry)
        if problem is not None or function is None:
            found.problems.extend([problem] if problem is not None else ())
            continue
        found.tools[node.node_id] = _attached(node, function, base)
    return found


def same_names(target: str, path: str, tools: Sequence[Attached]) -> list[Problem]:
    """What is wrong where an agent is lent several tools of one name."""
    by_name: dict[str, list[str]] = {}
    for tool in tools:
        by_name.setdefault(tool.name, []).append(tool.node_id)
    return [
        Problem(
            "tool.same_name",
            f"{target!r} has several tools named {name!r}: {' and '.join(ids)}",
            "Attach one of them.",
            target,
            path,
        )
        for name, ids in by_name.items()
        if len(ids) > 1
    ]


def _problem(node: ToolNode, function: Function | None, registry: ToolRegistry) -> Problem | None:
    name, config = node.config.function or "", node.config
    if function is None:
        return Problem(
            "tool.unknown_function",
            f"{node.node_id!r} names the function {name!r}, which is not registered",
            registry.nearest(name),
            node.node_id,
            f"{node.path}.config.function",
        )
    try:
        function.spec  # noqa: B018  # made now, so that a function that cannot be a tool is told before a run
    except BadSettings as error:
        return Problem(
            error.code, error.message, error.remedy or "", node.node_id, f"{node.path}.config.function"
        )
    if function.folder and not config.folder:
        words, remedy = "needs a folder that it may read", 'Give "folder": "docs", relative to the flow.'
    elif config.folder and not function.folder:
        words, remedy = "takes no folder", "Leave `folder` away."
    else:
        return None
    return Problem(
        "tool.folder",
        f"{name!r} of {node.node_id!r} {words}",
        remedy,
        node.node_id,
        f"{node.path}.config.folder",
    )


def _attached(node: ToolNode, function: Function, base: Path | None) -> Attached:
    config = node.config
    folder = None
    if config.folder is not None:
        folder = ((base or Path.cwd()) / Path(config.folder).expanduser()).resolve()
    return Attached(
        node_id=node.node_id,
        function=function,
        effect=config.effect or function.effect,
        timeout_s=config.timeout_s or function.timeout_s,
        max_result_tokens=config.max_result_tokens or function.max_result_tokens,
        folder=folder,
    )
