"""The lines of a batch: JSON lines or CSV rows as inputs of runs. A line that is none says why, and the rest
goes on.

A line is a text (a JSON string) or an object of the input's fields. `id`, `session` and `user` beside the
fields say what the line is called, in which session it runs and for whom, unless the flow's input has a field
of that name; then, or by choice, the fields stand in `input`: `{"input": {…}, "user": "ada"}`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from runtime.errors import BadInput

ASIDE = ("id", "session", "user")
"""What a line may say beside its input."""
WRAPPED = "input"
DIGITS = 16
"""Hexadecimal digits of a line's hash."""
TYPED = frozenset({"integer", "number", "boolean", "array", "object", "null"})
"""Types of fields whose cells are JSON; all other cells are texts."""

Kind = Literal["jsonl", "csv"]


class Line(NamedTuple):
    """One input. `number` is its line in the file, from 1; `hash` is of what it says. `wrong`: it cannot be
    used, and why."""

    number: int
    hash: str
    input: Any = None
    id: str | None = None
    session: str | None = None
    user: str | None = None
    wrong: str | None = None


def read_lines(data: bytes, kind: Kind, schema: dict[str, Any] | None) -> list[Line]:
    """The lines of a file, empty ones left out. `schema` is that of the flow's input. Raises BadInput for a
    CSV file that is none."""
    lines = _csv(data, schema) if kind == "csv" else _jsonl(data, schema)
    return list(lines)


def _jsonl(data: bytes, schema: dict[str, Any] | None) -> Iterator[Line]:
    fields = _fields(schema)
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            value = msgspec.json.decode(raw.decode("utf-8"))
        except UnicodeDecodeError:
            yield _wrong(number, raw, "it is not UTF-8 text")
        except RecursionError:
            yield _wrong(number, raw, "it is nested too deeply")
        except msgspec.DecodeError as error:
            yield _wrong(number, raw, f"it is not sound JSON ({error})")
        else:
            yield _line(number, value, fields)


def _csv(data: bytes, schema: dict[str, Any] | None) -> Iterator[Line]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"The CSV file is not UTF-8 text (at byte {error.start}).", remedy="Save it as UTF-8."
        ) from None
    head = text.partition("\n")[0]
    between = max(",;\t", key=head.count)  # the first one where none is there
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    try:
        names = next(rows, [])
    except csv.Error:
        names = []
    if not names or any(not name.strip() for name in names) or len(set(names)) < len(names):
        raise BadInput(
            "The CSV file does not begin with the names of its columns.",
            remedy="Write a first line of different names, such as: text,user",
        )
    types = {name: _types(part) for name, part in (schema or {}).get("properties", {}).items()}
    while True:
        number = rows.line_num + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield _wrong(number, str(error).encode(), f"it is no sound CSV ({error})")
            continue
        if not any(cells):
            continue
        if len(cells) != len(names):
            said = f"it has {len(cells)} cells and there are {len(names)} columns"
            yield _wrong(number, repr(cells).encode(), said)
            continue
        given = {}
        for name, cell in zip(names, cells, strict=True):
            value = _cell(cell, types.get(name, frozenset()))
            if value is not msgspec.UNSET and (cell or name not in ASIDE or name in types):
                given[name] = value
        yield _line(number, given, _fields(schema))


def _types(part: Any) -> frozenset[str]:
    """The types that a field of the schema may have."""
    named = part.get("type") if isinstance(part, dict) else None
    return frozenset([named] if isinstance(named, str) else named if isinstance(named, list) else [])


def _cell(cell: str, types: frozenset[str]) -> Any:
    """A cell as its field wants it; an empty cell of a field that is no text says nothing."""
    if not types & TYPED:
        return cell
    if not cell.strip():
        return cell if "string" in types else msgspec.UNSET
    try:
        return msgspec.json.decode(cell.strip() if cell.strip() not in ("TRUE", "FALSE") else cell.lower())
    except (msgspec.DecodeError, RecursionError):
        return cell  # the schema tells what is wrong with it


def _fields(schema: dict[str, Any] | None) -> frozenset[str]:
    return frozenset((schema or {}).get("properties", {}))


def _line(number: int, value: Any, fields: frozenset[str]) -> Line:
    digest = _hash(msgspec.json.encode(value, order="sorted"))
    if isinstance(value, str):
        return Line(number, digest, value)
    if not isinstance(value, dict):
        return Line(number, digest, wrong="it is neither a text nor an object")
    aside = {name: value[name] for name in ASIDE if name in value and name not in fields}
    rest = {name: item for name, item in value.items() if name not in aside}
    if WRAPPED not in fields and set(rest) == {WRAPPED}:
        rest = rest[WRAPPED]
    for name, item in aside.items():
        if isinstance(item, int) and not isinstance(item, bool):
            aside[name] = str(item)
        elif item is not None and (not isinstance(item, str) or not item):
            return Line(number, digest, wrong=f"its `{name}` is no text")
    return Line(number, digest, rest, **aside)


def _wrong(number: int, raw: bytes, why: str) -> Line:
    return Line(number, _hash(raw), wrong=why)


def _hash(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:DIGITS]
