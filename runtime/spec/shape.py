"""Pydantic's errors as problems with JSON paths, node ids and words for people."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from runtime.errors import Problem


def shape_problems(error: ValidationError, document: Any, *, base: str = "$") -> list[Problem]:
    """Pydantic's errors as problems with JSON paths, node ids and words for people."""
    return [_shape_problem(dict(item), document, base) for item in error.errors(include_url=False)]


def _shape_problem(item: dict[str, Any], document: Any, base: str) -> Problem:
    path, node_id, here = base, None, document
    for key in item["loc"]:
        if isinstance(key, int):
            path += f"[{key}]"
        elif isinstance(here, dict) and (key in here or item["type"] == "missing"):
            path += f".{key}"
        else:
            continue  # pydantic's own tags of unions are no part of the document
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            here = None
        if isinstance(here, dict) and isinstance(here.get("id"), str) and node_id is None and base == "$":
            node_id = here["id"] if path.startswith("$.nodes") else None
    return Problem(*_words(item, path), node_id=node_id, path=path)


def _words(item: dict[str, Any], path: str) -> tuple[str, str, str]:
    name = path.rsplit(".", 1)[-1]
    if item["type"] == "extra_forbidden":
        return (
            "flow.unknown_field",
            f"{path} is not a field that exists",
            f"Remove {name!r} or mend its name.",
        )
    if item["type"] == "missing":
        return "flow.missing_field", f"{path} is missing", f"Add {name!r}."
    if item["type"] == "string_pattern_mismatch":
        return (
            "flow.bad_id",
            f"{path} is {item.get('input')!r}, which is no usable id",
            "Use a letter first, then letters, digits, - or _, 64 at most.",
        )
    return "flow.bad_value", f"{path}: {_wrong(item)}", "Change the value."


def _wrong(item: dict[str, Any]) -> str:
    """What is wrong with a value, as one says it of JSON: pydantic speaks of Python's types."""
    kind, more = item["type"], item.get("ctx", {})
    wanted = next((words for types, words in _BELONGS.items() if kind in types), None)
    if wanted is not None:
        return f"{wanted} belongs here, not {_shown(item['input'])}"
    if kind in ("literal_error", "enum"):
        return f"{_shown(item['input'])} is none of {str(more['expected']).replace(' or ', ', ')}"
    if kind in _BOUNDS and isinstance(item["input"], bool):
        return f"a number belongs here, not {_shown(item['input'])}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{_shown(item['input'])} is too {words} {more[key]}"
    text = str(item["msg"]).removeprefix("Value error, ").rstrip(".")
    return text[:1].lower() + text[1:]


def _shown(value: Any) -> str:
    """A value as JSON writes it, short."""
    named = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    text = named or ("null" if value is None else repr(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


SHOWN = 60
"""So many characters of a wrong value are repeated."""
_BELONGS = {
    ("model_type", "model_attributes_type", "dict_type", "dataclass_type"): "an object",
    ("list_type", "tuple_type", "set_type"): "a list",
    ("string_type",): "a text",
    ("int_type", "int_parsing", "int_from_float", "int_parsing_size"): "a whole number",
    ("float_type", "float_parsing", "decimal_type", "decimal_parsing", "finite_number"): "a number",
    ("bool_type", "bool_parsing"): "true or false",
}
_BOUNDS = {
    "greater_than_equal": ("small: at least", "ge"),
    "greater_than": ("small: more than", "gt"),
    "less_than_equal": ("large: at most", "le"),
    "less_than": ("large: less than", "lt"),
}
