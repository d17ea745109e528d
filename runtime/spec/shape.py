"""What does not fit a shape as problems with JSON paths, node ids and words for people."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from runtime.errors import Problem
from runtime.shape import Misfit, read
from runtime.shape.faults import Fault, faults, json_path
from runtime.spec.document import ID_PATTERN, NodeSpec

EXAMPLES = {
    "a text": '"words"',
    "a whole number": "10",
    "a number": "0.5",
    "a number from 0 to 100": "80",
    "a list": '["one", "two"]',
    "an object": '{"name": "value"}',
}
"""What each kind of value looks like in JSON."""
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
    return "flow.bad_value", f"{path}: {_wrong(fault)}", _change(fault, path)


def _change(fault: Fault, path: str) -> str:
    """What to write, and where."""
    if fault.remedy is not None:
        return fault.remedy
    where = _where(fault, path)
    match fault.kind:
        case "belongs":
            example = EXAMPLES.get(fault.words)
            return f"Make {where} {fault.words}" + (f", such as {example}." if example else ".")
        case "choice":
            choices = [choice.strip("'") for choice in fault.words.split(", ")]
            near = _near(str(fault.value), choices)
            return f"Did you mean {near!r}?" if near else f"Set {where} to {_one_of(choices)}."
        case "small" | "large":
            return f"Set {where} to {fault.words}."
        case "length" if fault.words.startswith("at least"):
            return f"Give {where} {fault.words.partition(' belong')[0]}."
        case "length":
            unit = fault.words.split()[1]
            return f"Shorten {where} to {fault.words.partition(': ')[2]} {unit}."
        case "pattern":
            return f"Write {where} so that it fits {fault.words}."
    return f"Correct {where}."


def _where(fault: Fault, path: str) -> str:
    """The field as people find it in the document."""
    name = next((part for part in reversed(fault.place) if isinstance(part, str)), None)
    if name is None:
        return f"`{path}`"
    last = fault.place[-1]
    return f"entry {last + 1} of `{name}`" if isinstance(last, int) else f"`{name}`"


def _near(word: str, known: list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), None)


def _one_of(choices: list[str]) -> str:
    return repr(choices[0]) if len(choices) == 1 else f"one of {', '.join(map(repr, choices))}"


def _instead(name: str, known: str) -> str:
    """What to do about a field that there is not."""
    near = _near(name, known.split(", ")) if known else None
    if near is not None:
        return f"Did you mean {near!r}?"
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
