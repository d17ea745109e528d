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
    text = str(item["msg"]).removeprefix("Value error, ").rstrip(".")
    return "flow.bad_value", f"{path}: {text[:1].lower()}{text[1:]}", "Change the value."
