"""The filters and tests that templates have, and nothing else; each is given the meter and the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.template import lists, numbers, texts
from runtime.template.limits import Meter, Missing, Wrong
from runtime.template.values import contains, equal, items, less, number


def selectattr(m: Meter, value: Any, attribute: Any, test: Any = None, other: Any = None) -> list[Any]:
    """The items whose field is true, or passes `test`."""
    return [each for each in items(value, m) if _passes(m, each, attribute, test, other)]


def rejectattr(m: Meter, value: Any, attribute: Any, test: Any = None, other: Any = None) -> list[Any]:
    """The items that selectattr leaves out."""
    return [each for each in items(value, m) if not _passes(m, each, attribute, test, other)]


def _passes(m: Meter, value: Any, attribute: Any, test: Any, other: Any) -> bool:
    try:
        found = lists.field_of(m, value, attribute)
    except Missing:
        return False
    if test is None:
        return bool(found)
    check = TESTS.get(test) if isinstance(test, str) else None
    if check is None:
        raise Wrong(f"there is no test called {str(test)[:60]!r}")
    return bool(check(m, found) if other is None else check(m, found, other))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": numbers.absolute,
    "capitalize": texts.capitalize,
    "count": lists.length,
    "endswith": texts.endswith,
    "first": lists.first,
    "float": numbers.decimal,
    "get": lists.get,
    "indent": texts.indent,
    "int": numbers.whole,
    "items": lists.pairs,
    "join": lists.join,
    "json": texts.json,
    "keys": lists.keys,
    "last": lists.last,
    "length": lists.length,
    "list": lists.listed,
    "lower": texts.lower,
    "map": lists.map_field,
    "max": lists.largest,
    "min": lists.smallest,
    "rejectattr": rejectattr,
    "replace": texts.replace,
    "reverse": lists.reverse,
    "round": numbers.rounded,
    "selectattr": selectattr,
    "sort": lists.sort,
    "split": texts.split,
    "startswith": texts.startswith,
    "string": texts.string,
    "sum": lists.total,
    "title": texts.title,
    "tojson": texts.json,
    "trim": texts.trim,
    "truncate": texts.truncate,
    "unique": lists.unique,
    "upper": texts.upper,
    "values": lists.values,
    "wordcount": texts.wordcount,
}
"""By name. `default` (or `d`) is the language's own, since it must see what is missing."""

METHODS: Mapping[str, str] = {
    name: name
    for name in (
        "endswith",
        "get",
        "items",
        "keys",
        "lower",
        "replace",
        "split",
        "startswith",
        "title",
        "upper",
        "values",
    )
} | {"strip": "trim"}
"""Calls that people write by habit (`x.items()`), each a filter."""

TESTS: Mapping[str, Callable[..., bool]] = {
    "boolean": lambda _m, value: isinstance(value, bool),
    "empty": lambda m, value: lists.length(m, value) == 0,
    "eq": lambda m, value, other: equal(value, other, m),
    "equalto": lambda m, value, other: equal(value, other, m),
    "even": lambda _m, value: isinstance(value, int) and value % 2 == 0,
    "false": lambda _m, value: value is False,
    "ge": lambda m, value, other: not less(value, other, m),
    "gt": lambda m, value, other: less(other, value, m),
    "in": lambda m, value, other: contains(other, value, m),
    "le": lambda m, value, other: not less(other, value, m),
    "lt": lambda m, value, other: less(value, other, m),
    "mapping": lambda _m, value: isinstance(value, Mapping),
    "ne": lambda m, value, other: not equal(value, other, m),
    "none": lambda _m, value: value is None,
    "number": lambda _m, value: number(value),
    "odd": lambda _m, value: isinstance(value, int) and value % 2 == 1,
    "sequence": lambda _m, value: isinstance(value, (list, tuple)),
    "string": lambda _m, value: isinstance(value, str),
    "true": lambda _m, value: value is True,
}
"""By name. `defined` and `undefined` are the language's own."""
