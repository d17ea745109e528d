"""JSON of a file, read strictly: bounded, UTF-8, no key twice, fractions exact."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from runtime.errors import BadFlow, Problem

MAX_BYTES = 8 * 1024 * 1024
"""A flow document is at most 8 MiB: 10,000 nodes with a page of instructions each do not reach it."""
MAX_DEPTH = 64
"""JSON nested deeper than this is refused; bodies of loops and schemas stay far below."""


def parse_json(raw: bytes, *, name: str, limit: int) -> Any:
    """JSON of a file, strictly: UTF-8 (a byte-order mark is accepted), no NaN, no key twice, bounded size
    and depth; fractions come as Decimal. Raises BadFlow that says where."""
    if len(raw) > limit:
        raise bad_file(
            "flow.too_large",
            f"{name} has {len(raw):,} bytes, more than the {limit:,} that are read",
            name,
            "Split it, or move long texts into facts or files.",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_file(
            "flow.not_utf8", f"{name} is not UTF-8 text (byte {error.start})", name, "Save it as UTF-8."
        ) from None
    if "\x00" in text:
        raise bad_file("flow.nul", f"{name} contains NUL bytes", name, "It is not a text file; save it anew.")
    if not text.strip():
        raise bad_file("flow.empty", f"{name} is empty", name, "`farthing new` makes one to begin with.")
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise bad_file(
            "flow.broken_json",
            f"{name} is not complete JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            name,
            "Mend the text there.",
        ) from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise bad_file("flow.broken_json", f"{name}: {error}", name, "Mend the text there.") from None
    if deeper_than(value, MAX_DEPTH):
        raise _too_deep(name)
    return value


def plain_numbers(value: Any) -> Any:
    """The same tree with floats in place of Decimals, for everything that is not money."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    return value


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and objects in a value lie deeper in each other than so many levels."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def bad_file(code: str, message: str, name: str | None, remedy: str = "Check the file.") -> BadFlow:
    return BadFlow([Problem(code, message, remedy)], name=name)


def _too_deep(name: str) -> BadFlow:
    return bad_file("flow.too_deep", f"{name} is nested deeper than {MAX_DEPTH} levels", name, "Flatten it.")
