"""Reading and writing the small TOML files of settings: bounded, private, and with errors that say where."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from runtime.errors import BadSettings

MAX_BYTES = 1_000_000
"""The largest settings file that is read."""
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def read_text(path: Path, what: str) -> str | None:
    """The text of a file, None where there is none. Raises BadSettings where it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # A pipe or a device would block, or never end.
            raise BadSettings(f"The {what} {path} is not a file.", remedy="Make it one, or name another.")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadSettings(
            f"The {what} {path} cannot be read: {reason}.",
            remedy="Make it a file that you can read, or name another one.",
        ) from None
    if len(raw) > MAX_BYTES:
        raise BadSettings(f"The {what} {path} is larger than {MAX_BYTES:,} bytes.", remedy="Make it smaller.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadSettings(
            f"The {what} {path} is not UTF-8 text (line {line}).", remedy="Save it as UTF-8."
        ) from None


def parse(text: str, path: Path, what: str) -> dict[str, Any]:
    """The tables of a TOML text, numbers with a point as Decimal. Raises BadSettings with the line."""
    import tomllib  # most runs have no settings file

    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        place, reason = _place(text, str(error)), re.sub(r"\s*\(at .*\)$", "", str(error))
    except (ValueError, ArithmeticError):
        place, reason = "", "a number in it has too many digits"
    except RecursionError:
        place, reason = "", "it is nested too deeply"
    raise BadSettings(f"The {what} {path}{place} is not valid TOML: {reason}.", remedy="Correct that line.")


def _place(text: str, message: str) -> str:
    """Where the parser stopped; of what lacks its end, where the text ends."""
    at = re.search(r"line (\d+), column (\d+)", message)
    if at:
        return f", line {at[1]}, column {at[2]}"
    lines = text.rstrip().split("\n")
    return f", line {len(lines)}, column {len(lines[-1]) + 1}"


def line_of(text: str, location: Sequence[int | str]) -> int | None:
    """The line on which the last name of `location` is set or opens a table; None where it is not found.

    Meant for messages: names are looked for in order, each below the one before.
    """
    found: int | None = None
    start = 0
    lines = text.splitlines()
    for name in location:
        if isinstance(name, int):
            continue
        quoted = rf"[\"']?{re.escape(name)}[\"']?"
        pattern = re.compile(
            rf"^\s*(\[+[^\]]*(?<![\w-]){quoted}(?![\w-])|([^=#]*\.)?{quoted}\s*[=.])|[{{,]\s*{quoted}\s*="
        )
        for number in range(start, len(lines)):
            if pattern.search(lines[number]):
                found, start = number + 1, number
                break
    return found


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all. Raises BadSettings."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BadSettings(
            f"{path} cannot be written: {error.strerror or type(error).__name__}.",
            remedy="Make its folder writable for you.",
        ) from None


def mode_of(path: Path) -> int | None:
    """The permission bits of a file; None where there is no file or the system has no such bits."""
    if os.name != "posix":
        return None
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def toml_string(value: str) -> str:
    """A TOML basic string. Halves of surrogate pairs, which no file can hold, become U+FFFD."""
    escaped = re.sub("[\ud800-\udfff]", "\ufffd", value)
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
