"""The memory tools as the model is offered them."""

from __future__ import annotations

from runtime.facts import MODEL_KINDS
from runtime.messages import ToolSpec

READ, WRITE, FORGET = "memory_read", "memory_write", "memory_forget"

_KEY = {"type": "string", "description": "Short and stable, such as `name` or `diet`."}
USAGE_HINT = (
    " A key that begins with `usage/` reads what a budget has used and has left; `usage/` alone reads all."
)
SPECS = {
    "read": ToolSpec(
        READ,
        "Read stored facts again. They are already given to you; use this after a write or to see one anew.",
        {
            "type": "object",
            "properties": {
                "keys": {"type": "array", "items": _KEY, "description": "Which facts; absent: all of them."}
            },
            "additionalProperties": False,
        },
    ),
    "write": ToolSpec(
        WRITE,
        "Remember something stable and useful under a key; an existing key is replaced. Never store passwords"
        " or keys.",
        {
            "type": "object",
            "properties": {
                "key": _KEY,
                "value": {"description": "What to remember; null empties the fact."},
                "kind": {"type": "string", "enum": sorted(MODEL_KINDS)},
                "ttl": {
                    "type": "number",
                    "description": "Seconds until it expires, for notes of this session.",
                },
                "subject": {
                    "type": "string",
                    "description": "Who or what it is about; with `attribute`, replaces what said so.",
                },
                "attribute": {"type": "string", "description": "What of the subject it tells."},
            },
            "required": ["key", "value"],
            "additionalProperties": False,
        },
    ),
    "forget": ToolSpec(
        FORGET,
        "Forget stored facts for good.",
        {
            "type": "object",
            "properties": {"keys": {"type": "array", "items": _KEY, "minItems": 1}},
            "required": ["keys"],
            "additionalProperties": False,
        },
    ),
}


def spec_of(name: str, *, with_usage: bool) -> ToolSpec:
    """A memory tool as it is offered; `with_usage`: there are budgets to read."""
    spec = SPECS[name]
    if name != "read" or not with_usage:
        return spec
    return ToolSpec(spec.name, spec.description + USAGE_HINT, spec.parameters)
