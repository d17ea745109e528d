"""What does not fit a shape as problems with JSON paths, node ids and words for people."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from runtime.errors import Problem
from runtime.shape import Misfit, read
from runtime.shape.faults import Fault, faults, json_path
from runtime.spec.document import ID_PATTERN, NodeSpec

SHOWN = 60
"""So many characters of a wrong value are repeated."""


def shape_problems(misfit: Misfit, *, base: str = "$") -> list[Problem]:
    """All that is wrong, with JSON paths from `base` on; nodes of a flow by their ids."""
    return [_problem(fault, misfit.value, base) for fault in faults(misfit)]


def sound_nodes(misfit: Misfit) -> list[tuple[str, NodeSpec]]:
    """The nodes of a misfit document that have no fault themselves, with their JSON paths."""
    found = misfit.value.get("nodes") if isinstance(misfit.value, dict) else None
    if not isinstance(found, list):
        return []
    bad = {fault.place[1] for fault in faults(misfit) if fault.place[:1] == ("nodes",) and fault.place[1:]}
    return [(f"$.nodes[{i}]", read(NodeSpec, node)) for i, node in enumerate(found) if i not in bad]


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
            _instead(name, fault.words),
        )
    if fault.kind == "missing":
        return "flow.missing_field", f"{path} is missing", f"Add {name!r}."
    if fault.kind == "pattern" and fault.words == ID_PATTERN:
        return (
            "flow.bad_id",
            f"{path} is {fault.value!r}, which is no usable id",
            "Use a letter first, then letters, digits, - or _, 64 at most.",
        )
    return "flow.bad_value", f"{path}: {_wrong(fault)}", "Change the value."


def _instead(name: str, known: str) -> str:
    """What to do about a field that there is not."""
    from difflib import get_close_matches

    near = get_close_matches(name, known.split(", "), n=1) if known else []
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Remove {name!r} or mend its name" + (f"; there are: {known}." if known else ".")


def _wrong(fault: Fault) -> str:
    value = shown(fault.value)
    match fault.kind:
        case "belongs":
            return f"{fault.words} belongs here, not {value}"
        case "choice":
            return f"{value} is none of {fault.words}"
        case "small" | "large":
            return f"{value} is too {fault.kind}: {fault.words}"
        case "pattern":
            return f"{value} does not fit the pattern {fault.words}"
    return fault.words


def shown(value: Any) -> str:
    """A value as JSON writes it, short; a text between single quotes."""
    if isinstance(value, (str, Decimal)):
        text = repr(value) if isinstance(value, str) else str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
