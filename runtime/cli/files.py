"""Files that a command is given: flows, examples and inputs, refused with a sentence where they are none."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

import runtime
from runtime.errors import BadInput, NotFound

EXAMPLE = "example:"
MAX_BYTES = 10_000_000
"""The largest file or standard input that is read: 10 MB."""
MAX_DEPTH = 64
"""Levels of nesting that JSON from outside may have."""
SHOWN = 5
"""So many flows of a folder are named where none is nearly right."""


class FlowFile(msgspec.Struct, frozen=True):
    """A flow's bytes and where they came from."""

    raw: bytes
    path: Path
    name: str

    @property
    def example(self) -> bool:
        """Whether it came with Farthing itself."""
        return self.name.startswith(EXAMPLE)

    @property
    def script(self) -> Path | None:
        """The script for rehearsals that lies beside the flow."""
        path = self.path.with_name(f"{self.path.stem}.script.json")
        return path if path.is_file() else None


def examples_folder() -> Path:
    """Where the example flows are: in the wheel beside the code, in a checkout beside the packages."""
    package = Path(runtime.__path__[0])
    inside = package / "_flows"
    return inside if inside.is_dir() else package.parent / "flows"


def example_names() -> list[str]:
    """Names of the example flows."""
    return sorted(
        path.stem for path in examples_folder().glob("*.json") if not path.name.endswith(".script.json")
    )


def read_flow(given: str) -> FlowFile:
    """A flow by path or `example:NAME`. Raises NotFound or BadInput."""
    if not given.strip():
        raise BadInput("FLOW is empty.", remedy="Give the path of a flow, or example:NAME.")
    if given.startswith(EXAMPLE):
        name = given.removeprefix(EXAMPLE)
        known = example_names()
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise NotFound(
                f"There is no example {name!r}.",
                remedy=f"Did you mean {EXAMPLE}{near[0]}?" if near else f"There are: {', '.join(known)}.",
            )
        path = examples_folder() / f"{name}.json"
    else:
        path = Path(given)
        if not path.exists():
            raise NotFound(f"There is no file {given!r}.", remedy=_near_flow(path))
    return FlowFile(read_bytes(path, "flow"), path, given)


def _near_flow(path: Path) -> str:
    if path.name in example_names() or path.stem in example_names():
        return f"The example is called {EXAMPLE}{path.stem}."
    try:
        here = sorted(p.name for p in path.parent.glob("*.json") if not p.name.endswith(".script.json"))
    except OSError:
        here = []
    near = get_close_matches(path.stem, [name.removesuffix(".json") for name in here], n=1)
    if near:
        return f"Did you mean {path.parent / near[0]}.json?"
    if here:
        more = f" and {len(here) - SHOWN} more" if len(here) > SHOWN else ""
        return f"There are: {', '.join(str(path.parent / name) for name in here[:SHOWN])}{more}."
    return "Give the path of a flow, or example:NAME; `farthing new` writes one."


def open_new(path: Path, option: str) -> BinaryIO:
    """A file that was not there, which only its owner may read. Raises BadInput that names the option."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError:
        raise BadInput(f"{path} is there already.", remedy=f"Give {option} a name that is not.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"{path} cannot be written: {reason}.",
            remedy=f"Give {option} a file in a folder that is there and that you can write in.",
        ) from None


def read_bytes(path: Path, what: str) -> bytes:
    """A file's bytes. Raises BadInput for a folder, one that cannot be read, or more than 10 MB."""
    if path.is_dir():
        raise BadInput(f"{path} is a folder, not a file of {what}.", remedy="Name a file in it.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"There is no file {str(path)!r}.", remedy="Check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{path} cannot be read: {reason}.", remedy="Check the path and its rights.") from None
    return _bounded(data, str(path))


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise BadInput(
            f"{name} is larger than {MAX_BYTES // 1_000_000} MB.", remedy="Split it, or give a part of it."
        )
    return data


def decode_text(data: bytes, name: str) -> str:
    """Bytes as text: UTF-8, with or without a byte-order mark, without NUL. Raises BadInput."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput(f"{name} is UTF-16 text.", remedy="Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name} is not UTF-8 text (at byte {error.start}).", remedy="Save it as UTF-8."
        ) from None
    if "\x00" in text:
        raise BadInput(f"{name} has a NUL byte (at {text.index(chr(0))}).", remedy="Give a text file.")
    return text


def decode_json(text: str, name: str) -> Any:
    """Strict JSON (no NaN), of bounded depth. Raises BadInput that says where it is broken."""
    import msgspec

    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep(name) from None
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{name} is not sound JSON: {_place(text, str(error))}.", remedy=f"Mend {name}."
        ) from None
    from runtime.spec.text import deeper_than

    if deeper_than(value, MAX_DEPTH):
        raise _too_deep(name)
    return value


def _too_deep(name: str) -> BadInput:
    return BadInput(f"{name} is nested deeper than {MAX_DEPTH} levels.", remedy="Flatten it.")


def _place(text: str, message: str) -> str:
    """The decoder's message with line and column in place of its byte number."""
    what, _, rest = message.removeprefix("JSON is malformed: ").partition(" (byte ")
    if not rest:
        return "it ends too early" if "truncated" in message else what
    before = text.encode("utf-8", "surrogatepass")[: int(rest.rstrip(")"))].decode("utf-8", "replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"{what} at line {line}, column {column}"


def read_stdin() -> str:
    """All of standard input as text. Raises BadInput."""
    name = "standard input"
    return decode_text(_bounded(sys.stdin.buffer.read(MAX_BYTES + 1), name), name)


def stdin_is_given() -> bool:
    """Whether something is piped in: standard input is there and is no terminal."""
    try:
        return sys.stdin is not None and not sys.stdin.isatty()
    except ValueError:
        return False
