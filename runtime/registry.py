"""Node types by name: built-ins and plugins come by the same entry-point group and are loaded when used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from runtime.errors import BadSettings
from runtime.node import NodeType

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "farthing.nodes"
BUILT_IN: tuple[str, ...] = ("agent", "budget", "input", "memory", "output", "router", "template", "tool")
"""Types that are found without looking through what is installed; the same that pyproject.toml registers."""

Find = Callable[[], "Iterable[EntryPoint]"]


class Registry:
    """The node types that a flow can name. A type that two packages bring is an error, told at first use.

    `find` gives the entry points; it is asked once, when a type is wanted that is neither `loaded` nor in
    `built_in` (the names of Farthing's own), or when all are listed.
    """

    def __init__(
        self, find: Find, loaded: Mapping[str, NodeType] | None = None, built_in: Iterable[str] = ()
    ) -> None:
        self._loaded = dict(loaded or {})
        self._built_in = frozenset(built_in)
        self._find: Find | None = find
        self._found: dict[str, EntryPoint] = {}
        self._twice: dict[str, tuple[str, str]] = {}

    def names(self) -> list[str]:
        """Every type's name, sorted."""
        self._look()
        return sorted({*self._found, *self._loaded, *self._built_in})

    def get(self, name: str) -> NodeType | None:
        """The type of that name, or None. Raises BadSettings where two packages bring it, or its package
        cannot be loaded."""
        if name not in self._loaded and name in self._built_in and self._find is not None:
            self._loaded[name] = _built_in(name)
        if name not in self._loaded:
            self._look()
        if name in self._twice:
            one, two = self._twice[name]
            raise BadSettings(
                f"Two packages bring a node type {name!r}: {one} and {two}.",
                code="registry.duplicate",
                remedy="Uninstall one of them.",
            )
        if name not in self._loaded:
            if name not in self._found:
                return None
            self._loaded[name] = self._load(self._found[name])
        return self._loaded[name]

    def all(self) -> list[NodeType]:
        """Every type, sorted by name."""
        return [node for name in self.names() if (node := self.get(name)) is not None]

    def _look(self) -> None:
        if self._find is None:
            return
        find, self._find = self._find, None
        for point in find():
            other = self._found.setdefault(point.name, point)
            if other is not point and other.value != point.value:
                self._twice[point.name] = (other.value, point.value)

    @staticmethod
    def _load(point: EntryPoint) -> NodeType:
        try:
            node = point.load()
        except Exception as error:  # a plugin's import may fail in any way
            raise BadSettings(
                f"The node type {point.name!r} ({point.value}) could not be loaded: {error}.",
                code="registry.broken",
                remedy="Mend or uninstall the package that brings it.",
            ) from error
        if not isinstance(node, NodeType) or node.name != point.name:
            raise BadSettings(
                f"{point.value} is not a node type named {point.name!r}.",
                code="registry.broken",
                remedy="Its entry point must name a NodeType of that name.",
            )
        return node


def _built_in(name: str) -> NodeType:
    from importlib import import_module

    node: NodeType = import_module(f"nodes.{name}").node
    return node


def installed() -> Registry:
    """The registry of everything that is installed beside this Farthing."""

    def find() -> Iterable[EntryPoint]:
        from runtime.plugins import entry_points_of

        return entry_points_of(GROUP)

    return Registry(find, built_in=BUILT_IN)
