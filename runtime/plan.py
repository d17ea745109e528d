"""A flow that was checked and compiled: the only thing that is run.

`compile_flow` names every problem of a flow at once, each with its node and JSON path, before anything runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from pydantic import ValidationError

from runtime.errors import BadFlow, Problem
from runtime.ledger import Rule
from runtime.node import Config, NodeType, Port, PortKind
from runtime.order import order_of
from runtime.registry import Registry
from runtime.spec import EdgeSpec, LoadedFlow, NodeSpec, plain_numbers, shape_problems

if TYPE_CHECKING:
    from runtime.tools.attached import Attached
    from runtime.tools.registry import ToolRegistry

MAY_BE_CREDENTIAL = re.compile(
    r"[A-Za-z0-9_+/=-]{16,}|(?i:pass|pwd|secret|token|key|bearer)\S*\s*[:=\s]\s*\S{6,}"
)
"""Texts without any of these are not looked at for credentials; it saves loading the detector."""

FindTools = Callable[[], "ToolRegistry"]


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


class MemoryBinding(NamedTuple):
    """The Memory that serves a node: its id, its config and the namespace of its facts."""

    node_id: str
    config: Any
    namespace: str


class PlanNode(msgspec.Struct, frozen=True):
    """A node ready to run. `rules` are the flow's budgets that govern its model calls."""

    index: int
    id: str
    type: NodeType
    config: Any
    sources: tuple[Source, ...] = ()
    targets: tuple[Target, ...] = ()
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

    @property
    def entry(self) -> PlanNode | None:
        """The node that takes the run's input, where there is one."""
        return next((node for node in self.nodes if node.type.entry_of_flow), None)

    @property
    def has_cycles(self) -> bool:
        """Whether some edge closes a cycle."""
        return any(source.back for node in self.nodes for source in node.sources)

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


class _View(msgspec.Struct, frozen=True):
    node_id: str
    by_kind: dict[PortKind, tuple[str, ...]]

    def attached(self, kind: PortKind) -> Sequence[str]:
        return self.by_kind.get(kind, ())


class _Compiled(NamedTuple):
    """A node whose type and config are sound."""

    spec: NodeSpec
    type: NodeType
    config: Any
    outputs: dict[str, Port]
    inputs: dict[str, Port]


class _Edge(NamedTuple):
    """An edge with its ports resolved."""

    source: str
    source_port: str
    target: str
    target_port: str
    kind: PortKind


def compile_flow(
    loaded: LoadedFlow, registry: Registry, find_tools: FindTools | None = None, folder: Path | None = None
) -> Plan:
    """The plan of a document. Raises BadFlow with every problem of level `error`.

    `find_tools` gives the tools that the flow can name, asked only where it names one; absent, the installed
    ones. `folder` is the flow's own, to which the folders that its tools may read are relative; absent, the
    working folder.
    """
    return _Compiler(loaded, registry, find_tools, folder).plan()


class _Compiler:
    """Collects problems while it goes; nothing of it outlives `plan`."""

    def __init__(
        self, loaded: LoadedFlow, registry: Registry, find_tools: FindTools | None, folder: Path | None
    ) -> None:
        self.loaded, self.spec, self.registry = loaded, loaded.spec, registry
        self.find_tools, self.folder = find_tools, folder
        self.tools: dict[str, Attached] = {}
        self.problems: list[Problem] = list(loaded.warnings)
        self.nodes: dict[str, _Compiled] = {}
        self.edges: list[_Edge] = []
        self.seen: set[_Edge] = set()
        self.taken: set[tuple[str, str]] = set()
        self.leaving: set[str] = set()
        self.path_of = {node.id: f"$.nodes[{i}]" for i, node in enumerate(self.spec.nodes)}

    def plan(self) -> Plan:
        for i, node in enumerate(self.spec.nodes):
            self._node(node, f"$.nodes[{i}]")
        for i, edge in enumerate(self.spec.edges):
            self._edge(edge, f"$.edges[{i}]")
        self._whole()
        self._attach_tools()
        self._node_checks()
        ordered, back = self._order()
        errors = [p for p in self.problems if p.level == "error"]
        if errors:
            raise BadFlow([*errors, *(p for p in self.problems if p.level != "error")], name=self.spec.name)
        return self._build(ordered, back)

    def _say(
        self, code: str, message: str, remedy: str, node_id: str | None, path: str, level: str = "error"
    ) -> None:
        self.problems.append(Problem(code, message, remedy, node_id, path, level))

    # -- nodes

    def _node(self, spec: NodeSpec, path: str) -> None:
        if self.path_of[spec.id] != path:
            titles = [str((n.ui or {}).get("title") or n.type) for n in self.spec.nodes if n.id == spec.id]
            self._say(
                "flow.duplicate_id",
                f"two nodes have the id {spec.id!r} ({' and '.join(titles)})",
                "Give each node an id of its own.",
                spec.id,
                f"{path}.id",
            )
        kind = self.registry.get(spec.type)
        if kind is None:
            near = _nearest(spec.type, self.registry.names())
            self._say(
                "flow.unknown_type",
                f"there is no node type {spec.type!r}",
                f"Did you mean {near!r}?" if near else f"Known: {', '.join(self.registry.names())}.",
                spec.id,
                f"{path}.type",
            )
            return
        config = self._config(spec, kind, path)
        if config is not None:
            self._no_credentials(spec.config, spec.id, f"{path}.config")
            outputs = {port.name: port for port in (*kind.outputs, *kind.more_outputs(config))}
            inputs = {port.name: port for port in kind.inputs}
            self.nodes.setdefault(spec.id, _Compiled(spec, kind, config, outputs, inputs))

    def _config(self, spec: NodeSpec, kind: NodeType, path: str) -> Config | None:
        raw = dict(spec.config) if kind.rule is not None else plain_numbers(spec.config)
        version = kind.version if spec.version is None else spec.version
        if version > kind.version:
            self._say(
                "flow.newer_node",
                f"the node {spec.id!r} has version {version} of {kind.name!r}; here it is {kind.version}",
                "Update Farthing or the package that brings the node type.",
                spec.id,
                f"{path}.version",
            )
            return None
        if version < kind.version and kind.migrate is not None:
            raw = kind.migrate(raw, version)
        try:
            return kind.config.model_validate(raw)
        except ValidationError as error:
            for problem in shape_problems(error, raw, base=f"{path}.config"):
                self.problems.append(problem._replace(node_id=spec.id))
            return None

    def _no_credentials(self, value: Any, node_id: str, path: str) -> None:
        """A flow is shared; a key in it would be too."""
        if isinstance(value, dict):
            for key, item in value.items():
                self._no_credentials(item, node_id, f"{path}.{key}")
        elif isinstance(value, list):
            for i, item in enumerate(value):
                self._no_credentials(item, node_id, f"{path}[{i}]")
        elif isinstance(value, str) and MAY_BE_CREDENTIAL.search(value):
            from runtime.secrets.detect import find_credential

            found = find_credential(value)
            if found is not None:
                self._say(
                    "flow.credential",
                    f"{path} holds what looks like a credential ({found.kind})",
                    'Keep it in the settings as a secret and write {"secret": "NAME"} here.',
                    node_id,
                    path,
                )

    # -- edges

    def _edge(self, edge: EdgeSpec, path: str) -> None:
        known = self.path_of
        for end in ("source", "target"):
            name = getattr(edge, end)
            if name not in known:
                near = _nearest(name, known)
                self._say(
                    "flow.dangling_edge",
                    f"an edge names the node {name!r}, which is not there",
                    f"Did you mean {near!r}?" if near else "Remove the edge or add the node.",
                    None,
                    f"{path}.{end}",
                )
        source, target = self.nodes.get(edge.source), self.nodes.get(edge.target)
        if source is None or target is None:
            return
        out = self._port(source, "source_port", edge.source_port, source.outputs, path)
        into = self._port(target, "target_port", edge.target_port, target.inputs, path)
        if out is None or into is None:
            return
        if out.kind != into.kind:
            self._say(
                "flow.wrong_kind",
                f"{edge.source!r} gives {out.kind} at {out.name!r} and {edge.target!r} takes {into.kind} at"
                f" {into.name!r}",
                _fitting(out, target),
                edge.target,
                path,
            )
            return
        resolved = _Edge(edge.source, out.name, edge.target, into.name, out.kind)
        if resolved in self.seen:
            self._say(
                "flow.duplicate_edge", f"an edge from {edge.source!r} to {edge.target!r} stands twice",
                "Remove one of them.", edge.target, path,
            )  # fmt: skip
            return
        if not into.many and (edge.target, into.name) in self.taken:
            self._say(
                "flow.too_many_edges",
                f"{edge.target!r} takes one edge at {into.name!r} and has more",
                "Keep one of them.",
                edge.target,
                path,
            )
        self.edges.append(resolved)
        self.seen.add(resolved)
        self.taken.add((edge.target, into.name))
        self.leaving.add(edge.source)

    def _port(
        self, node: _Compiled, end: str, name: str | None, ports: dict[str, Port], path: str
    ) -> Port | None:
        if name is None and ports:
            return next((p for p in ports.values() if p.kind == "message"), next(iter(ports.values())))
        port = ports.get(name or "")
        if port is None:
            self._say(
                "flow.wrong_port",
                f"{node.spec.id!r} has no {end.replace('_', ' ')} {name!r}" if name else
                f"{node.spec.id!r} ({node.type.title}) has no {end.replace('_', ' ')}",
                f"It has: {', '.join(ports)}." if ports else "Remove the edge.",
                node.spec.id,
                f"{path}.{end}",
            )  # fmt: skip
        return port

    # -- the whole

    def _whole(self) -> None:
        executed = [n for n in self.nodes.values() if n.type.run is not None]
        entries = [n for n in executed if n.type.entry_of_flow]
        for extra in entries[1:]:
            self._say(
                "flow.two_inputs",
                f"a flow has one input node; {extra.spec.id!r} is one more",
                "Give one input node a schema with all fields.",
                extra.spec.id,
                self.path_of[extra.spec.id],
            )
        if not self.spec.nodes:
            self._say(
                "flow.no_nodes", "it has no nodes", "`farthing new` makes one to begin with.", None, "$.nodes"
            )
        elif not any(n.type.result_of_flow for n in executed):
            self._say(
                "flow.no_output",
                "it has no output node, so it gives no result",
                "Add an output node.",
                None,
                "$.nodes",
                "warning",
            )
        for node in self.nodes.values():
            self._reached(node)

    def _reached(self, node: _Compiled) -> None:
        node_id, path = node.spec.id, self.path_of[node.spec.id]
        for port in node.inputs.values():
            if port.required and (node_id, port.name) not in self.taken:
                self._say(
                    "flow.missing_edge",
                    f"nothing leads to {port.name!r} of {node_id!r}",
                    "Draw an edge to it or remove the node.",
                    node_id,
                    path,
                )
        if node.type.run is None and node_id not in self.leaving:
            everywhere = getattr(node.config, "applies_to", None) == "flow"
            if not everywhere:
                self._say(
                    "flow.unattached",
                    f"{node_id!r} is attached to nothing and has no effect",
                    "Attach it to an agent.",
                    node_id,
                    path,
                    "warning",
                )

    def _attach_tools(self) -> None:
        """Find the functions that tool nodes name; an agent's tools need names of their own."""
        lenders = [n for n in self.nodes.values() if any(p.kind == "tool" for p in n.outputs.values())]
        if not lenders:
            return
        from runtime.tools.attached import ToolNode, attach_all, same_names
        from runtime.tools.registry import installed_tools

        nodes = [ToolNode(n.spec.id, self.path_of[n.spec.id], n.config) for n in lenders]
        found = attach_all(nodes, (self.find_tools or installed_tools)(), self.folder)
        self.tools = found.tools
        self.problems += found.problems
        lent: dict[str, list[Attached]] = defaultdict(list)
        for edge in self.edges:
            if edge.source in self.tools:
                lent[edge.target].append(self.tools[edge.source])
        for target, tools in lent.items():
            self.problems += same_names(target, self.path_of[target], tools)

    def _node_checks(self) -> None:
        attached: dict[str, dict[PortKind, list[str]]] = defaultdict(lambda: defaultdict(list))
        for edge in self.edges:
            if edge.kind != "message":
                attached[edge.target][edge.kind].append(edge.source)
        for node in self.nodes.values():
            self._templates(node)
            if node.type.check is None:
                continue
            view = _View(node.spec.id, {kind: tuple(ids) for kind, ids in attached[node.spec.id].items()})
            for problem in node.type.check(node.config, view):
                base = self.path_of[node.spec.id]
                self.problems.append(
                    problem._replace(
                        node_id=problem.node_id or node.spec.id,
                        path=base if problem.path == "$" else f"{base}.{problem.path}",
                    )
                )

    def _templates(self, node: _Compiled) -> None:
        """Templates and conditions that cannot work, and names in them that nothing leads to."""
        texts = [(name, getattr(node.config, name), False) for name in node.type.templates]
        texts += [
            (f"condition {i + 1}", text, True) for i, text in enumerate(node.type.conditions(node.config))
        ]
        for name, text, condition in texts:
            if not isinstance(text, str) or not (condition or "{{" in text or "{%" in text):
                continue
            from runtime.template import Condition, Template

            checked = Condition(text) if condition else Template(text)
            path = f"{self.path_of[node.spec.id]}.config" + ("" if condition else f".{name}")
            for found in checked.check():
                self._say(
                    found.code,
                    f"{name} of {node.spec.id!r}: {found.message}",
                    found.remedy,
                    node.spec.id,
                    path,
                )
            self._names(node, name, checked.variables(), path)

    def _names(self, node: _Compiled, name: str, used: frozenset[str], path: str) -> None:
        sources = sorted({e.source for e in self.edges if e.target == node.spec.id and e.kind == "message"})
        known = ", ".join(f"inputs.{source}" for source in sources) or "nothing"
        for variable in sorted(used):
            source = variable.removeprefix("inputs.")
            if variable.startswith("inputs.") and source not in sources:
                self._say(
                    "flow.unknown_input",
                    f"{name} of {node.spec.id!r} names {variable}, and no edge leads here from {source!r}",
                    f"It sees {known}.",
                    node.spec.id,
                    path,
                )
            elif variable == "input" and len(sources) != 1:
                self._say(
                    "flow.no_single_input",
                    f"{name} of {node.spec.id!r} says `input`, and {len(sources)} nodes lead here",
                    f"Name one: it sees {known}.",
                    node.spec.id,
                    path,
                    "warning" if sources else "error",
                )

    def _order(self) -> tuple[tuple[str, ...], frozenset[tuple[str, str]]]:
        names = [n.spec.id for n in self.nodes.values() if n.type.run is not None]
        order = order_of(names, [(e.source, e.target) for e in self.edges if e.kind == "message"])
        for cycle in order.cycles:
            if not any(self.nodes[name].type.steers for name in cycle):
                shown = " → ".join([*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]])
                self._say(
                    "flow.cycle",
                    f"the nodes {shown} lead to each other in a circle",
                    "Put a router or a loop into the circle, or remove an edge.",
                    cycle[0],
                    self.path_of[cycle[0]],
                )
        return order.nodes, order.back

    # -- the result

    def _build(self, ordered: Iterable[str], back: frozenset[tuple[str, str]]) -> Plan:
        index = {name: i for i, name in enumerate(ordered)}
        sources: dict[str, list[Source]] = defaultdict(list)
        targets: dict[str, list[Target]] = defaultdict(list)
        attached: dict[str, list[_Edge]] = defaultdict(list)
        for edge in sorted(self.edges):
            if edge.kind != "message":
                attached[edge.target].append(edge)
                continue
            closes = (edge.source, edge.target) in back
            sources[edge.target].append(Source(index[edge.source], edge.source_port, edge.source, closes))
            targets[edge.source].append(Target(index[edge.target], edge.source_port, closes))
        everywhere = [
            self._rule(n) for n in self.nodes.values()
            if n.type.rule and getattr(n.config, "applies_to", "attached") == "flow"
        ]  # fmt: skip
        nodes = tuple(
            self._plan_node(i, name, sources[name], targets[name], attached[name], everywhere)
            for name, i in index.items()
        )
        flow_id = self.spec.flow_id
        return Plan(
            flow_id=flow_id,
            name=self.spec.name,
            hash=self.loaded.hash,
            raw=self.loaded.raw,
            nodes=nodes,
            attachments={n.spec.id: n.config for n in self.nodes.values() if n.type.run is None},
            needs=tuple(sorted(self._needs(flow_id))),
            warnings=tuple(p for p in self.problems if p.level == "warning"),
        )

    def _plan_node(
        self, index: int, name: str, sources: list[Source], targets: list[Target], attached: list[_Edge],
        everywhere: list[Rule],
    ) -> PlanNode:  # fmt: skip
        node = self.nodes[name]
        rules = [self._rule(self.nodes[e.source]) for e in attached if e.kind == "budget"]
        rules += [rule for rule in everywhere if rule not in rules]
        memory = next((self.nodes[e.source] for e in attached if e.kind == "memory"), None)
        return PlanNode(
            index=index,
            id=name,
            type=node.type,
            config=node.config,
            sources=tuple(sources),
            targets=tuple(targets),
            rules=tuple(rules),
            memory=None if memory is None else self._binding(memory),
            tools=tuple(self.tools[e.source] for e in attached if e.source in self.tools),
            main_port=next((p.name for p in node.outputs.values() if p.kind == "message"), "out"),
        )

    def _rule(self, node: _Compiled) -> Rule:
        assert node.type.rule is not None
        return node.type.rule(node.config, node.spec.id, self.spec.flow_id)

    def _binding(self, node: _Compiled) -> MemoryBinding:
        return MemoryBinding(node.spec.id, node.config, node.config.namespace or self.spec.flow_id)

    def _needs(self, flow_id: str) -> set[str]:
        """What the user must grant once: things that reach beyond this flow."""
        needs = {need for tool in self.tools.values() for need in tool.needs()}
        for node in self.nodes.values():
            pot = getattr(node.config, "pot", None)
            if isinstance(pot, str) and pot.startswith("shared:"):
                needs.add(f"pot {pot}")
            namespace = getattr(node.config, "namespace", None)
            if isinstance(namespace, str) and namespace != flow_id:
                needs.add(f"namespace {namespace}")
        return needs


def _nearest(name: str, names: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(names), n=1)), None)


def _fitting(out: Port, target: _Compiled) -> str:
    fits = [port.name for port in target.inputs.values() if port.kind == out.kind]
    if fits:
        return f'Set "target_port": "{fits[0]}".'
    return "Remove the edge; these two do not fit together."
