"""From a document to its plan; every problem is named at once, each with its node and JSON path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.errors import BadFlow, Problem
from runtime.plan.build import attach_tools, build
from runtime.plan.checks import check_nodes, check_whole, put_in_order
from runtime.plan.draft import Draft, FindTools
from runtime.plan.edges import read_edge
from runtime.plan.model import Plan
from runtime.plan.nodes import read_node
from runtime.registry import Registry
from runtime.spec import LoadedFlow, NodeSpec, load_flow


def read_plan(
    raw: bytes,
    registry: Registry,
    find_tools: FindTools | None = None,
    folder: Path | None = None,
    *,
    name: str = "the flow file",
) -> Plan:
    """The plan of a file's bytes. Raises BadFlow with every problem; where the document has wrong fields,
    these and what is wrong with the configs of its other nodes. The rest as in `compile_flow`."""

    def look(nodes: Sequence[tuple[str, NodeSpec]]) -> Sequence[Problem]:
        from runtime.plan.partly import look_at_nodes

        return look_at_nodes(nodes, registry)

    return compile_flow(load_flow(raw, name=name, look=look), registry, find_tools, folder)


def compile_flow(
    loaded: LoadedFlow, registry: Registry, find_tools: FindTools | None = None, folder: Path | None = None
) -> Plan:
    """The plan of a document. Raises BadFlow with every problem of level `error`.

    `find_tools` gives the tools that the flow can name, asked only where it names one; absent, the installed
    ones; one that gives None leaves tools out, for who only looks at the rest of the plan. `folder` is the
    flow's own, to which the folders that its tools may read are relative; absent, the working folder.
    """
    draft = Draft(loaded, registry, find_tools, folder)
    for i, node in enumerate(draft.spec.nodes):
        read_node(draft, node, f"$.nodes[{i}]")
    for i, edge in enumerate(draft.spec.edges):
        read_edge(draft, edge, f"$.edges[{i}]")
    check_whole(draft)
    attach_tools(draft)
    check_nodes(draft)
    ordered, back = put_in_order(draft)
    errors = [p for p in draft.problems if p.level == "error"]
    if errors:
        raise BadFlow([*errors, *(p for p in draft.problems if p.level != "error")], name=draft.spec.name)
    return build(draft, ordered, back)
