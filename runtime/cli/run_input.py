"""The input of a run, gathered from TEXT, `--input`, `--set` and what is piped in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from runtime.cli import files
from runtime.errors import BadInput

TEXT_FIELD = "text"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


class Given(msgspec.Struct, frozen=True):
    """What the command line says about the input."""

    text: str | None
    file: str | None
    sets: Sequence[str]


def gather(given: Given) -> dict[str, Any] | str | None:
    """The input: an object, a text where nothing else is given, or None where nothing is.

    `--set` and TEXT go over the fields of an object in the file; with neither TEXT nor a file nor
    `--set text=`, piped standard input is the text. Raises BadInput, also where the text is given twice.
    """
    if given.text == "":  # in a script, a variable that nobody set
        raise BadInput("TEXT is empty.", remedy="Write what the flow is to work on, or pipe it in.")
    sets = _sets(given.sets)
    found = _from_file(given.file) if given.file is not None else None
    texts = {
        "TEXT": given.text is not None,
        f"--input {given.file}": isinstance(found, str),
        f"--set {TEXT_FIELD}=": TEXT_FIELD in sets,
    }
    by = [name for name, there in texts.items() if there]
    if len(by) > 1:
        raise BadInput(f"{by[0]} and {by[1]} both give the text.", remedy="Leave one of them out.")
    text = given.text if given.text is None else _checked(given.text, "TEXT")
    if text is None and found is None and TEXT_FIELD not in sets and files.stdin_is_given():
        text = files.read_stdin() or None
    if isinstance(found, dict) or sets:
        fields = found if isinstance(found, dict) else {} if found is None else {TEXT_FIELD: found}
        return {**fields, **({} if text is None else {TEXT_FIELD: text}), **sets}
    return found if text is None else text


def _sets(given: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in map(parse_set, given):
        if name in fields:
            raise BadInput(f"--set {name}= is given twice.", remedy="Leave one of them out.")
        fields[name] = value
    return fields


def _from_file(name: str) -> dict[str, Any] | str:
    """A JSON object or text from a `.json` file or `-`; any other file is the text."""
    if name == "-":
        return _object(files.decode_json(files.read_stdin(), "standard input"), "standard input")
    path = Path(name)
    text = files.decode_text(files.read_bytes(path, "input"), name)
    if path.suffix.lower() != ".json":
        return text
    return _object(files.decode_json(text, name), name)


def _object(value: Any, name: str) -> dict[str, Any] | str:
    if isinstance(value, (str, dict)):
        return value
    kind = {list: "a list", bool: "a truth value", type(None): "null"}.get(type(value), "a number")
    raise BadInput(f"{name} has {kind} where an object is asked for.", remedy='Write {"text": "…"}.')


def parse_set(given: str) -> tuple[str, Any]:
    """`field=value`: true, false, null, a number, or JSON in brackets or quotes is read as such; all else is
    text. The field `text` is always text. Raises BadInput."""
    name, equals, value = given.partition("=")
    name = name.strip()
    if not equals or not name:
        raise BadInput(f"--set takes field=value, not {given!r}.", remedy="For example: --set topic=tides")
    return name, _checked(value, f"--set {name}") if name == TEXT_FIELD else typed(value, f"--set {name}")


def typed(value: str, name: str) -> Any:
    """What a value typed at a prompt means: JSON where it plainly is, else the text itself."""
    value = _checked(value, name)
    plain = value.strip()
    if plain in {"true", "false", "null"} or _NUMBER.fullmatch(plain):
        return files.decode_json(plain, name)
    if plain[:1] in {"{", "[", '"'} and plain[-1:] in {"}", "]", '"'} and len(plain) > 1:
        return files.decode_json(plain, name)
    return value


def _checked(text: str, name: str) -> str:
    """Arguments come from the system's bytes; those that are no UTF-8 arrive as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(f"{name} is not UTF-8 text.", remedy="Give it as UTF-8.") from None
    return text
