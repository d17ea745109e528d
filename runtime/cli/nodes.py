"""List the node types and their fields."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click
import msgspec

from runtime.cli import options
from runtime.cli.plain import one_line
from runtime.cli.streams import coloured, paint, result_json, write
from runtime.cli.table import Column, show
from runtime.errors import NotFound

if TYPE_CHECKING:
    from runtime.node import NodeType, Port
    from runtime.registry import Registry


@click.command(
    epilog=options.examples("farthing nodes", "farthing nodes agent", "farthing nodes --json"),
)
@click.argument("name", required=False, metavar="[TYPE]")
@options.as_json
def command(name: str | None, as_json: bool) -> None:
    """List the installed node types; of TYPE, its ports and every field of its config."""
    from runtime.registry import installed

    registry = installed()
    types = registry.all() if name is None else [find_type(registry, name)]
    if as_json:
        result_json([type_json(each) for each in types])
    elif name is None:
        columns = (Column("type", style="bold"), Column("group"), Column("what it does", flexible=True))
        show(columns, [(each.name, each.category, each.help) for each in types])
    else:
        for line in _lines(types[0]):
            write(line)


def find_type(registry: Registry, name: str) -> NodeType:
    """A node type by name. Raises NotFound."""
    found = registry.get(name)
    if found is None:
        near = get_close_matches(name, registry.names(), n=1)
        raise NotFound(
            f"There is no node type {name!r}.",
            remedy=f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(registry.names())}.",
        )
    return found


def type_json(node: NodeType) -> dict[str, Any]:
    """A node type as JSON: its words, its ports, and its config as a JSON Schema."""
    from runtime.shape.schema import json_schema

    return {
        "type": node.name,
        "version": node.version,
        "title": node.title,
        "category": node.category,
        "help": node.help,
        "icon": node.icon,
        "keywords": node.keywords,
        "inputs": [msgspec.structs.asdict(port) for port in node.inputs],
        "outputs": [msgspec.structs.asdict(port) for port in node.outputs],
        "runs": node.run is not None,
        "config": json_schema(node.config),
    }


def _lines(node: NodeType) -> list[str]:
    from runtime.shape.schema import json_schema

    on = coloured(sys.stdout)
    lines = [
        f"{paint(node.name, 'bold', on=on)} · {node.title} · version {node.version}",
        f"  {node.help}",
        "",
    ]
    lines += [f"  in   {_port(port)}" for port in node.inputs]
    lines += [f"  out  {_port(port)}" for port in node.outputs]
    schema = json_schema(node.config)
    fields: dict[str, Any] = schema.get("properties", {})
    for name, field in fields.items():
        default = field.get("default", None)
        required = name in schema.get("required", ())
        note = "required" if required else f"default {msgspec.json.encode(default).decode()}"
        lines += ["", f"  {paint(name, 'cyan', on=on)}  {field_type(field, schema)}, {note}"]
        if field.get("description"):
            lines.append(f"    {one_line(field['description'])}")
    return lines


def _port(port: Port) -> str:
    notes = [port.kind, *(["many edges"] if port.many else []), *(["required"] if port.required else [])]
    return f"{port.name} ({', '.join(notes)})"


def field_type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What a field takes, in words."""
    if "$ref" in field:
        target = schema.get("$defs", {}).get(field["$ref"].rsplit("/", 1)[-1], {})
        return f"object ({', '.join(target.get('properties', {}))})"
    for key in ("anyOf", "oneOf"):
        if key in field:
            words = [field_type(each, schema) for each in field[key]]
            return " or ".join(dict.fromkeys(words))
    if "enum" in field:
        return " | ".join(str(each) for each in field["enum"])
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        items = field.get("items")
        return f"list of {field_type(items, schema)}" if isinstance(items, dict) else "list"
    words_of = {"string": "text", "boolean": "true or false", "integer": "integer", "object": "object"}
    return words_of.get(str(field.get("type")), str(field.get("type", "any JSON")))
