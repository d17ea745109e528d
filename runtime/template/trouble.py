"""What a template's text has wrong, found while compiling it."""

from __future__ import annotations

import difflib

from jinja2 import nodes

LONGEST_PATH = 80
"""How much of what a template wrote is repeated in a message."""


class Trouble(Exception):
    """Something that the language does not have, found while compiling."""

    def __init__(self, message: str, remedy: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.line = line


def unknown(what: str, name: str, known: list[str], line: int) -> Trouble:
    """A filter or test that does not exist, with the nearest that does."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(sorted(known))}."
    return Trouble(f"there is no {what} called {name[:LONGEST_PATH]!r}", hint, line)


def written(node: nodes.Node) -> str:
    """About how the template wrote an expression, for messages."""
    parts: list[str] = []
    while len(parts) < LONGEST_PATH:
        if isinstance(node, nodes.Getattr):
            parts.append(f".{node.attr}")
            node = node.node
        elif isinstance(node, nodes.Getitem):
            key = repr(node.arg.value) if isinstance(node.arg, nodes.Const) else "…"
            parts.append(f"[{key}]")
            node = node.node
        else:
            parts.append(node.name if isinstance(node, nodes.Name) else "(…)")
            break
    return "".join(reversed(parts))[:LONGEST_PATH]
