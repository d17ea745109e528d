"""Filters of text. What grows is counted before it is built."""

from __future__ import annotations

from typing import Any

from runtime.template.arguments import text_of, whole_of
from runtime.template.limits import CHARS_PER_STEP, Meter, Wrong
from runtime.template.values import as_json, text


def json(m: Meter, value: Any, indent: Any = None) -> str:
    """JSON, compact or indented."""
    return as_json(value, m, None if indent is None else whole_of(indent, "indent", 0, 8))


def string(m: Meter, value: Any) -> str:
    """The text that a value prints as."""
    return text(value, m)


def upper(m: Meter, value: Any) -> str:
    """In capitals."""
    m.text(len(text_of(value, "upper")))
    return str(value).upper()


def lower(m: Meter, value: Any) -> str:
    """In small letters."""
    m.text(len(text_of(value, "lower")))
    return str(value).lower()


def title(m: Meter, value: Any) -> str:
    """Every Word Begins With A Capital."""
    m.text(len(text_of(value, "title")))
    return str(value).title()


def capitalize(m: Meter, value: Any) -> str:
    """The first letter a capital, the others small."""
    m.text(len(text_of(value, "capitalize")))
    return str(value).capitalize()


def trim(m: Meter, value: Any) -> str:
    """Without space at both ends."""
    m.text(len(text_of(value, "trim")))
    return str(value).strip()


def truncate(m: Meter, value: Any, length: Any = 255, end: Any = "…") -> str:
    """At most `length` characters, `end` included where something was cut off."""
    whole, mark = text_of(value, "truncate"), text_of(end, "truncate")
    size = whole_of(length, "length", 0, m.limits.output_chars)
    if len(whole) <= size:
        return whole
    m.text(size)
    return (whole[: max(0, size - len(mark))] + mark)[:size]


def replace(m: Meter, value: Any, old: Any, new: Any) -> str:
    """Every `old` replaced by `new`."""
    whole, before, after = text_of(value, "replace"), text_of(old, "replace"), text_of(new, "replace")
    m.text(len(whole))
    count = whole.count(before)
    m.text(max(0, len(whole) + count * (len(after) - len(before))))
    return whole.replace(before, after)


def indent(m: Meter, value: Any, width: Any = 4, first: Any = False) -> str:
    """Every line but the first moved right by `width` spaces; the first too where `first` is true."""
    whole = text_of(value, "indent")
    pad = " " * whole_of(width, "width", 0, 100)
    m.text(len(whole) + (whole.count("\n") + 1) * len(pad))
    moved = whole.replace("\n", "\n" + pad)
    return pad + moved if first else moved


def split(m: Meter, value: Any, separator: Any = None) -> list[str]:
    """The parts between separators; between spaces where none is given."""
    whole = text_of(value, "split")
    m.text(len(whole))
    if separator is None:
        parts = whole.split()
    elif text_of(separator, "split"):
        parts = whole.split(separator)
    else:
        raise Wrong("split needs a separator that is not empty")
    m.spend(len(parts))
    return parts


def startswith(m: Meter, value: Any, start: Any) -> bool:
    """Does the text begin with `start`?"""
    m.spend(1 + len(text_of(start, "startswith")) // CHARS_PER_STEP)
    return text_of(value, "startswith").startswith(start)


def endswith(m: Meter, value: Any, end: Any) -> bool:
    """Does the text end with `end`?"""
    m.spend(1 + len(text_of(end, "endswith")) // CHARS_PER_STEP)
    return text_of(value, "endswith").endswith(end)


def wordcount(m: Meter, value: Any) -> int:
    """How many words a text has."""
    return len(split(m, value))
