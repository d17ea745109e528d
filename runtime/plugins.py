"""What installed packages register for Farthing: node types, commands, tools; found in one look a process."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, distributions

MARK = "farthing."
"""Every group of ours begins so; packages without it are not read further."""


@cache
def _ours() -> tuple[EntryPoint, ...]:
    seen: set[str] = set()
    found: list[EntryPoint] = []
    for package in distributions():
        text = package.read_text("entry_points.txt")
        if not text or MARK not in text:
            continue
        name = package.metadata["Name"]
        if name not in seen:  # what comes first on the path is what is imported
            seen.add(name)
            found += EntryPoints(package.entry_points)
    return tuple(found)


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, in the order of the path."""
    return tuple(point for point in _ours() if point.group == group)
