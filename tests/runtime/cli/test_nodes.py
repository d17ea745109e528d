"""`farthing nodes TYPE`: every field that can be written in a flow, sections' too, with bounds and help."""

from __future__ import annotations

import pytest

from runtime.cli.nodes import _fields, _lines
from runtime.registry import installed
from runtime.shape.schema import json_schema


def shown(name: str) -> dict[str, tuple[str, str]]:
    """What stands beside and below each field."""
    node = installed().get(name)
    assert node is not None
    lines = _lines(node)
    return {
        line.split("  ")[1]: (line.strip().partition("  ")[2], below.strip())
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("  ") and line[2] not in " "
    }


@pytest.mark.parametrize(
    ("kind", "field", "words"),
    [
        ("agent", "max_iterations", "integer from 1 to 1,000, default 10"),
        ("agent", "max_output_tokens", "integer from 1 to 10,000,000 or null, default null"),
        ("agent", "timeout_s", "number above 0 to 86,400 or null, default null"),
        ("agent", "context", "one of several objects"),
        (
            "agent",
            "context.mode",
            "none | full | buffer | summary | recall, required; without `context`: buffer",
        ),
        ("agent", "context.keep", "integer from 2 to 10,000, default 40 (where `mode` is buffer)"),
        ("memory", "blocks[].name", "text, required"),
        ("memory", "injection.tokens", "integer from 0 to 10,000,000, default 1500"),
        ("memory", "lifecycle.inclusion.threshold", "number from 0 to 1, default 0.6"),
        ("router", "classify.labels[].name", "text, required"),
        ("tool", "http.method", 'GET | POST | PUT | PATCH | DELETE, default "GET"'),
    ],
)
def test_nodes_lists_fields_of_sections_with_their_bounds(kind: str, field: str, words: str) -> None:
    assert shown(kind)[field][0] == words


@pytest.mark.parametrize("kind", installed().names())
def test_nodes_has_help_for_every_field(kind: str) -> None:
    node = installed().get(kind)
    assert node is not None
    schema = json_schema(node.config)
    found = list(_fields(schema, schema, ""))
    assert [line.name for line in found if not line.help and line.name != "context.mode"] == []
