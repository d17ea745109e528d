"""What is wrong with a settings file: which line, which key, what; never a value, which may be a secret."""

from __future__ import annotations

import difflib
from typing import Any

import msgspec

from runtime.settings.document import (
    HOST_PATTERN,
    NAME_PATTERN,
    URL_PATTERN,
    BudgetTable,
    DisplayTable,
    ProviderTable,
    SecretTable,
    ToolsTable,
)
from runtime.settings.files import line_of
from runtime.shape import Misfit, Shape
from runtime.shape.faults import Fault, faults

SHOWN = 5
"""How many problems of a file one message lists."""
TABLES: dict[str, type[Shape]] = {
    "providers": ProviderTable,
    "secrets": SecretTable,
    "budget": BudgetTable,
    "tools": ToolsTable,
    "display": DisplayTable,
}
GONE = {"secrets": {"tools": "no tool is given a secret, so there is nothing to allow: remove it"}}
"""Keys that settings had once and that did nothing, by their table."""
WORDS = {
    "a text": "must be text",
    "an object": 'must be a table; a secret is written {secret = "NAME"}',
    "a text or an object": 'must be text or {secret = "NAME"}',
}
PATTERNS = {
    NAME_PATTERN: "must be letters, digits, _ and - alone, the first of them a letter or digit",
    URL_PATTERN: "must be an address that begins with http:// or https://",
    HOST_PATTERN: "must be a host such as api.example.com or *.example.com, without http:// and path",
}


def problems(misfit: Misfit, text: str) -> list[str]:
    """The first of them, a line each, and how many more there are."""
    found = faults(misfit)
    told = [_say(misfit.shape, each, text) for each in found[:SHOWN]]
    return told if len(found) <= SHOWN else [*told, f"and {len(found) - SHOWN} more"]


def _say(shape: type[Any], fault: Fault, text: str) -> str:
    where = ".".join(str(part) for part in fault.place) or "the file"
    number = line_of(text, fault.place)
    line = f"line {number}: " if number else ""
    match fault.kind:
        case "unknown":
            return f"{line}unknown key {where}{_near(shape, fault)}"
        case "missing":
            return f"{line}{where} is missing"
        case "belongs":
            return f"{line}{where}: {WORDS.get(fault.words) or f'must be {fault.words}'}"
        case "choice":
            return f"{line}{where}: must be one of {fault.words}"
        case "small" | "large":
            return f"{line}{where}: is too {fault.kind}: {fault.words}"
        case "pattern":
            return f"{line}{where}: {PATTERNS.get(fault.words) or f'does not fit the pattern {fault.words}'}"
    return f"{line}{where}: {fault.words}"


def _near(shape: type[Any], fault: Fault) -> str:
    gone = GONE.get(str(fault.place[0]), {}).get(str(fault.place[-1])) if len(fault.place) == 3 else None
    if gone is not None:
        return f" ({gone})"
    table: type[Shape] = TABLES.get(str(fault.place[0]), shape) if len(fault.place) > 1 else shape
    names = [each.encode_name for each in msgspec.structs.fields(table)]
    close = difflib.get_close_matches(str(fault.place[-1]), names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
