"""One validator for the canvas: all problems, a card for each node, what a flow needs, who will be called."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.cli.files import EXAMPLE, example_names, read_flow
from runtime.errors import BadFlow, BadSettings, FarthingError, Problem
from runtime.node import NodeType
from runtime.plan import Plan, PlanNode, read_plan
from runtime.providers import SCRIPTED
from runtime.registry import Registry
from runtime.settings import Settings
from runtime.shape import Misfit, read
from runtime.spec import load_flow, plain_numbers, save_flow
from studio.api.catalog import PortOut, port_out
from studio.api.route import LARGE_BODY, Call, Endpoint
from studio.needs import wanted


class ValidateIn(msgspec.Struct, frozen=True):
    """A document, and where it lies if it lies anywhere (`path`, or `example:NAME`)."""

    flow: msgspec.Raw
    path: str | None = None


class CardOut(msgspec.Struct, frozen=True):
    """What a node's card shows: one line, and its ports as its config makes them."""

    summary: str
    inputs: list[PortOut]
    outputs: list[PortOut]


class ProblemOut(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong: `path` is a JSON path in the document, `level` error or warning."""

    code: str
    message: str
    remedy: str
    node_id: str | None
    path: str
    level: str


class InputOut(msgspec.Struct, frozen=True):
    """What a run is asked for. `schema` null: one text."""

    schema: dict[str, Any] | None
    title: str


class AgentOut(msgspec.Struct, frozen=True):
    """Which model a node will call and which limits govern it."""

    node_id: str
    model: str | None
    provider: str
    rehearsal: bool
    limits: list[str]


class ValidateOut(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a document that can be said without running it. `input` null: it takes none."""

    problems: list[ProblemOut]
    cards: dict[str, CardOut]
    needs: list[str]
    needs_hash: str | None
    granted: bool
    input: InputOut | None
    agents: list[AgentOut]


async def validate(call: Call) -> ValidateOut:
    """Check a document whole. Problems are the answer, never an error."""
    registry, document = call.studio.services.registry, bytes(call.body.flow)
    problems: list[Problem] = []
    plan: Plan | None = None
    path = call.body.path or ""
    example = path.startswith(EXAMPLE)
    place = call.studio.folder.place(path) if path and not example else None
    try:
        folder = place.parent if place is not None else None
        plan = read_plan(document, registry, call.studio.services.find_tools, folder)
        problems += plan.warnings
    except BadFlow as error:
        problems += error.problems
    except BadSettings as error:  # a file of tools that cannot be loaded
        problems.append(Problem(error.code, error.message, error.remedy or ""))
    agents, trouble = _agents(plan, call.studio.settings) if plan is not None else ([], [])
    needs, digest, granted = [], None, True
    if plan is not None:
        bundled = example and _unchanged(path, document)
        found = await wanted(call.studio, plan, place, bundled=bundled)
        needs, digest, granted = found.lines(call.who), found.hash, found.granted
    nodes = _nodes(document)
    return ValidateOut(
        problems=[ProblemOut(**msgspec.structs.asdict(problem)) for problem in [*problems, *trouble]],
        cards=_cards(nodes, registry),
        needs=needs,
        needs_hash=digest,
        granted=granted,
        input=_input(nodes, registry),
        agents=agents,
    )


def _unchanged(path: str, document: bytes) -> bool:
    """Whether this still is the example as it came with Farthing."""
    if path.removeprefix(EXAMPLE) not in example_names():
        return False
    return save_flow(load_flow(read_flow(path).raw).spec) == save_flow(load_flow(document).spec)


def _nodes(document: bytes) -> list[dict[str, Any]]:
    """The nodes of a document that may be broken elsewhere."""
    try:
        found = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    nodes = found.get("nodes") if isinstance(found, dict) else None
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []


def _config(node: dict[str, Any], registry: Registry) -> tuple[NodeType, Any] | None:
    """A node's type and checked config; None where one is not sound."""
    kind, given = node.get("type"), node.get("config", {})
    try:
        known = registry.get(kind) if isinstance(kind, str) else None
        if known is None or not isinstance(given, dict):
            return None
        return known, read(known.config, plain_numbers(given))
    except (Misfit, RecursionError, FarthingError):
        return None


def _cards(nodes: list[dict[str, Any]], registry: Registry) -> dict[str, CardOut]:
    cards = {}
    for node in nodes:
        found = _config(node, registry)
        if found is None or not isinstance(node.get("id"), str):
            continue
        kind, config = found
        cards[node["id"]] = CardOut(
            kind.summary(config) if kind.summary is not None else "",
            [port_out(port) for port in kind.inputs],
            [port_out(port) for port in (*kind.outputs, *kind.more_outputs(config))],
        )
    return cards


def _input(nodes: list[dict[str, Any]], registry: Registry) -> InputOut | None:
    for node in nodes:
        found = _config(node, registry)
        if found is not None and found[0].entry_of_flow:
            config = found[1]
            return InputOut(getattr(config, "input_schema", None), getattr(config, "title", ""))
    return None


def _agents(plan: Plan, settings: Settings) -> tuple[list[AgentOut], list[Problem]]:
    """Who will be called, and whose model cannot be."""
    agents, trouble = [], []
    for node in plan.reasoners:
        wish = getattr(node.config, "model", None)
        try:
            chosen = settings.resolve_model(None, wish)
        except BadSettings as error:
            trouble.append(
                Problem(error.code, error.message, error.remedy or "", node.id, _path(plan, node, wish))
            )
            continue
        name = chosen.provider.name
        rules = (*node.rules, *settings.rules_for(plan.flow_id, name))
        limits = list(dict.fromkeys(rule.name for rule in rules))
        agents.append(AgentOut(node.id, str(chosen.model), name, name == SCRIPTED, limits))
    return agents, trouble


def _path(plan: Plan, node: PlanNode, wish: str | None) -> str:
    nodes = [each.get("id") for each in _nodes(plan.raw)]
    base = f"$.nodes[{nodes.index(node.id)}]" if node.id in nodes else "$"
    return f"{base}.config.model" if wish else base


ENDPOINTS = (
    Endpoint(
        "POST", "/validate", "viewer", validate, body=ValidateIn, gives=ValidateOut, tag="flows",
        max_body=LARGE_BODY,
    ),
)  # fmt: skip
