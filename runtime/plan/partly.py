"""What can be said of a document's nodes while the document itself cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.errors import Problem
from runtime.plan.draft import Draft
from runtime.plan.nodes import read_node
from runtime.registry import Registry
from runtime.spec import FlowSpec, LoadedFlow, NodeSpec


def look_at_nodes(nodes: Sequence[tuple[str, NodeSpec]], registry: Registry) -> list[Problem]:
    """What is wrong with each node alone: its id, type, config and credentials in it. Edges, ways and what
    they lead to say nothing yet, since what they need may stand in the part that could not be read."""
    spec = FlowSpec(name="partly", nodes=tuple(node for _, node in nodes))
    draft = Draft(LoadedFlow(spec, b"", ""), registry, None, None)
    draft.path_of = {node.id: path for path, node in nodes}
    for path, node in nodes:
        read_node(draft, node, path)
    return draft.problems
