"""Tools by name: Farthing's own and packages' by one entry-point group, and the user's own Python files.

Nothing is loaded before a flow names a tool. Files are those that the user named, on the command line or in
the settings; what lies beside a flow is never looked at.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from runtime.errors import BadSettings
from runtime.plugins import entry_points_of
from runtime.tools.function import Function, make
from runtime.tools.printing import divert, inside

GROUP = "farthing.tools"
OURS = "farthing"
"""The distribution whose tools are Farthing's own."""
SHOWN = 12
"""How many names a message lists."""


class ToolRegistry:
    """The tools that a flow can name. A name that two sources bring is an error, told at first use."""

    def __init__(
        self,
        found: Iterable[EntryPoint] = (),
        files: Sequence[Path] = (),
        given: Iterable[Callable[..., Any]] = (),
    ) -> None:
        self._points: dict[str, list[EntryPoint]] = {}
        for point in found:
            known = self._points.setdefault(point.name, [])
            if all(point.value != other.value for other in known):
                known.append(point)
        self._files = tuple(dict.fromkeys(file.absolute() for file in files))
        self._given = {made.name: made for made in map(_as_function, given)}
        self._of_files: dict[str, list[Function]] | None = None
        self._loaded: dict[str, Function] = {}

    def names(self) -> list[str]:
        """Every tool's name, sorted. Raises BadSettings for a file that cannot be used."""
        return sorted({*self._points, *self._by_files(), *self._given})

    def nearest(self, name: str) -> str:
        """What to do about a name that is not there."""
        names = self.names()
        near = get_close_matches(name, names, n=1)
        more = ", …" if len(names) > SHOWN else ""
        known = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names[:SHOWN])}{more}."
        return f"{known} Functions of your own come by --tools FILE.py or [tools] in the settings."

    def get(self, name: str) -> Function | None:
        """The tool of that name, or None. Raises BadSettings where two sources bring it, or its package or
        file cannot be loaded."""
        if name not in self._loaded:
            found = self._find(name)
            if found is None:
                return None
            self._loaded[name] = found
        return self._loaded[name]

    def _find(self, name: str) -> Function | None:
        if name in self._given:
            return self._given[name]
        points, others = self._points.get(name, []), self._by_files().get(name, [])
        sources = [*map(_place, points), *(other.source for other in others)]
        if len(sources) > 1:
            raise BadSettings(
                f"Several sources bring a tool {name!r}: {' and '.join(sources)}.",
                code="registry.duplicate",
                remedy="Rename one of them, or leave its file or package out.",
            )
        return others[0] if others else _load_point(points[0]) if points else None

    def _by_files(self) -> Mapping[str, list[Function]]:
        if self._of_files is None:
            self._of_files = {}
            for file in self._files:
                for made in load_file(file):
                    self._of_files.setdefault(made.name, []).append(made)
        return self._of_files


def installed_tools(files: Sequence[Path] = (), given: Iterable[Callable[..., Any]] = ()) -> ToolRegistry:
    """Everything that is installed beside this Farthing, the tools of these files, and these functions."""
    return ToolRegistry(entry_points_of(GROUP), files, given)


def _as_function(given: Callable[..., Any]) -> Function:
    made = given if isinstance(given, Function) else make(given)
    return made if made.source else replace(made, source=f"{made.function.__module__}")


def _place(point: EntryPoint) -> str:
    return f"package {point.dist.name}" if point.dist is not None else point.value


def _load_point(point: EntryPoint) -> Function:
    undo = divert()
    try:
        with inside():
            found = point.load()
    except Exception as error:  # a plugin's import may fail in any way
        raise BadSettings(
            f"The tool {point.name!r} ({point.value}) could not be loaded: {error}.",
            code="registry.broken",
            remedy="Mend or uninstall the package that brings it.",
        ) from error
    finally:
        undo()
    if not isinstance(found, Function) and not callable(found):
        raise BadSettings(
            f"{point.value} is not a function.",
            code="registry.broken",
            remedy="An entry point of farthing.tools names a function, or what @tool made of one.",
        )
    made = found if isinstance(found, Function) else make(found, name=point.name)
    if made.name != point.name:
        raise BadSettings(
            f"{point.value} is a tool named {made.name!r}, and its entry point says {point.name!r}.",
            code="registry.broken",
            remedy="Give both one name.",
        )
    ours = point.dist is not None and point.dist.name == OURS
    return replace(made, source="" if ours else _place(point))


def load_file(path: Path) -> list[Function]:
    """The tools of a Python file, which is run: what `tool` made where there is any, else every function
    that is written in it and whose name does not begin with `_`. Raises BadSettings."""
    if not path.is_file():
        raise BadSettings(f"There is no file of tools {path}.", code="tool.no_file", remedy="Check the path.")
    if path.suffix != ".py":
        raise BadSettings(f"{path} is not a Python file.", code="tool.no_file", remedy="Name a .py file.")
    module = _run(path)
    things = vars(module)
    marked = [thing for thing in things.values() if isinstance(thing, Function)]
    plain = [
        make(thing)
        for name, thing in things.items()
        if not marked
        and inspect.isfunction(thing)
        and thing.__module__ == module.__name__
        and not name.startswith("_")
    ]
    found = {id(made): replace(made, source=str(path)) for made in (*marked, *plain)}
    if not found:
        raise BadSettings(
            f"{path} has no tools.",
            code="tool.no_tools",
            remedy="Write a function in it, or mark one with @tool.",
        )
    return list(found.values())


def _run(path: Path) -> Any:
    name = f"farthing_tools_{sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where annotations and dataclasses of the file look for their names
    undo = divert()
    try:
        with inside():
            spec.loader.exec_module(module)
    except BaseException as error:  # the user's own code may fail in any way, even by leaving
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BadSettings(
            f"The tools in {path} cannot be used: {_line(error, path)}{type(error).__name__}: {error}.",
            code="tool.broken_file",
            remedy="Mend the file, or leave it out.",
        ) from error
    finally:
        undo()
    return module


def _line(error: BaseException, path: Path) -> str:
    """The last line of the file that had to do with it."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"line {error.lineno}: "
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""
