"""The filters and tests that templates have, and nothing else: `FILTERS`, `TESTS`, `METHODS`.

Each is given the meter and the value first. What grows is counted before it is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from runtime.template.limits import CHARS_PER_STEP, Meter, Missing, Wrong
from runtime.template.values import (
    as_json,
    contains,
    equal,
    item,
    items,
    kind_of,
    less,
    number,
    text,
)


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise Wrong(f"the filter {name} wants text, not {kind_of(value)}", "Write it with `|string` before.")


def _whole(value: Any, name: str, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise Wrong(f"{name} must be a whole number from {low} to {high:,}")


def json(m: Meter, value: Any, indent: Any = None) -> str:
    """JSON, compact or indented."""
    return as_json(value, m, None if indent is None else _whole(indent, "indent", 0, 8))


def string(m: Meter, value: Any) -> str:
    """The text that a value prints as."""
    return text(value, m)


def upper(m: Meter, value: Any) -> str:
    """In capitals."""
    m.text(len(_text(value, "upper")))
    return str(value).upper()


def lower(m: Meter, value: Any) -> str:
    """In small letters."""
    m.text(len(_text(value, "lower")))
    return str(value).lower()


def title(m: Meter, value: Any) -> str:
    """Every Word Begins With A Capital."""
    m.text(len(_text(value, "title")))
    return str(value).title()


def capitalize(m: Meter, value: Any) -> str:
    """The first letter a capital, the others small."""
    m.text(len(_text(value, "capitalize")))
    return str(value).capitalize()


def trim(m: Meter, value: Any) -> str:
    """Without space at both ends."""
    m.text(len(_text(value, "trim")))
    return str(value).strip()


def truncate(m: Meter, value: Any, length: Any = 255, end: Any = "…") -> str:
    """At most `length` characters, `end` included where something was cut off."""
    whole, mark = _text(value, "truncate"), _text(end, "truncate")
    size = _whole(length, "length", 0, m.limits.output_chars)
    if len(whole) <= size:
        return whole
    m.text(size)
    return (whole[: max(0, size - len(mark))] + mark)[:size]


def replace(m: Meter, value: Any, old: Any, new: Any) -> str:
    """Every `old` replaced by `new`."""
    whole, before, after = _text(value, "replace"), _text(old, "replace"), _text(new, "replace")
    m.text(len(whole))
    count = whole.count(before)
    m.text(max(0, len(whole) + count * (len(after) - len(before))))
    return whole.replace(before, after)


def indent(m: Meter, value: Any, width: Any = 4, first: Any = False) -> str:
    """Every line but the first moved right by `width` spaces; the first too where `first` is true."""
    whole = _text(value, "indent")
    pad = " " * _whole(width, "width", 0, 100)
    m.text(len(whole) + (whole.count("\n") + 1) * len(pad))
    moved = whole.replace("\n", "\n" + pad)
    return pad + moved if first else moved


def split(m: Meter, value: Any, separator: Any = None) -> list[str]:
    """The parts between separators; between spaces where none is given."""
    whole = _text(value, "split")
    m.text(len(whole))
    if separator is None:
        parts = whole.split()
    elif _text(separator, "split"):
        parts = whole.split(separator)
    else:
        raise Wrong("split needs a separator that is not empty")
    m.spend(len(parts))
    return parts


def startswith(m: Meter, value: Any, start: Any) -> bool:
    """Does the text begin with `start`?"""
    m.spend(1 + len(_text(start, "startswith")) // CHARS_PER_STEP)
    return _text(value, "startswith").startswith(start)


def endswith(m: Meter, value: Any, end: Any) -> bool:
    """Does the text end with `end`?"""
    m.spend(1 + len(_text(end, "endswith")) // CHARS_PER_STEP)
    return _text(value, "endswith").endswith(end)


def wordcount(m: Meter, value: Any) -> int:
    """How many words a text has."""
    return len(split(m, value))


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
    between = _text(separator, "join")
    parts = [text(each, m) for each in _picked(m, value, attribute)]
    m.text(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def _picked(m: Meter, value: Any, attribute: Any) -> list[Any]:
    listed = items(value, m)
    if attribute is None:
        return listed
    return [_field(m, each, attribute) for each in listed]


def _field(m: Meter, value: Any, attribute: Any) -> Any:
    """A field by its name, or by a path with dots."""
    parts = attribute.split(".") if isinstance(attribute, str) else [attribute]
    for name in parts:
        value = item(value, name, m, "an item")
    return value


def sort(m: Meter, value: Any, reverse: Any = False, attribute: Any = None) -> list[Any]:
    """In order of size: numbers or texts, by a field where `attribute` is given."""
    keyed = list(zip(_picked(m, value, attribute), items(value, m), strict=True))

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
    parts = [float(each) if isinstance(each, Decimal) else each for each in _picked(m, value, attribute)]
    if not all(map(number, parts)):
        raise Wrong("sum wants a list of numbers")
    return sum(parts)


def smallest(m: Meter, value: Any, attribute: Any = None) -> Any:
    """The smallest number or text."""
    return first(m, sort(m, _picked(m, value, attribute)))


def largest(m: Meter, value: Any, attribute: Any = None) -> Any:
    """The largest number or text."""
    return last(m, sort(m, _picked(m, value, attribute)))


def map_field(m: Meter, value: Any, attribute: Any) -> list[Any]:
    """One field of every item."""
    return _picked(m, value, attribute)


def selectattr(m: Meter, value: Any, attribute: Any, test: Any = None, other: Any = None) -> list[Any]:
    """The items whose field is true, or passes `test`."""
    return [each for each in items(value, m) if _passes(m, each, attribute, test, other)]


def rejectattr(m: Meter, value: Any, attribute: Any, test: Any = None, other: Any = None) -> list[Any]:
    """The items that selectattr leaves out."""
    return [each for each in items(value, m) if not _passes(m, each, attribute, test, other)]


def _passes(m: Meter, value: Any, attribute: Any, test: Any, other: Any) -> bool:
    try:
        found = _field(m, value, attribute)
    except Missing:
        return False
    if test is None:
        return bool(found)
    check = TESTS.get(test) if isinstance(test, str) else None
    if check is None:
        raise Wrong(f"there is no test called {str(test)[:60]!r}")
    return bool(check(m, found) if other is None else check(m, found, other))


def listed(m: Meter, value: Any) -> list[Any]:
    """The items as a list."""
    return items(value, m)


def pairs(m: Meter, value: Any) -> list[Any]:
    """Key and value of every field of an object."""
    m.spend(1 + len(_object(value)))
    return [[key, inner] for key, inner in value.items()]


def keys(m: Meter, value: Any) -> list[Any]:
    """The keys of an object."""
    m.spend(1 + len(_object(value)))
    return list(value)


def values(m: Meter, value: Any) -> list[Any]:
    """The values of an object."""
    m.spend(1 + len(_object(value)))
    return list(value.values())


def get(m: Meter, value: Any, key: Any, default: Any = None) -> Any:
    """A field, or the default where there is none."""
    return item(value, key, m, "it") if contains(_object(value), key, m) else default


def _object(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    raise Wrong(f"{kind_of(value)} is no object")


def absolute(m: Meter, value: Any) -> Any:
    """Without its sign."""
    m.spend()
    if not number(value):
        raise Wrong(f"abs wants a number, not {kind_of(value)}")
    return abs(value)


def rounded(m: Meter, value: Any, digits: Any = 0) -> Any:
    """Rounded to so many decimals; a whole number where there are none."""
    m.spend()
    if isinstance(value, Decimal):
        value = float(value)
    if not number(value) or not math.isfinite(value):
        raise Wrong(f"round wants a number, not {kind_of(value)}")
    places = _whole(digits, "digits", 0, 15)
    return round(value, places) if places else round(value)


def whole(m: Meter, value: Any, default: Any = 0) -> Any:
    """A whole number made of a text or a number, or the default."""
    m.spend()
    if isinstance(value, Decimal):
        value = float(value)  # int() of Decimal("1e999999999") would fill the memory
    try:
        return int(value) if number(value) or (isinstance(value, str) and len(value) < 300) else default
    except (ValueError, OverflowError):
        return default


def decimal(m: Meter, value: Any, default: Any = 0.0) -> Any:
    """A number made of a text or a number, or the default."""
    m.spend()
    try:
        made = float(value) if number(value) or (isinstance(value, str) and len(value) < 300) else default
    except (ValueError, OverflowError):
        return default
    return made if not isinstance(made, float) or math.isfinite(made) else default


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": absolute,
    "capitalize": capitalize,
    "count": length,
    "endswith": endswith,
    "first": first,
    "float": decimal,
    "get": get,
    "indent": indent,
    "int": whole,
    "items": pairs,
    "join": join,
    "json": json,
    "keys": keys,
    "last": last,
    "length": length,
    "list": listed,
    "lower": lower,
    "map": map_field,
    "max": largest,
    "min": smallest,
    "rejectattr": rejectattr,
    "replace": replace,
    "reverse": reverse,
    "round": rounded,
    "selectattr": selectattr,
    "sort": sort,
    "split": split,
    "startswith": startswith,
    "string": string,
    "sum": total,
    "title": title,
    "tojson": json,
    "trim": trim,
    "truncate": truncate,
    "unique": unique,
    "upper": upper,
    "values": values,
    "wordcount": wordcount,
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
    "empty": lambda m, value: length(m, value) == 0,
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
