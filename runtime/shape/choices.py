"""The order in which the choices of a field were written: msgspec sorts them, people put the usual first."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec


def shapes_within(kind: Any) -> Iterator[type[Any]]:
    """The shape classes that a type, as msgspec describes it, is made of."""
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
        for field in kind.fields:
            yield from shapes_within(field.type)
        return
    for name in ("type", "item_type", "value_type"):
        if hasattr(kind, name):
            yield from shapes_within(getattr(kind, name))
    for each in getattr(kind, "types", ()):
        yield from shapes_within(each)


def written_order(shape: type[Any]) -> Mapping[frozenset[Any], tuple[Any, ...]]:
    """The choices of every field of a shape and of those it is made of, as they were written."""
    return {
        frozenset(choices): choices
        for each in shapes_within(msgspec.inspect.type_info(shape))
        for hint in typing.get_type_hints(each, include_extras=True).values()
        for choices in _literals(hint)
    }


def _literals(hint: Any) -> Iterator[tuple[Any, ...]]:
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        yield parts
    else:
        for part in parts:
            yield from _literals(part)
