"""The smallest value that a JSON Schema allows, for answering in a given shape without a model."""

from __future__ import annotations

import math
from typing import Any

DEEPEST = 24
"""Levels of a schema that are followed; deeper ones get null."""
PLAIN_TEXT = "rehearsal"
FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "email": "nobody@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
TEXT_FIELDS = frozenset(
    {
        "answer",
        "text",
        "reply",
        "response",
        "summary",
        "final",
        "final_answer",
        "output",
        "message",
        "content",
    }
)
"""Fields that take the text of the answer, where there is one."""


def smallest(schema: Any, text: str | None = None) -> Any:
    """A minimal instance: required fields only, first choices, least numbers, `text` where a field is for
    text. Follows local `$ref`. A `pattern` is not solved for.
    """
    return _Maker(schema, text).make(schema, "", 0)


class _Maker:
    def __init__(self, root: Any, text: str | None) -> None:
        self._root, self._text = root, text

    def make(self, schema: Any, field: str, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > DEEPEST:
            return None
        if "$ref" in schema:
            return self.make(self._resolve(str(schema["$ref"])), field, depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        if "default" in schema:
            return schema["default"]
        for choice in ("anyOf", "oneOf"):
            if schema.get(choice):
                return self.make(self._best(schema[choice]), field, depth + 1)
        if schema.get("allOf"):
            return self.make(self._merged(schema), field, depth + 1)
        return self._of_type(schema, field, depth)

    def _resolve(self, ref: str) -> Any:
        found = self._root
        for part in ref.removeprefix("#").strip("/").split("/") if ref.strip("#/") else ():
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found

    @staticmethod
    def _best(choices: list[Any]) -> Any:
        """The first choice that is more than null."""
        said = [c for c in choices if not (isinstance(c, dict) and c.get("type") == "null")]
        return (said or choices)[0]

    def _merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        whole = {k: v for k, v in schema.items() if k != "allOf"}
        for part in schema["allOf"]:
            part = self._resolve(str(part["$ref"])) if isinstance(part, dict) and "$ref" in part else part
            for key, value in part.items() if isinstance(part, dict) else ():
                old = whole.get(key)
                if isinstance(old, dict) and isinstance(value, dict):
                    whole[key] = {**old, **value}
                elif isinstance(old, list) and isinstance(value, list):
                    whole[key] = [*old, *value]
                else:
                    whole[key] = value
        return whole

    def _of_type(self, schema: dict[str, Any], field: str, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((k for k in kind if k != "null"), "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        if kind == "object":
            properties = schema.get("properties") or {}
            names = schema.get("required") or []
            return {name: self.make(properties.get(name, {}), name, depth + 1) for name in names}
        if kind == "array":
            count = schema.get("minItems") or 0
            return [self.make(schema.get("items") or {}, field, depth + 1) for _ in range(min(count, 100))]
        if kind == "string":
            return self._string(schema, field)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        return False if kind == "boolean" else None

    def _string(self, schema: dict[str, Any], field: str) -> str:
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        text = self._text if self._text and (field in TEXT_FIELDS or not field) else PLAIN_TEXT
        text = text.ljust(schema.get("minLength") or 0, ".")
        longest = schema.get("maxLength")
        return text if longest is None else text[:longest]


def _number(schema: dict[str, Any], *, whole: bool) -> int | float:
    """The number nearest to zero, not below the least, that is allowed."""
    least: float = schema.get("minimum", -math.inf)
    most: float = schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step: float = schema.get("multipleOf") or (1 if whole else 0)
    if isinstance(above, (int, float)) and not isinstance(above, bool):
        least = max(least, above + (step or 0.5))
    if isinstance(below, (int, float)) and not isinstance(below, bool):
        most = min(most, below - (step or 0.5))
    value = min(max(0, least), most)
    if step:
        value = math.ceil(value / step) * step
        value = value - step if value > most else value
    return int(value) if whole else value
