"""What must hold of the whole flow: results, ways, templates, each node type's own rules, circles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from runtime.node import PortKind
from runtime.order import order_of
from runtime.plan.draft import Compiled, Draft

if TYPE_CHECKING:
    pass


class View(msgspec.Struct, frozen=True):
    node_id: str
    by_kind: dict[PortKind, tuple[str, ...]]

    def attached(self, kind: PortKind) -> Sequence[str]:
        return self.by_kind.get(kind, ())


def check_whole(draft: Draft) -> None:
    executed = [n for n in draft.nodes.values() if n.type.run is not None]
    entries = [n for n in executed if n.type.entry_of_flow]
    for extra in entries[1:]:
        draft.say(
            "flow.two_inputs",
            f"a flow has one input node; {extra.spec.id!r} is one more",
            "Give one input node a schema with all fields.",
            extra.spec.id,
            draft.path_of[extra.spec.id],
        )
    if not draft.spec.nodes:
        draft.say(
            "flow.no_nodes", "it has no nodes", "`farthing new` makes one to begin with.", None, "$.nodes"
        )
    elif not any(n.type.result_of_flow for n in executed):
        draft.say(
            "flow.no_output",
            "it has no output node, so it gives no result",
            "Add an output node.",
            None,
            "$.nodes",
            "warning",
        )
    broken = {node.id for node in draft.spec.nodes} - draft.nodes.keys()
    fed = {edge.target for edge in draft.spec.edges if edge.source in broken}
    feeding = {edge.source for edge in draft.spec.edges if edge.target in broken}
    for node in draft.nodes.values():
        _reached(draft, node, fed, feeding)


def _reached(draft: Draft, node: Compiled, fed: set[str], feeding: set[str]) -> None:
    """What has no edge. Edges from and to nodes that are themselves wrong count: mending these is enough."""
    node_id, path = node.spec.id, draft.path_of[node.spec.id]
    for port in node.inputs.values():
        if port.required and (node_id, port.name) not in draft.taken and node_id not in fed:
            draft.say(
                "flow.missing_edge",
                f"nothing leads to {port.name!r} of {node_id!r}",
                "Draw an edge to it or remove the node.",
                node_id,
                path,
            )
    if node.type.run is None and node_id not in draft.leaving and node_id not in feeding:
        everywhere = getattr(node.config, "applies_to", None) == "flow"
        if not everywhere:
            draft.say(
                "flow.unattached",
                f"{node_id!r} is attached to nothing and has no effect",
                "Attach it to an agent.",
                node_id,
                path,
                "warning",
            )


def check_nodes(draft: Draft) -> None:
    attached: dict[str, dict[PortKind, list[str]]] = defaultdict(lambda: defaultdict(list))
    for edge in draft.edges:
        if edge.kind != "message":
            attached[edge.target][edge.kind].append(edge.source)
    for node in draft.nodes.values():
        _templates(draft, node)
        if node.type.check is None:
            continue
        view = View(node.spec.id, {kind: tuple(ids) for kind, ids in attached[node.spec.id].items()})
        for problem in node.type.check(node.config, view):
            base = draft.path_of[node.spec.id]
            draft.problems.append(
                msgspec.structs.replace(
                    problem,
                    node_id=problem.node_id or node.spec.id,
                    path=base if problem.path == "$" else f"{base}.{problem.path}",
                )
            )


def _templates(draft: Draft, node: Compiled) -> None:
    """Templates and conditions that cannot work, and names in them that nothing leads to."""
    texts = [(name, getattr(node.config, name), False) for name in node.type.templates]
    texts += [(f"condition {i + 1}", text, True) for i, text in enumerate(node.type.conditions(node.config))]
    for name, text, condition in texts:
        if not isinstance(text, str) or not (condition or "{{" in text or "{%" in text):
            continue
        from runtime.template import Condition, Template

        checked = Condition(text) if condition else Template(text)
        path = f"{draft.path_of[node.spec.id]}.config" + ("" if condition else f".{name}")
        for found in checked.check():
            draft.say(
                found.code,
                f"{name} of {node.spec.id!r}: {found.message}",
                found.remedy,
                node.spec.id,
                path,
            )
        _names(draft, node, name, checked.variables(), path)


def _names(draft: Draft, node: Compiled, name: str, used: frozenset[str], path: str) -> None:
    found = {e.source for e in draft.edges if e.target == node.spec.id and e.kind == "message"}
    # Nodes that are themselves wrong lead here all the same once they are mended.
    found |= {e.source for e in draft.spec.edges if e.target == node.spec.id and _is_broken(draft, e.source)}
    sources = sorted(found)
    known = ", ".join(f"inputs.{source}" for source in sources)
    for variable in sorted(used):
        source = variable.removeprefix("inputs.")
        if variable.startswith("inputs.") and source not in sources:
            draft.say(
                "flow.unknown_input",
                f"{name} of {node.spec.id!r} names {variable}, and no edge leads here from {source!r}",
                f"It sees {known}." if known else f"Draw an edge from {source!r}.",
                node.spec.id,
                path,
            )
        elif variable == "input" and len(sources) != 1:
            draft.say(
                "flow.no_single_input",
                f"{name} of {node.spec.id!r} says `input`, and {len(sources)} nodes lead here",
                f"Name one: it sees {known}." if known else "Draw an edge to it.",
                node.spec.id,
                path,
                "warning" if sources else "error",
            )


def _is_broken(draft: Draft, node_id: str) -> bool:
    return node_id in draft.path_of and node_id not in draft.nodes


def put_in_order(draft: Draft) -> tuple[tuple[str, ...], frozenset[tuple[str, str]]]:
    names = [n.spec.id for n in draft.nodes.values() if n.type.run is not None]
    order = order_of(names, [(e.source, e.target) for e in draft.edges if e.kind == "message"])
    for cycle in order.cycles:
        if not any(draft.nodes[name].type.steers for name in cycle):
            shown = " → ".join([*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]])
            draft.say(
                "flow.cycle",
                f"the nodes {shown} lead to each other in a circle",
                "Put a router or a loop into the circle, or remove an edge.",
                cycle[0],
                draft.path_of[cycle[0]],
            )
    return order.nodes, order.back
