"""What flows can be made of: node types, the schema of documents, the examples."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.cli.files import EXAMPLE, example_names, examples_folder, read_flow
from runtime.cli.flow_schema import flow_schema
from runtime.errors import NotFound
from runtime.node import NodeType, Port
from runtime.shape.schema import json_schema
from runtime.spec import load_flow, save_flow
from studio.api.route import Call, Endpoint
from studio.api.shapes import raw


class PortOut(msgspec.Struct, frozen=True):
    """A typed connection point."""

    name: str
    kind: str
    title: str
    many: bool
    required: bool


class TypeOut(msgspec.Struct, frozen=True, kw_only=True):
    """A node type: `schema` is the JSON Schema of its config, `templates` the fields that are templates;
    `attachment`: it governs others and is never run; `entry` takes the input, `result` gives a result."""

    name: str
    title: str
    category: str
    help: str
    icon: str
    version: int
    inputs: list[PortOut]
    outputs: list[PortOut]
    schema: dict[str, Any]
    templates: list[str]
    keywords: list[str]
    attachment: bool
    entry: bool
    result: bool


class TypesOut(msgspec.Struct, frozen=True):
    """Every installed node type, by name."""

    types: list[TypeOut]


class ExampleOut(msgspec.Struct, frozen=True):
    """An example flow."""

    name: str
    title: str
    description: str
    nodes: int


class ExamplesOut(msgspec.Struct, frozen=True):
    """The examples that came with Farthing."""

    examples: list[ExampleOut]


class ExampleFlowOut(msgspec.Struct, frozen=True):
    """An example's document; `script`: it rehearses by a script of its own."""

    flow: msgspec.Raw
    script: bool


def port_out(port: Port) -> PortOut:
    """A port as the API writes it."""
    return PortOut(port.name, port.kind, port.title, port.many, port.required)


def type_out(node: NodeType) -> TypeOut:
    """A node type as the API writes it."""
    return TypeOut(
        name=node.name,
        title=node.title,
        category=node.category,
        help=node.help,
        icon=node.icon,
        version=node.version,
        inputs=[port_out(port) for port in node.inputs],
        outputs=[port_out(port) for port in node.outputs],
        schema=json_schema(node.config),
        templates=list(node.templates),
        keywords=list(node.keywords),
        attachment=node.run is None,
        entry=node.entry_of_flow,
        result=node.result_of_flow,
    )


async def nodes(call: Call) -> TypesOut:
    """List the installed node types with their ports and config schemas."""
    return TypesOut([type_out(node) for node in call.studio.services.registry.all()])


async def schema(call: Call) -> dict[str, Any]:
    """The JSON Schema of flow documents, with the config of every node type."""
    return flow_schema(call.studio.services.registry.all())


async def examples(_call: Call) -> ExamplesOut:
    """List the example flows."""
    found = []
    for name in example_names():
        spec = load_flow((examples_folder() / f"{name}.json").read_bytes(), name=name).spec
        title = spec.name.replace("-", " ").replace("_", " ")
        found.append(ExampleOut(name, title[:1].upper() + title[1:], spec.description, len(spec.nodes)))
    return ExamplesOut(found)


async def example(call: Call) -> ExampleFlowOut:
    """One example's document."""
    name = call.path["name"]
    if name not in example_names():
        raise NotFound(f"There is no example {name!r}.", remedy=f"There are: {', '.join(example_names())}.")
    file = read_flow(EXAMPLE + name)
    return ExampleFlowOut(raw(save_flow(load_flow(file.raw, name=name).spec)), file.script is not None)


ENDPOINTS = (
    Endpoint("GET", "/nodes", "viewer", nodes, gives=TypesOut, tag="catalog"),
    Endpoint("GET", "/schema", "viewer", schema, gives=dict[str, Any], tag="catalog"),
    Endpoint("GET", "/examples", "viewer", examples, gives=ExamplesOut, tag="catalog"),
    Endpoint("GET", "/examples/{name}", "viewer", example, gives=ExampleFlowOut, tag="catalog"),
)
