"""A flow while it is compiled: what was found so far, problems included."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from runtime.errors import Problem
from runtime.node import NodeType, Port, PortKind
from runtime.registry import Registry
from runtime.spec import LoadedFlow, NodeSpec

if TYPE_CHECKING:
    from runtime.tools.attached import Attached
    from runtime.tools.registry import ToolRegistry


FindTools = Callable[[], "ToolRegistry | None"]


class Compiled(msgspec.Struct, frozen=True):
    """A node whose type and config are sound."""

    spec: NodeSpec
    type: NodeType
    config: Any
    outputs: dict[str, Port]
    inputs: dict[str, Port]


class Edge(NamedTuple):
    """An edge with its ports resolved."""

    source: str
    source_port: str
    target: str
    target_port: str
    kind: PortKind


class Draft:
    """Collects nodes, edges and problems; nothing of it outlives `compile_flow`."""

    def __init__(
        self, loaded: LoadedFlow, registry: Registry, find_tools: FindTools | None, folder: Path | None
    ) -> None:
        self.loaded, self.spec, self.registry = loaded, loaded.spec, registry
        self.find_tools, self.folder = find_tools, folder
        self.tools: dict[str, Attached] = {}
        self.problems: list[Problem] = list(loaded.warnings)
        self.nodes: dict[str, Compiled] = {}
        self.edges: list[Edge] = []
        self.seen: set[Edge] = set()
        self.taken: set[tuple[str, str]] = set()
        self.leaving: set[str] = set()
        self.path_of = {node.id: f"$.nodes[{i}]" for i, node in enumerate(self.spec.nodes)}

    def say(
        self, code: str, message: str, remedy: str, node_id: str | None, path: str, level: str = "error"
    ) -> None:
        self.problems.append(Problem(code, message, remedy, node_id, path, level))


def nearest(name: str, names: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(names), n=1)), None)
