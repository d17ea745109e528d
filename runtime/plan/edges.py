"""Reading a flow's edges: both ends, their ports and kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.node import Port
from runtime.plan.draft import Compiled, Draft, Edge, nearest
from runtime.spec import EdgeSpec

if TYPE_CHECKING:
    pass


def read_edge(draft: Draft, edge: EdgeSpec, path: str) -> None:
    known = draft.path_of
    for end in ("source", "target"):
        name = getattr(edge, end)
        if name not in known:
            near = nearest(name, known)
            draft.say(
                "flow.dangling_edge",
                f"an edge names the node {name!r}, which is not there",
                f"Did you mean {near!r}?" if near else "Remove the edge or add the node.",
                None,
                f"{path}.{end}",
            )
    source, target = draft.nodes.get(edge.source), draft.nodes.get(edge.target)
    if source is None or target is None:
        return
    out = _port(draft, source, "source_port", edge.source_port, source.outputs, path)
    into = _port(draft, target, "target_port", edge.target_port, target.inputs, path)
    if out is None or into is None:
        return
    if out.kind != into.kind:
        draft.say(
            "flow.wrong_kind",
            f"{edge.source!r} gives {out.kind} at {out.name!r} and {edge.target!r} takes {into.kind} at"
            f" {into.name!r}",
            _fitting(out, target),
            edge.target,
            path,
        )
        return
    resolved = Edge(edge.source, out.name, edge.target, into.name, out.kind)
    if resolved in draft.seen:
        draft.say(
            "flow.duplicate_edge", f"an edge from {edge.source!r} to {edge.target!r} stands twice",
            "Remove one of them.", edge.target, path,
        )  # fmt: skip
        return
    if not into.many and (edge.target, into.name) in draft.taken:
        draft.say(
            "flow.too_many_edges",
            f"{edge.target!r} takes one edge at {into.name!r} and has more",
            "Keep one of them.",
            edge.target,
            path,
        )
    draft.edges.append(resolved)
    draft.seen.add(resolved)
    draft.taken.add((edge.target, into.name))
    draft.leaving.add(edge.source)


def _port(
    draft: Draft, node: Compiled, end: str, name: str | None, ports: dict[str, Port], path: str
) -> Port | None:
    if name is None and ports:
        return next((p for p in ports.values() if p.kind == "message"), next(iter(ports.values())))
    port = ports.get(name or "")
    if port is None:
        draft.say(
            "flow.wrong_port",
            f"{node.spec.id!r} has no {end.replace('_', ' ')} {name!r}" if name else
            f"{node.spec.id!r} ({node.type.title}) has no {end.replace('_', ' ')}",
            f"It has: {', '.join(ports)}." if ports else "Remove the edge.",
            node.spec.id,
            f"{path}.{end}",
        )  # fmt: skip
    return port


def _fitting(out: Port, target: Compiled) -> str:
    fits = [port.name for port in target.inputs.values() if port.kind == out.kind]
    if fits:
        return f'Set "target_port": "{fits[0]}".'
    return "Remove the edge; these two do not fit together."
