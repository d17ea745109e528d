"""The Flow document: its shape, how it is read, migrated and saved. Nothing here knows node types."""

from runtime.spec.document import FORMAT, FORMAT_VERSION, EdgeSpec, FlowSpec, GraphSpec, LoadedFlow, NodeSpec
from runtime.spec.load import load_flow
from runtime.spec.save import save_flow
from runtime.spec.text import MAX_BYTES, MAX_DEPTH, parse_json, plain_numbers

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "MAX_BYTES",
    "MAX_DEPTH",
    "EdgeSpec",
    "FlowSpec",
    "GraphSpec",
    "LoadedFlow",
    "NodeSpec",
    "load_flow",
    "parse_json",
    "plain_numbers",
    "save_flow",
]
