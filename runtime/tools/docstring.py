"""What a docstring says of a function and its arguments, in Google's, NumPy's or Sphinx' style."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params):?\s*$", re.IGNORECASE)
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")


def first_paragraph(doc: str | None) -> str:
    """The text until the first empty line, on one line."""
    lines = []
    for line in inspect.cleandoc(doc or "").splitlines():
        if not line.strip() or _SPHINX.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def argument_texts(doc: str | None) -> dict[str, str]:
    """What is said of each argument, by its name; those of which nothing is said are left out."""
    lines = inspect.cleandoc(doc or "").splitlines()
    found = _sphinx(lines)
    for i, line in enumerate(lines):
        if not _SECTION.match(line.strip()):
            continue
        indent = _indent(line)
        under = i + 1 < len(lines) and set(lines[i + 1].strip()) == {"-"}
        read = _numpy if under else _google
        found |= read(_body(lines[i + 1 + under :], indent, deeper=not under))
        break
    return {name: text for name, text in found.items() if text}


def _body(lines: list[str], indent: int, *, deeper: bool) -> list[str]:
    """The lines of a section. Google's is indented; NumPy's ends where the next heading begins."""
    taken: list[str] = []
    for i, line in enumerate(lines):
        if line.strip():
            underlined = i + 1 < len(lines) and len(lines[i + 1].strip()) > 2
            heading = underlined and set(lines[i + 1].strip()) == {"-"}
            if (deeper and _indent(line) <= indent) or _indent(line) < indent or (not deeper and heading):
                break
        taken.append(line)
    return taken


def _google(lines: list[str]) -> dict[str, str]:
    return _entries(lines, _GOOGLE)


def _numpy(lines: list[str]) -> dict[str, str]:
    found = _entries(lines, _NUMPY)
    return {name.strip(): text for names, text in found.items() for name in names.split(",")}


def _entries(lines: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Entries that begin at the outermost indentation; deeper lines go on with the text."""
    inner = [_indent(line) for line in lines if line.strip()]
    outer = min(inner, default=0)
    found: dict[str, str] = {}
    name: str | None = None
    for line in lines:
        if not line.strip():
            continue
        match = pattern.match(line.strip()) if _indent(line) == outer else None
        if match is not None:
            name = match[1]
            found[name] = match[2].strip() if pattern.groups > 1 else ""
        elif name is not None:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _sphinx(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name: str | None = None
    for line in lines:
        match = _SPHINX.match(line.strip())
        if match is not None:
            name = match[1]
            found[name] = match[2].strip()
        elif not line.strip() or line.strip().startswith(":"):
            name = None
        elif name is not None:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
