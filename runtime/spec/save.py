"""The document's one spelling."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.shape import read
from runtime.spec.document import FORMAT, EdgeSpec, FlowSpec, GraphSpec, NodeSpec


def save_flow(spec: FlowSpec) -> bytes:
    """The document's one spelling: fixed key order, nodes by id, edges by ends, two spaces, a final newline.

    Saving what was loaded from these bytes gives these bytes again.
    """
    document: dict[str, Any] = {}
    if spec.json_schema:
        document["$schema"] = spec.json_schema
    document["format"] = FORMAT
    if spec.id:
        document["id"] = spec.id
    document["name"] = spec.name
    if spec.description:
        document["description"] = spec.description
    document |= _graph(spec)
    if spec.ui:
        document["ui"] = _sorted(spec.ui)
    encoded = msgspec.json.Encoder(decimal_format="number").encode(document)
    return msgspec.json.format(encoded, indent=2) + b"\n"


def _graph(graph: GraphSpec) -> dict[str, Any]:
    return {
        "nodes": [_node(node) for node in sorted(graph.nodes, key=lambda node: node.id)],
        "edges": [
            {key: value for key, value in _edge(edge).items() if value is not None}
            for edge in sorted(graph.edges, key=lambda edge: tuple(v or "" for v in _edge(edge).values()))
        ],
    }


def _node(node: NodeSpec) -> dict[str, Any]:
    document: dict[str, Any] = {"id": node.id, "type": node.type}
    if node.version is not None:
        document["version"] = node.version
    config = dict(sorted(node.config.items()))
    if isinstance(config.get("body"), dict):  # a body is a graph of its own and is spelled like one
        config["body"] = _graph(read(GraphSpec, config["body"]))
    document["config"] = config
    if node.ui:
        document["ui"] = _sorted(node.ui)
    return document


def _edge(edge: EdgeSpec) -> dict[str, str | None]:
    return {
        "source": edge.source,
        "source_port": edge.source_port,
        "target": edge.target,
        "target_port": edge.target_port,
    }


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value
