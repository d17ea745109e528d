"""JSON Schema (draft 2020-12) of shapes, with the help of each field."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from runtime.shape.choices import shapes_within, written_order
from runtime.shape.help import helps

REF = "#/$defs/"


def json_schema(shape: type[Any]) -> dict[str, Any]:
    """The schema of a shape; those that it is made of are in `$defs`."""
    (schema,), parts = json_schemas([shape])
    own = schema.get("$ref", "").removeprefix(REF)
    if own and not any(REF + own == ref for part in parts.values() for ref in _refs(part)):
        schema = parts.pop(own)
    return {**schema, "$defs": parts} if parts else schema


def json_schemas(shapes: Sequence[type[Any]]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """A schema for each, and the definitions that they refer to by `#/$defs/NAME`."""
    ours = [shape for shape in shapes if issubclass(shape, msgspec.Struct)]
    made, parts = msgspec.json.schema_components(ours, schema_hook=_own, ref_template=REF + "{name}")
    found = dict(zip(ours, made, strict=True))
    for shape in {each for top in ours for each in shapes_within(msgspec.inspect.type_info(top))}:
        _dress(shape, parts[shape.__name__])
    for shape in shapes:
        if shape not in found:
            from runtime.shape.of_pydantic import model_schema

            found[shape], more = model_schema(shape, REF + "{model}")
            parts |= more
    return [found[shape] for shape in shapes], parts


def _own(wanted: type[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = wanted.json_schema()
    return schema


def _dress(shape: type[Any], schema: dict[str, Any]) -> None:
    """Helps, and choices in the order in which they were written."""
    texts, orders = helps(shape), written_order(shape)
    properties = schema["properties"]
    for field in msgspec.structs.fields(shape):
        text = texts.get(field.name)
        if text is not None:
            properties[field.encode_name]["description"] = text
    for each in properties.values():
        _order_choices(each, orders)
    if shape.__doc__ and "description" not in schema:
        schema["description"] = inspect.cleandoc(shape.__doc__)
    if not schema["required"]:
        del schema["required"]


def _order_choices(schema: dict[str, Any], orders: Mapping[frozenset[Any], tuple[Any, ...]]) -> None:
    """Choices as they were written, and a constant where there is one."""
    found = schema.get("enum", ())
    if len(found) == 1:
        schema["const"] = schema.pop("enum")[0]
    elif found:
        schema["enum"] = list(orders.get(frozenset(found), found))
    for inner in (*schema.get("anyOf", ()), *(schema[key] for key in ("items",) if key in schema)):
        _order_choices(inner, orders)


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _refs(each)
