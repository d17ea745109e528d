"""The repository as its own tests see it: which files are part of it, what its modules and documents say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
NEVER_OURS = (".git",)


def _ignored() -> list[str]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file that is part of the repository: those that `.gitignore` does not leave out, in order."""
    patterns = _ignored()
    for path in sorted(folder.iterdir()):
        inside = str(path.relative_to(ROOT))
        if path.name in NEVER_OURS or any(
            fnmatch(path.name, pattern) or fnmatch(inside, pattern) for pattern in patterns
        ):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def modules(*folders: str) -> list[Path]:
    """The Python files of these top-level folders."""
    return [path for folder in folders for path in files(ROOT / folder) if path.suffix == ".py"]


def text(path: Path) -> str | None:
    """A file's text; None for one that is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def name(path: Path) -> str:
    """A path as the repository calls it."""
    return path.relative_to(ROOT).as_posix()


PROMISE = re.compile(r"^- \*\*([A-Z]{3}-\d+)\*\* ", re.MULTILINE)


def promises() -> list[str]:
    """The ids in docs/promises.md, in order."""
    return PROMISE.findall((ROOT / "docs" / "promises.md").read_text(encoding="utf-8"))


def promises_held(source: str) -> set[str]:
    """The ids that the `promise` marks of a test module name, wherever the marks stand."""
    return {
        argument.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "promise"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


class Block(NamedTuple):
    """A fenced block of a Markdown page: the language and the words after it, the line it starts at."""

    language: str
    words: tuple[str, ...]
    body: str
    line: int


FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page that name a language, in order."""
    return [
        Block(found[1], tuple(found[2].split()), found[3], page.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(page)
    ]
