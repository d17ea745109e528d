"""From a sound draft to the plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.ledger import Rule
from runtime.plan.draft import Compiled, Draft, Edge
from runtime.plan.model import MemoryBinding, Plan, PlanNode, Source, Target

if TYPE_CHECKING:
    from runtime.tools.attached import Attached


def attach_tools(draft: Draft) -> None:
    """Find the functions that tool nodes name; an agent's tools need names of their own."""
    lenders = [n for n in draft.nodes.values() if any(p.kind == "tool" for p in n.outputs.values())]
    if not lenders:
        return
    from runtime.tools.attached import ToolNode, attach_all, same_names
    from runtime.tools.registry import installed_tools

    registry = (draft.find_tools or installed_tools)()
    if registry is None:
        return
    nodes = [ToolNode(n.spec.id, draft.path_of[n.spec.id], n.config) for n in lenders]
    found = attach_all(nodes, registry, draft.folder)
    draft.tools = found.tools
    draft.problems += found.problems
    lent: dict[str, list[Attached]] = defaultdict(list)
    for edge in draft.edges:
        if edge.source in draft.tools:
            lent[edge.target].append(draft.tools[edge.source])
    for target, tools in lent.items():
        draft.problems += same_names(target, draft.path_of[target], tools)


def build(draft: Draft, ordered: Iterable[str], back: frozenset[tuple[str, str]]) -> Plan:
    index = {name: i for i, name in enumerate(ordered)}
    sources: dict[str, list[Source]] = defaultdict(list)
    targets: dict[str, list[Target]] = defaultdict(list)
    attached: dict[str, list[Edge]] = defaultdict(list)
    for edge in sorted(draft.edges):
        if edge.kind != "message":
            attached[edge.target].append(edge)
            continue
        closes = (edge.source, edge.target) in back
        sources[edge.target].append(Source(index[edge.source], edge.source_port, edge.source, closes))
        targets[edge.source].append(Target(index[edge.target], edge.source_port, closes))
    everywhere = [
        _rule(draft, n) for n in draft.nodes.values()
        if n.type.rule and getattr(n.config, "applies_to", "attached") == "flow"
    ]  # fmt: skip
    nodes = tuple(
        _plan_node(draft, i, name, sources[name], targets[name], attached[name], everywhere)
        for name, i in index.items()
    )
    flow_id = draft.spec.flow_id
    return Plan(
        flow_id=flow_id,
        name=draft.spec.name,
        hash=draft.loaded.hash,
        has_cycles=bool(back),
        raw=draft.loaded.raw,
        nodes=nodes,
        attachments={n.spec.id: n.config for n in draft.nodes.values() if n.type.run is None},
        needs=tuple(sorted(_needs(draft, flow_id))),
        warnings=tuple(p for p in draft.problems if p.level == "warning"),
    )


def _plan_node(
    draft: Draft,
    index: int,
    name: str,
    sources: list[Source],
    targets: list[Target],
    attached: list[Edge],
    everywhere: list[Rule],
) -> PlanNode:
    node = draft.nodes[name]
    rules = [_rule(draft, draft.nodes[e.source]) for e in attached if e.kind == "budget"]
    rules += [rule for rule in everywhere if rule not in rules]
    memory = next((draft.nodes[e.source] for e in attached if e.kind == "memory"), None)
    return PlanNode(
        index=index,
        id=name,
        type=node.type,
        config=node.config,
        sources=tuple(sources),
        awaits=sum(not source.back for source in sources),
        targets=tuple(targets),
        rules=tuple(rules),
        memory=None if memory is None else _binding(draft, memory),
        tools=tuple(draft.tools[e.source] for e in attached if e.source in draft.tools),
        main_port=next((p.name for p in node.outputs.values() if p.kind == "message"), "out"),
    )


def _rule(draft: Draft, node: Compiled) -> Rule:
    assert node.type.rule is not None
    return node.type.rule(node.config, node.spec.id, draft.spec.flow_id)


def _binding(draft: Draft, node: Compiled) -> MemoryBinding:
    return MemoryBinding(node.spec.id, node.config, node.config.namespace or draft.spec.flow_id)


def _needs(draft: Draft, flow_id: str) -> set[str]:
    """What the user must grant once: things that reach beyond this flow."""
    needs = {need for tool in draft.tools.values() for need in tool.needs()}
    for node in draft.nodes.values():
        pot = getattr(node.config, "pot", None)
        if isinstance(pot, str) and pot.startswith("shared:"):
            needs.add(f"pot {pot}")
        namespace = getattr(node.config, "namespace", None)
        if isinstance(namespace, str) and namespace != flow_id:
            needs.add(f"namespace {namespace}")
    return needs
