"""Small flows for tests, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Document = dict[str, Any]


def flow(nodes: Sequence[Document], edges: Sequence[Any], *, name: str = "f") -> Document:
    """A document; an edge is `(source, target)` or `(source, target, target_port)`, a source `id.port`."""
    return {
        "format": "farthing.flow/1",
        "name": name,
        "nodes": list(nodes),
        "edges": [_edge(*edge) for edge in edges],
    }


def _edge(source: str, target: str, target_port: str | None = None) -> Document:
    name, _, port = source.partition(".")
    edge = {"source": name, "target": target}
    if port:
        edge["source_port"] = port
    if target_port:
        edge["target_port"] = target_port
    return edge


def node(id_: str, kind: str, **config: Any) -> Document:
    """A node as written."""
    return {"id": id_, "type": kind, "config": config}


def agent_flow(
    *,
    agent: Document | None = None,
    memory: Document | None = None,
    budgets: Sequence[Document] = (),
    name: str = "f",
) -> Document:
    """Start → agent → end, with a Memory and Budgets attached: FLOW1 of the fault cases."""
    nodes = [
        node("start", "input"),
        node("a", "agent", **({"max_iterations": 6} | (agent or {}))),
        node("end", "output"),
    ]
    edges: list[Any] = [("start", "a"), ("a", "end")]
    if memory is not None:
        nodes.append(node("notes", "memory", **memory))
        edges.append(("notes", "a", "memory"))
    for i, budget in enumerate(budgets):
        nodes.append(node(f"b{i}", "budget", **budget))
        edges.append((f"b{i}", "a", "budget"))
    return flow(nodes, edges, name=name)


def says(text: str, tokens: int | None = None, **more: Any) -> Document:
    """A scripted reply; `tokens` is its whole usage, as input."""
    usage = {} if tokens is None else {"usage": {"input": tokens, "output": 0}}
    return {"text": text, **usage, **more}


def calls(tool: str, arguments: Any, tokens: int | None = None, **more: Any) -> Document:
    """A scripted reply that calls a tool; a text as arguments is sent as it is, sound or not."""
    return says("", tokens, tool_calls=[{"name": tool, "arguments": arguments}], **more)
