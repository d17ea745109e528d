"""What does not fit a shape as problems with JSON paths, node ids and words for people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from runtime.errors import Problem
from runtime.shape import Misfit
from runtime.shape.faults import Fault, faults, json_path

SHOWN = 60
"""So many characters of a wrong value are repeated."""


def shape_problems(misfit: Misfit, *, base: str = "$") -> list[Problem]:
    """All that is wrong, with JSON paths from `base` on; nodes of a flow by their ids."""
    return [_problem(fault, misfit.value, base) for fault in faults(misfit)]


def _problem(fault: Fault, document: Any, base: str) -> Problem:
    path = json_path(fault.place, base)
    return Problem(*_words(fault, path), node_id=_node_id(fault, document, base), path=path)


def _node_id(fault: Fault, document: Any, base: str) -> str | None:
    if base != "$" or fault.place[:1] != ("nodes",) or len(fault.place) < 2:
        return None
    try:
        found = document["nodes"][fault.place[1]]["id"]
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, str) else None


def _words(fault: Fault, path: str) -> tuple[str, str, str]:
    name = str(fault.place[-1]) if fault.place else path
    if fault.kind == "unknown":
        return (
            "flow.unknown_field",
            f"{path} is not a field that exists",
            f"Remove {name!r} or mend its name.",
        )
    if fault.kind == "missing":
        return "flow.missing_field", f"{path} is missing", f"Add {name!r}."
    if fault.kind == "pattern":
        return (
            "flow.bad_id",
            f"{path} is {fault.value!r}, which is no usable id",
            "Use a letter first, then letters, digits, - or _, 64 at most.",
        )
    return "flow.bad_value", f"{path}: {_wrong(fault)}", "Change the value."


def _wrong(fault: Fault) -> str:
    shown = _shown(fault.value)
    match fault.kind:
        case "belongs":
            return f"{fault.words} belongs here, not {shown}"
        case "choice":
            return f"{shown} is none of {fault.words}"
        case "small" | "large":
            return f"{shown} is too {fault.kind}: {fault.words}"
    return fault.words


def _shown(value: Any) -> str:
    """A value as JSON writes it, short."""
    named = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    text = named or ("null" if value is None else str(value) if isinstance(value, Decimal) else repr(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
