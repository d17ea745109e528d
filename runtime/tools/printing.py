"""What tools print goes to standard error: standard output holds a run's result and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_inside: ContextVar[bool] = ContextVar("inside_a_tool", default=False)


class Diverted:
    """Stands for standard output while a tool is at work; what others write goes on as before."""

    def __init__(self, real: Any) -> None:
        self.real, self.users = real, 0

    def write(self, text: str) -> int:
        return int((sys.stderr if _inside.get() else self.real).write(text))

    def flush(self) -> None:
        (sys.stderr if _inside.get() else self.real).flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _inside.get() else self.real, name)


def divert() -> Callable[[], None]:
    """Begin to divert; calling what is given back ends it. Several may overlap and end in any order."""
    standing = sys.stdout if isinstance(sys.stdout, Diverted) else Diverted(sys.stdout)
    standing.users += 1
    sys.stdout = standing

    def undo() -> None:
        standing.users -= 1
        if standing.users == 0 and sys.stdout is standing:
            sys.stdout = standing.real

    return undo


@contextmanager
def inside() -> Iterator[None]:
    """What this task or thread prints in here is a tool's."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)
