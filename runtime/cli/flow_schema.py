"""The JSON Schema of a whole flow document, with the config of every installed node type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.node import NodeType
from runtime.shape.schema import json_schema, json_schemas
from runtime.spec import FORMAT, FlowSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def flow_schema(types: Sequence[NodeType]) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the documents that these node types can make up."""
    configs, found = json_schemas([each.config for each in types])
    schema = json_schema(FlowSpec)
    found |= schema.pop("$defs")
    node = found.pop("NodeSpec")
    schema["properties"]["nodes"]["items"] = {
        "oneOf": [_node(node, each, config) for each, config in zip(types, configs, strict=True)]
    }
    schema["properties"]["format"] = {"const": FORMAT, "description": "The format and its version."}
    schema["required"] = ["format", "name", "nodes", "edges"]
    return {"$schema": DIALECT, **schema, "title": "Farthing flow", "$defs": found}


def _node(shape: dict[str, Any], node_type: NodeType, config: dict[str, Any]) -> dict[str, Any]:
    """The schema of one node of a type."""
    properties = {**shape["properties"]}
    properties["type"] = {"const": node_type.name}
    properties["config"] = {**config, "description": node_type.help}
    return {
        "type": "object",
        "title": node_type.title,
        "additionalProperties": False,
        "properties": properties,
        "required": ["id", "type"],
    }
