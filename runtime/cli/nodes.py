"""List the node types and their fields."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

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


BOUNDS = (
    ("from", "minimum"),
    ("above", "exclusiveMinimum"),
    ("to", "maximum"),
    ("below", "exclusiveMaximum"),
)


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
    for name, words, text in _fields(schema, schema, ""):
        lines += ["", f"  {paint(name, 'cyan', on=on)}  {words}"]
        if text:
            lines.append(f"    {one_line(text)}")
    return lines


class _Line(NamedTuple):
    """A field by its whole name, what it takes, and its help."""

    name: str
    words: str
    help: str


def _fields(part: dict[str, Any], schema: dict[str, Any], above: str) -> Iterator[_Line]:
    """Every field, those of sections, of items and of each choice of a section by names such as
    `injection.max_tokens`, `blocks[].name` and `context.keep`."""
    for name, field in part.get("properties", {}).items():
        if "const" in field and above:
            continue  # which choice of a section this is was said before its fields
        parts = _parts(field, schema)
        default = field.get("default")
        if name in part.get("required", ()):
            note = ", required"
        else:
            note = "" if parts and default else f", default {msgspec.json.encode(default).decode()}"
        words = f"{'one of several objects' if len(parts) > 1 else field_type(field, schema)}{note}"
        yield _Line(above + name, words, field.get("description", ""))
        inside = f"{above}{name}{'[]' if field.get('type') == 'array' else ''}."
        tags = [_tag(each) for each in parts]
        if tags and tags[0].name:
            choices = " | ".join(tag.words for tag in tags)
            usual = f"; without `{name}`: {default[tags[0].name]}" if default else ""
            yield tags[0]._replace(name=f"{inside}{tags[0].name}", words=f"{choices}, required{usual}")
        for tag, each in zip(tags, parts, strict=True):
            where = f" (where `{tag.name}` is {tag.words})" if tag.name else ""
            for found in _fields(each, schema, inside):
                yield found._replace(words=f"{found.words}{where}")


def _tag(part: dict[str, Any]) -> _Line:
    """The constant by which one choice of a section is told from others; without a name where it is none."""
    found = [(name, str(field["const"])) for name, field in part["properties"].items() if "const" in field]
    return _Line(*(found or [("", "")])[0], "")


def _parts(field: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The shapes that a section, a list of them, or a choice between them is made of."""
    if "$ref" in field:
        target = schema.get("$defs", {}).get(field["$ref"].rsplit("/", 1)[-1], {})
        return [target] if target.get("properties") else []
    if field.get("type") == "array" and isinstance(field.get("items"), dict):
        return _parts(field["items"], schema)
    return [part for each in field.get("anyOf", ()) for part in _parts(each, schema)]


def bounds(field: dict[str, Any]) -> str:
    """` from 1 to 1,000`, empty where there are none."""
    return "".join(f" {word} {field[key]:,}" for word, key in BOUNDS if key in field)


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
    return words_of.get(str(field.get("type")), str(field.get("type", "any JSON"))) + bounds(field)
