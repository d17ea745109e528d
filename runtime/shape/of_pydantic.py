"""Configs that are pydantic models, as node types of other makers may have: the same faults and schemas."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from runtime.shape import Misfit
from runtime.shape.faults import Fault, Kind
from runtime.shape.help import helps
from runtime.shape.words import length_words


def model_faults(misfit: Misfit) -> list[Fault]:
    """Pydantic's errors as faults."""
    try:
        misfit.shape.model_validate(misfit.value)
    except ValidationError as error:
        return [_fault(dict(item), misfit.value) for item in error.errors(include_url=False)]
    return []


def model_schema(model: type[BaseModel], ref: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The schema of a model, and the definitions that it refers to."""
    schema = model.model_json_schema(ref_template=ref)
    texts = helps(model)
    for name, field in model.model_fields.items():
        shown = schema.get("properties", {}).get(field.alias or name)
        if shown is not None and name in texts:
            shown.setdefault("description", texts[name])
    return schema, schema.pop("$defs", {})


def _fault(item: dict[str, Any], document: Any) -> Fault:
    place, value = _place(item, document), item["input"]
    if item["type"] == "extra_forbidden":
        return Fault("unknown", place, "", value)
    if item["type"] == "missing":
        return Fault("missing", place, "")
    if item["type"] == "string_pattern_mismatch":
        return Fault("pattern", place, item["ctx"]["pattern"], value)
    kind, words = _words(item)
    return Fault(kind, place, words, value)


def _place(item: dict[str, Any], document: Any) -> tuple[str | int, ...]:
    """Where, without pydantic's own tags of unions, which are no part of the document."""
    place: list[str | int] = []
    here = document
    for key in item["loc"]:
        known = isinstance(here, dict) and (key in here or item["type"] == "missing")
        if not isinstance(key, int) and not known:
            continue
        place.append(key)
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            here = None
    return tuple(place)


def _words(item: dict[str, Any]) -> tuple[Kind, str]:
    """What is wrong with a value, as one says it of JSON: pydantic speaks of Python's types."""
    kind, more = item["type"], item.get("ctx", {})
    wanted = next((words for types, words in _BELONGS.items() if kind in types), None)
    if wanted is not None:
        return "belongs", wanted
    if kind in ("literal_error", "enum"):
        return "choice", str(more["expected"]).replace(" or ", ", ")
    if kind in _BOUNDS:
        side, words, key = _BOUNDS[kind]
        return side, f"{words} {more[key]}"
    if kind in ("string_too_short", "string_too_long"):
        return "other", length_words(len(item["input"]), more.get("min_length"), more.get("max_length"))
    text = str(item["msg"]).removeprefix("Value error, ").rstrip(".")
    return "other", text[:1].lower() + text[1:]


_BELONGS = {
    ("model_type", "model_attributes_type", "dict_type", "dataclass_type"): "an object",
    ("list_type", "tuple_type", "set_type"): "a list",
    ("string_type",): "a text",
    ("int_type", "int_parsing", "int_from_float", "int_parsing_size"): "a whole number",
    ("float_type", "float_parsing", "decimal_type", "decimal_parsing", "finite_number"): "a number",
    ("bool_type", "bool_parsing"): "true or false",
}
_BOUNDS: dict[str, tuple[Kind, str, str]] = {
    "greater_than_equal": ("small", "at least", "ge"),
    "greater_than": ("small", "more than", "gt"),
    "less_than_equal": ("large", "at most", "le"),
    "less_than": ("large", "less than", "lt"),
}
