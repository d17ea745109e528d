"""How much work checking a value may take at worst, known before it is done.

For a value of height h, a part's cost is how often it and the parts it hands on to look at one and the
same place in it, taking the worst place. Those that look at the same value add up; of the fields of an
object, and of the places of a list, only one sees a given child. Times the places of the value, that bounds
all work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.errors import BadInput
from runtime.schema_check.limits import SchemaLimits
from runtime.schema_check.shape import Part, Shape

CAP = 10**15
"""More than any limit; keeps the numbers small."""


class _Level(NamedTuple):
    """By part: what a place costs where the value is an object, and where it is a list."""

    of_object: list[int]
    of_list: list[int]

    def of(self, part: int) -> int:
        return max(self.of_object[part], self.of_list[part])


class _Worst:
    """The worst place of a value by its height, for one way of weighing parts."""

    def __init__(self, shape: Shape, weights: tuple[int, ...]) -> None:
        self._shape = shape
        self._weights = weights
        self._levels: list[_Level] = []

    def at(self, height: int) -> int:
        """What the costliest place of a value of this height costs at most."""
        while len(self._levels) <= height:
            self._levels.append(self._next(self._levels[-1] if self._levels else None))
        return max(level.of(0) for level in self._levels[: height + 1])

    def _next(self, below: _Level | None) -> _Level:
        """One level higher. In `order`, parts come after those that they add up."""
        parts = self._shape.parts
        level = _Level([0] * len(parts), [0] * len(parts))
        for number in self._shape.order:
            part = parts[number]
            for kind, children in ((level.of_object, _in_object), (level.of_list, _in_list)):
                same = self._weights[number] + sum(kind[each] for each in part.same)
                deeper = children(part, below) if below is not None else 0
                kind[number] = min(CAP, same + deeper)
        return level


class Cost:
    """Admits values to be checked. Remembers the worst cases by height."""

    def __init__(self, shape: Shape, limits: SchemaLimits) -> None:
        self._limits = limits
        self._work = _Worst(shape, tuple(part.weight for part in shape.parts))
        self._patterns = _Worst(shape, tuple(part.patterns for part in shape.parts))

    def admit(self, value: Any) -> None:
        """Raises BadInput where checking this value could take too long."""
        size = measure(value, self._limits)
        for name, amount in (
            ("work", size.places * self._work.at(size.height)),
            ("matched_chars", size.chars * self._patterns.at(size.height)),
        ):
            limit = getattr(self._limits, name)
            if amount > limit:
                raise BadInput(
                    f"Checking this value could take more than the limit {name} of {limit:,}.",
                    code="schema.too_costly",
                    remedy="Make the value smaller or flatter, or the schema simpler.",
                )


def _in_object(part: Part, below: _Level) -> int:
    named = max(map(below.of, part.fields), default=0)
    return named + sum(map(below.of, part.any_field))


def _in_list(part: Part, below: _Level) -> int:
    placed = max(map(below.of, part.places), default=0)
    return placed + sum(map(below.of, part.any_item))


class Size(NamedTuple):
    """How many places a value has, how deep the deepest is, and the characters of all texts and keys."""

    places: int
    height: int
    chars: int


def measure(value: Any, limits: SchemaLimits) -> Size:
    """The size of a JSON value. Raises BadInput beyond the limits."""
    waiting = [(value, 0)]
    places = chars = height = 0
    while waiting:
        part, depth = waiting.pop()
        places += 1
        height = max(height, depth)
        if depth > limits.value_depth:
            raise _too_large("value_depth", limits.value_depth)
        if isinstance(part, str):
            chars += len(part)
        elif isinstance(part, dict):
            waiting += [(inner, depth + 1) for inner in part.values()]
            chars += sum(len(key) for key in part if isinstance(key, str))
        elif isinstance(part, (list, tuple)):
            waiting += [(inner, depth + 1) for inner in part]
        if places > limits.work:
            raise _too_large("work", limits.work)
    if chars > limits.value_chars:
        raise _too_large("value_chars", limits.value_chars)
    return Size(places, height, chars)


def _too_large(name: str, limit: int) -> BadInput:
    return BadInput(
        f"The value is too large for its schema to check: it reaches the limit {name} of {limit:,}.",
        code="schema.too_costly",
        remedy="Make the value smaller.",
    )
