"""The built-in tool `read_file`: a text file inside the folder that the tool node allows."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from runtime.errors import InputError, ToolFailure
from runtime.tools.function import ToolContext, tool

MAX_BYTES = 1_000_000
"""A larger file is not read: it would be cut to a small part of it anyway."""
LISTED = 50
"""How many names of a folder are told."""


@tool(effect="none", timeout_s=10, folder=True)
def read_file(context: ToolContext, path: str) -> str:
    """Read a text file of the folder that you may read. A folder's path tells what is in it.

    Args:
        path: Relative to that folder, such as notes/today.md; `.` is the folder itself.
    """
    root = context.folder
    assert root is not None
    found = _inside(root, path)
    if found.is_dir():
        return _listing(root, found)
    return _text(found, path)


def _inside(root: Path, path: str) -> Path:
    """The path with every link resolved; one that leads out of the folder is refused like one that is not
    there, so that nothing is told of what lies outside."""
    try:
        found = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise _missing(root, path) from None
    if not found.is_relative_to(root):
        raise _missing(root, path)
    return found


def _missing(root: Path, path: str) -> InputError:
    near: list[str] = []
    with suppress(OSError, ValueError):
        near = get_close_matches(Path(path).name, [entry.name for entry in root.iterdir()], n=3)
    hint = f" Is it {' or '.join(map(repr, near))}?" if near else " The path `.` tells what is there."
    return InputError(f"There is no file {path[:120]!r} in the folder.{hint}", code="tool.no_file")


def _listing(root: Path, folder: Path) -> str:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in folder.iterdir())
    where = folder.relative_to(root).as_posix()
    more = f"\nand {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{where} is a folder with:\n" + ("\n".join(names[:LISTED]) or "nothing") + more


def _text(found: Path, path: str) -> str:
    # Opened without following a last link and without waiting, should a pipe have taken the file's place.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(found, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ToolFailure(f"{path!r} is no ordinary file.", code="tool.no_file")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ToolFailure(f"{path!r} cannot be read: {error.strerror}.", code="tool.no_file") from None
    if len(data) > MAX_BYTES:
        raise ToolFailure(f"{path!r} is larger than {MAX_BYTES:,} bytes.", code="tool.too_large")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ToolFailure(f"{path!r} is not UTF-8 text.", code="tool.not_text") from None
    if "\x00" in text:
        raise ToolFailure(f"{path!r} is not text.", code="tool.not_text")
    return text
