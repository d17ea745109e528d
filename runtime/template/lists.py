"""Filters of lists and objects. Every item that is looked at is counted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from runtime.template.arguments import object_of, text_of
from runtime.template.limits import Meter, Missing, Wrong
from runtime.template.values import contains, item, items, kind_of, less, number, text


def length(m: Meter, value: Any) -> int:
    """Items of a list, keys of an object, characters of a text."""
    m.spend()
    if isinstance(value, (str, list, tuple, Mapping)):
        return len(value)
    raise Wrong(f"{kind_of(value)} has no length")


def first(m: Meter, value: Any) -> Any:
    """The first item."""
    return _end(m, value, 0)


def last(m: Meter, value: Any) -> Any:
    """The last item."""
    return _end(m, value, -1)


def _end(m: Meter, value: Any, place: int) -> Any:
    if not isinstance(value, (list, tuple, str)):
        raise Wrong(f"{kind_of(value)} has no first or last item")
    if not value:
        raise Missing("the list is empty", "Give a default.")
    return item(value, place, m, "the list")


def join(m: Meter, value: Any, separator: Any = "", attribute: Any = None) -> str:
    """The items as one text."""
    between = text_of(separator, "join")
    parts = [text(each, m) for each in picked(m, value, attribute)]
    m.text(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def picked(m: Meter, value: Any, attribute: Any) -> list[Any]:
    listed = items(value, m)
    if attribute is None:
        return listed
    return [field_of(m, each, attribute) for each in listed]


def field_of(m: Meter, value: Any, attribute: Any) -> Any:
    """A field by its name, or by a path with dots."""
    parts = attribute.split(".") if isinstance(attribute, str) else [attribute]
    for name in parts:
        value = item(value, name, m, "an item")
    return value


def sort(m: Meter, value: Any, reverse: Any = False, attribute: Any = None) -> list[Any]:
    """In order of size: numbers or texts, by a field where `attribute` is given."""
    keyed = list(zip(picked(m, value, attribute), items(value, m), strict=True))

    def order(one: tuple[Any, Any], other: tuple[Any, Any]) -> int:
        return -1 if less(one[0], other[0], m) else int(less(other[0], one[0], m))

    keyed.sort(key=cmp_to_key(order), reverse=bool(reverse))
    return [each for _, each in keyed]


def reverse(m: Meter, value: Any) -> Any:
    """The other way round."""
    if isinstance(value, str):
        m.text(len(value))
        return value[::-1]
    return items(value, m)[::-1]


def unique(m: Meter, value: Any) -> list[Any]:
    """Each value once, where it first stood."""
    kept: list[Any] = []
    for each in items(value, m):
        if not contains(kept, each, m):
            kept.append(each)
    return kept


def total(m: Meter, value: Any, attribute: Any = None) -> Any:
    """The sum of numbers."""
    parts = [float(each) if isinstance(each, Decimal) else each for each in picked(m, value, attribute)]
    if not all(map(number, parts)):
        raise Wrong("sum wants a list of numbers")
    return sum(parts)


def smallest(m: Meter, value: Any, attribute: Any = None) -> Any:
    """The smallest number or text."""
    return first(m, sort(m, picked(m, value, attribute)))


def largest(m: Meter, value: Any, attribute: Any = None) -> Any:
    """The largest number or text."""
    return last(m, sort(m, picked(m, value, attribute)))


def map_field(m: Meter, value: Any, attribute: Any) -> list[Any]:
    """One field of every item."""
    return picked(m, value, attribute)


def listed(m: Meter, value: Any) -> list[Any]:
    """The items as a list."""
    return items(value, m)


def pairs(m: Meter, value: Any) -> list[Any]:
    """Key and value of every field of an object."""
    m.spend(1 + len(object_of(value)))
    return [[key, inner] for key, inner in value.items()]


def keys(m: Meter, value: Any) -> list[Any]:
    """The keys of an object."""
    m.spend(1 + len(object_of(value)))
    return list(value)


def values(m: Meter, value: Any) -> list[Any]:
    """The values of an object."""
    m.spend(1 + len(object_of(value)))
    return list(value.values())


def get(m: Meter, value: Any, key: Any, default: Any = None) -> Any:
    """A field, or the default where there is none."""
    return item(value, key, m, "it") if contains(object_of(value), key, m) else default
