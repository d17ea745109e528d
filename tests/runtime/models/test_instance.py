"""The smallest value that a schema allows."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.models.instance import smallest

SHAPES: tuple[tuple[Any, Any], ...] = (
    ({"type": "string"}, "rehearsal"),
    ({"type": "string", "maxLength": 4}, "rehe"),
    ({"type": "string", "minLength": 12}, "rehearsal..."),
    ({"type": "string", "enum": ["b", "a"]}, "b"),
    ({"const": 7}, 7),
    ({"type": "integer"}, 0),
    ({"type": "integer", "exclusiveMinimum": 4}, 5),
    ({"type": "integer", "maximum": -2}, -2),
    ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
    ({"type": "number", "minimum": 0.5}, 0.5),
    ({"type": "boolean"}, False),
    ({"type": "null"}, None),
    ({"type": ["null", "integer"]}, 0),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
    ({"type": "array"}, []),
    ({"type": "string", "format": "date"}, "2026-01-01"),
    ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, False),
    ({"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                {"properties": {"b": {"const": 2}}, "required": ["b"]}], "type": "object"}, {"a": 1, "b": 2}),
    ({"$defs": {"x": {"enum": [3]}}, "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]},
     {"a": 3}),
    ({"properties": {"a": {"type": "string", "default": "d"}}, "required": ["a"]}, {"a": "d"}),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
    (True, None),
    ({"$ref": "#/nowhere"}, None),
)  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), SHAPES)
def test_smallest_instance_of_a_schema(schema: Any, value: Any) -> None:
    assert smallest(schema) == value


def test_smallest_instance_of_an_endless_schema_ends() -> None:
    endless = {
        "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}
    }
    assert "n" in smallest({**endless, "$ref": "#/$defs/n"})
