"""What a template can do with values. They are JSON: null, booleans, numbers, texts, lists, objects."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from runtime.template.limits import CHARS_PER_STEP, Meter, Missing, Wrong, reached

SHOWN_NAMES = 12
"""How many existing names an error lists."""
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and halves of surrogate pairs: no text file or database keeps them."""


def text(value: Any, meter: Meter) -> str:
    """How a value prints: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is True or value is False or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return as_json(value, meter)


def as_json(value: Any, meter: Meter, indent: int | None = None) -> str:
    """Compact JSON, or indented. Its cost is counted before it is built."""
    weigh(value, meter)
    try:
        written = msgspec.json.encode(value)
        if indent is not None:
            written = msgspec.json.format(written, indent=indent)
        done = written.decode()
    except (UnicodeEncodeError, OverflowError):
        done = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    meter.text(len(done))
    return done


def weigh(value: Any, meter: Meter) -> None:
    """Count every part of a value; refuses what is no JSON or nested too deep."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        kind = type(part)
        if kind is str:
            meter.spend(1 + len(part) // CHARS_PER_STEP)
        elif kind is int or kind is bool or part is None:
            meter.spend()
        elif isinstance(part, (float, Decimal)):
            meter.spend()
            if not math.isfinite(part):
                raise Wrong("a number that is not finite cannot be written")
        elif depth >= meter.limits.depth:
            raise reached("depth", meter.limits.depth, "levels")
        elif isinstance(part, Mapping):
            meter.spend(1 + len(part))
            for key, inner in part.items():
                _key(key)
                waiting.append((inner, depth + 1))
        elif isinstance(part, (list, tuple)):
            meter.spend(1 + len(part))
            waiting += [(inner, depth + 1) for inner in part]
        else:
            raise Wrong(f"a value of type {kind.__name__} cannot be written")


def _key(key: Any) -> Any:
    """A key of an object: a text or a number. (The hash of a nested tuple could take for ever.)"""
    if isinstance(key, (str, int, float)):
        return key
    raise Wrong("an object's key must be text or a number")


def kind_of(value: Any) -> str:
    """The word for a value's type, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float, Decimal)):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, Mapping) else "a list"


def there(names: Mapping[Any, Any]) -> str:
    """What exists, for messages."""
    shown = [str(name)[:60] for name in list(names)[:SHOWN_NAMES]]
    return ", ".join(shown) + (", …" if len(names) > SHOWN_NAMES else "") if shown else "nothing"


def not_there(name: str, names: Mapping[str, Any]) -> Missing:
    """The error of a name that has no value."""
    inputs = names.get("inputs")
    if name == "input" and isinstance(inputs, Mapping):
        return Missing("input is there only with one source", f"inputs has: {there(inputs)}.")
    return Missing(f"{name} is not set here", f"There is: {there(names)}.")


def item(value: Any, key: Any, meter: Meter, path: str) -> Any:
    """`value[key]` or `value.key`; `path` is how the template wrote `value`."""
    meter.spend()
    if isinstance(value, Mapping):
        if isinstance(key, (str, int, float)) and key in value:
            return value[key]
        raise Missing(f"{path} has no {str(key)[:60]!r}", f"{path} has: {there(value)}.")
    if isinstance(value, (list, tuple, str)):
        if isinstance(key, int) and not isinstance(key, bool):
            if -len(value) <= key < len(value):
                return value[key]
            raise Missing(f"{path} has no item {key}", f"It has {len(value)} items, counted from 0.")
        wrong = f"{path} is {kind_of(value)} and has no {str(key)[:60]!r}"
        remedy = "Take an item by its number, counted from 0: [0]."
        raise Missing(wrong, "Leave that away: a text has no parts." if isinstance(value, str) else remedy)
    raise Missing(f"{path} is {kind_of(value)} and has no {str(key)[:60]!r}", "Test it with `is defined`.")


def part(value: Any, start: Any, stop: Any, step: Any, meter: Meter) -> Any:
    """`value[start:stop:step]` of a text or a list."""
    if not isinstance(value, (list, tuple, str)):
        raise Wrong(f"{kind_of(value)} cannot be cut with [a:b]")
    for bound in (start, stop, step):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
            raise Wrong("the bounds in [a:b] must be whole numbers")
    if step == 0:
        raise Wrong("the step in [a:b:step] cannot be 0")
    length = len(range(*slice(start, stop, step).indices(len(value))))
    meter.spend(1 + (length // CHARS_PER_STEP if isinstance(value, str) else length))
    return value[start:stop:step]


def number(value: Any) -> bool:
    """Is it a number? A boolean is none."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def arithmetic(sign: str, left: Any, right: Any, meter: Meter) -> Any:
    """Numbers by every sign; texts and lists only joined by `+`. Nothing is repeated, nothing formatted."""
    meter.spend()
    if number(left) and number(right):
        return _numbers(sign, left, right, meter)
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        meter.text(len(left) + len(right))
        return left + right
    if sign == "+" and isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        meter.spend(len(left) + len(right))
        return [*left, *right]
    raise Wrong(
        f"`{sign}` does not work between {kind_of(left)} and {kind_of(right)}",
        "Join anything with `~`; use int or float to make a number of a text.",
    )


def _numbers(sign: str, left: Any, right: Any, meter: Meter) -> Any:
    bits = meter.limits.number_bits
    if isinstance(left, int) and isinstance(right, int):
        if sign == "**":
            grown = left.bit_length() * max(0, right)
        else:
            grown = left.bit_length() + right.bit_length()
        if grown > bits:
            raise reached("number_bits", bits, "bits")
    elif isinstance(left, Decimal) or isinstance(right, Decimal):
        left, right = float(left), float(right)
    try:
        result = _ARITHMETIC[sign](left, right)
    except ZeroDivisionError:
        raise Wrong("it divides by zero") from None
    except OverflowError:
        raise Wrong("a number is too large") from None
    if isinstance(result, complex):
        raise Wrong("the root of a negative number is no number")
    return result


def negative(value: Any) -> Any:
    """`-value`."""
    if not number(value):
        raise Wrong(f"`-` does not work on {kind_of(value)}")
    return -value


def equal(left: Any, right: Any, meter: Meter) -> bool:
    """Equality of JSON values, counted part by part. `1` equals `1.0`; no boolean equals a number."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        meter.spend()
        if one is other:
            continue
        if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
            return False
        if isinstance(one, str) and isinstance(other, str):
            meter.spend(min(len(one), len(other)) // CHARS_PER_STEP)
            if one != other:
                return False
        elif number(one) and number(other):
            if one != other:
                return False
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            waiting += [(inner, other[key]) for key, inner in one.items()]
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            if len(one) != len(other):
                return False
            meter.spend(len(one))
            waiting += zip(one, other, strict=True)
        else:
            return False
    return True


def contains(whole: Any, piece: Any, meter: Meter) -> bool:
    """`piece in whole`: a part of a text, an item of a list, a key of an object."""
    if isinstance(whole, str):
        if not isinstance(piece, str):
            raise Wrong(f"{kind_of(piece)} cannot be in a text")
        meter.spend(1 + (len(whole) + len(piece)) // CHARS_PER_STEP)
        return piece in whole
    if isinstance(whole, Mapping):
        meter.spend()
        return isinstance(piece, (str, int, float)) and piece in whole
    if isinstance(whole, (list, tuple)):
        return any(equal(piece, each, meter) for each in whole)
    raise Wrong(f"nothing can be in {kind_of(whole)}")


def less(left: Any, right: Any, meter: Meter) -> bool:
    """`left < right` of two numbers or two texts."""
    meter.spend()
    if number(left) and number(right):
        return bool(left < right)
    if isinstance(left, str) and isinstance(right, str):
        meter.spend(min(len(left), len(right)) // CHARS_PER_STEP)
        return left < right
    raise Wrong(
        f"{kind_of(left)} and {kind_of(right)} cannot be compared by size",
        "Use int or float to make a number of a text.",
    )


def items(value: Any, meter: Meter) -> list[Any]:
    """What a loop or a list filter goes through: a list's items, an object's keys, a text's characters."""
    if isinstance(value, (list, tuple, str, Mapping)):
        meter.spend(1 + len(value))
        return list(value)
    raise Wrong(f"{kind_of(value)} cannot be gone through", "Give a list or an object.")


def storable(rendered: str) -> str:
    """The text with U+FFFD in place of what no file or database can keep."""
    if rendered.isascii() and "\x00" not in rendered:
        return rendered
    return UNSTORABLE.sub("\ufffd", rendered)
