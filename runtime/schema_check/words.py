"""What a validator found, in plain words with the place. Values are shown short."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from jsonschema_rs import ValidationError

from runtime.errors import Problem

SHOWN_CHARS = 60
"""How much of a value a message shows."""
SHOWN_ITEMS = 8
TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def short(value: Any) -> str:
    """A value as JSON, cut."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= SHOWN_CHARS else written[: SHOWN_CHARS - 1] + "…"


def json_path(steps: Sequence[str | int]) -> str:
    """`$.items[3]["odd name"]`."""
    path = "$"
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if _PLAIN.fullmatch(step) else f"[{short(step)}]"
    return path


def _list(values: Sequence[Any]) -> str:
    shown = ", ".join(short(value) for value in values[:SHOWN_ITEMS])
    return shown + (", …" if len(values) > SHOWN_ITEMS else "")


def _types(found: dict[str, Any]) -> str:
    names = sorted(found["types"], key=lambda name: (name == "null", name))
    return " or ".join(TYPES.get(name, name) for name in names)


_SAY: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "type": lambda found, value: f"must be {_types(found)}, not {short(value)}",
    "required": lambda found, _: f"lacks {short(found['property'])}",
    "additionalProperties": lambda found, _: f"has {_list(found['unexpected'])}, which is not allowed",
    "enum": lambda found, value: f"must be one of {_list(found['options'])}, not {short(value)}",
    "const": lambda found, value: f"must be {short(found['expected_value'])}, not {short(value)}",
    "minimum": lambda found, value: f"must be at least {found['limit']}, not {short(value)}",
    "maximum": lambda found, value: f"must be at most {found['limit']}, not {short(value)}",
    "exclusiveMinimum": lambda found, value: f"must be more than {found['limit']}, not {short(value)}",
    "exclusiveMaximum": lambda found, value: f"must be less than {found['limit']}, not {short(value)}",
    "multipleOf": lambda found, value: f"must be a multiple of {found['multiple_of']}, not {short(value)}",
    "minLength": lambda found, value: f"must have at least {found['limit']} characters",
    "maxLength": lambda found, value: f"must have at most {found['limit']} characters",
    "minItems": lambda found, value: f"must have at least {found['limit']} items, not {len(value)}",
    "maxItems": lambda found, value: f"must have at most {found['limit']} items, not {len(value)}",
    "minProperties": lambda found, value: f"must have at least {found['limit']} fields, not {len(value)}",
    "maxProperties": lambda found, value: f"must have at most {found['limit']} fields, not {len(value)}",
    "pattern": lambda found, value: f"must match {found['pattern']}, not {short(value)}",
    "uniqueItems": lambda found, value: "has an item twice",
    "contains": lambda found, value: "has no item of the kind that is asked for",
    "not": lambda found, value: f"is what is not allowed: {short(value)}",
    "anyOf": lambda found, value: f"fits none of the allowed forms: {short(value)}",
    "oneOf": lambda found, value: f"must fit exactly one of the allowed forms: {short(value)}",
    "propertyNames": lambda found, value: "has a field whose name is not allowed",
    "falseSchema": lambda found, value: "is not allowed",
}


def of_value(error: ValidationError) -> tuple[str, str]:
    """The place in the value, and what is wrong there."""
    keyword = error.kind.name
    say = _SAY.get(keyword)
    path = json_path(error.instance_path)
    try:
        message = say(error.kind.as_dict(), error.instance) if say else f"does not fit {keyword}"
    except (KeyError, TypeError):
        message = f"does not fit {keyword}"
    return path, message


def of_schema(error: Exception) -> Problem:
    """What is wrong with a schema itself."""
    if not isinstance(error, ValidationError):
        return Problem("schema.invalid", f"it is no JSON Schema: {error}", "Correct it.")
    path = json_path(error.instance_path)
    word = str(error.instance_path[-1]) if error.instance_path else ""
    if error.kind.name == "format" and word:
        return Problem(
            "schema.invalid",
            f"the pattern {short(error.instance)} cannot be used",
            "Patterns have no look-around and no back-references, and their counts are small.",
            None,
            path,
        )
    first = error.message.splitlines()[0][:200] if error.message else "it is no JSON Schema"
    return Problem("schema.invalid", f"it is no JSON Schema: {first}", "Correct it there.", None, path)
