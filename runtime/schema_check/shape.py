"""What a schema's parts are and which of them look at the same value: read before it is compiled.

Refused here: references that leave the document, ids that redirect them, keywords whose work cannot be
bounded, circles that go no deeper, and size beyond the limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from runtime.errors import Problem
from runtime.schema_check.limits import SchemaLimits

SAME_ONE = ("not", "if", "then", "else")
SAME_LIST = ("allOf", "anyOf", "oneOf")
SAME_MAP = ("dependentSchemas", "dependencies")
OBJECT_ONE = ("additionalProperties", "propertyNames")
ARRAY_ONE = ("items", "additionalItems", "contains")
DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
)
REFUSED = {
    "$dynamicRef": "Use $ref.",
    "$recursiveRef": "Use $ref.",
    "unevaluatedProperties": "Use additionalProperties.",
    "unevaluatedItems": "Use items.",
}


class Part(NamedTuple):
    """One schema inside the document, and the parts that it hands on to.

    `same` look at the same value. The others look at its children: of `fields` and `places` only one at
    each child, of `any_field` and `any_item` every one at every child. `weight` is how much one look costs,
    `patterns` how many regular expressions it runs.
    """

    same: tuple[int, ...] = ()
    fields: tuple[int, ...] = ()
    any_field: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    any_item: tuple[int, ...] = ()
    weight: int = 1
    patterns: int = 0


class Shape(NamedTuple):
    """The parts, the first of which is the schema itself; `order` has each after those in its `same`."""

    parts: tuple[Part, ...]
    order: tuple[int, ...]


class _Bad(Exception):
    def __init__(self, message: str, remedy: str, path: str) -> None:
        super().__init__(message)
        self.problem = Problem("schema.invalid", message, remedy, None, path)


def read_shape(document: Any, limits: SchemaLimits) -> tuple[Shape, tuple[Problem, ...]]:
    """The shape of a schema, or the first problem that keeps it from being used."""
    try:
        _measure(document, limits)
        _check_dialect(document)
        parts = _Reader(document, limits).read()
        return Shape(parts, _ordered(parts)), ()
    except _Bad as bad:
        return Shape((), ()), (bad.problem,)


def _measure(document: Any, limits: SchemaLimits) -> None:
    """Bounds of size, before anything is followed."""
    waiting: list[tuple[Any, int]] = [(document, 0)]
    values = chars = 0
    while waiting:
        value, depth = waiting.pop()
        values += 1
        if isinstance(value, str):
            chars += len(value)
        elif isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise _Bad("a key is no text", "Write every key as text.", "$")
            if depth and isinstance(value.get("$id"), str):
                raise _Bad("$id is allowed only at the top", "Remove it and refer by path.", "$")
            chars += sum(map(len, value))
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
        for name, reached in (("values", values), ("chars", chars), ("depth", depth)):
            if reached > getattr(limits, name):
                raise _Bad(
                    f"it reaches the limit {name} of {getattr(limits, name):,}", "Make it smaller.", "$"
                )


def _check_dialect(document: Any) -> None:
    """Only the drafts whose references work as they are read here."""
    dialect = document.get("$schema") if isinstance(document, dict) else None
    if dialect is not None and str(dialect).rstrip("#") not in DIALECTS:
        raise _Bad(
            f"the dialect {str(dialect)[:80]!r} is not supported",
            f"Leave $schema out or use {DIALECTS[0]}.",
            "$",
        )


def _weight(options: Any) -> int:
    """Texts alone or numbers alone are looked up; other options are compared one by one, 3 times slower."""
    if not isinstance(options, list):
        return 1
    kinds = {type(option) for option in options}
    return 1 if kinds in ({str}, {int}) else 1 + 3 * len(options)


class _Reader:
    """Follows a schema from its root, each part once."""

    def __init__(self, document: Any, limits: SchemaLimits) -> None:
        self._document = document
        self._limits = limits
        self._numbers: dict[int, int] = {}
        self._paths: list[str] = []
        self._schemas: list[Any] = []
        self._patterns = 0

    def read(self) -> tuple[Part, ...]:
        self._number(self._document, "$")
        parts: list[Part] = []
        while len(parts) < len(self._schemas):
            number = len(parts)
            parts.append(self._part(self._schemas[number], self._paths[number]))
        return tuple(parts)

    def _number(self, schema: Any, path: str) -> int:
        """The number of a part. Parts are the same where they are the same object in the document."""
        if isinstance(schema, bool):
            self._schemas.append(schema)
            self._paths.append(path)
            return len(self._schemas) - 1
        if not isinstance(schema, dict):
            raise _Bad("a schema must be an object, true or false", "Correct it there.", path)
        known = self._numbers.get(id(schema))
        if known is None:
            known = self._numbers[id(schema)] = len(self._schemas)
            self._schemas.append(schema)
            self._paths.append(path)
        return known

    def _part(self, schema: Any, path: str) -> Part:
        if isinstance(schema, bool):
            return Part()
        for word, remedy in REFUSED.items():
            if word in schema:
                raise _Bad(f"{word} is not supported", remedy, path)
        same = list(self._all(schema, path, SAME_ONE, SAME_LIST, SAME_MAP))
        if "$ref" in schema:
            same.append(self._referred(schema["$ref"], path))
        return Part(
            tuple(same),
            tuple(self._all(schema, path, maps=("properties",))),
            tuple(self._all(schema, path, OBJECT_ONE, maps=("patternProperties",))),
            tuple(self._all(schema, path, lists=("prefixItems", "items"))),
            tuple(self._all(schema, path, ARRAY_ONE)),
            _weight(schema.get("enum")),
            self._patterns_of(schema, path),
        )

    def _all(
        self,
        schema: dict[str, Any],
        path: str,
        ones: tuple[str, ...] = (),
        lists: tuple[str, ...] = (),
        maps: tuple[str, ...] = (),
    ) -> Iterator[int]:
        """The parts under these keywords. What has the wrong form is left to the validator's own check."""
        for word in ones:
            if isinstance(schema.get(word), (dict, bool)):
                yield self._number(schema[word], f"{path}.{word}")
        for word in lists:
            if isinstance(schema.get(word), list):
                for place, inner in enumerate(schema[word]):
                    yield self._number(inner, f"{path}.{word}[{place}]")
        for word in maps:
            if isinstance(schema.get(word), dict):
                for name, inner in schema[word].items():
                    if isinstance(inner, (dict, bool)):
                        yield self._number(inner, f"{path}.{word}.{name[:60]}")

    def _patterns_of(self, schema: dict[str, Any], path: str) -> int:
        found = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        if isinstance(schema.get("patternProperties"), dict):
            found += schema["patternProperties"]
        self._patterns += len(found)
        if self._patterns > self._limits.patterns:
            raise _Bad(f"it reaches the limit patterns of {self._limits.patterns}", "Use fewer.", path)
        for pattern in found:
            if len(pattern) > self._limits.pattern_chars:
                limit = self._limits.pattern_chars
                raise _Bad(f"a pattern reaches the limit pattern_chars of {limit}", "Make it shorter.", path)
        return len(found)

    def _referred(self, reference: Any, path: str) -> int:
        """The part that a local `$ref` names."""
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise _Bad(
                f"$ref may only point into this schema, not to {str(reference)[:80]!r}",
                "Copy what it points to under $defs and write #/$defs/NAME.",
                path,
            )
        target = self._document
        for step in reference[2:].split("/") if len(reference) > 1 else ():
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and name in target:
                target = target[name]
            elif isinstance(target, list) and name.isascii() and name.isdigit() and int(name) < len(target):
                target = target[int(name)]
            else:
                raise _Bad(f"$ref points to {reference[:80]!r}, which is not there", "Correct it.", path)
        return self._number(target, "$" + reference[1:].replace("/", "."))


def _ordered(parts: tuple[Part, ...]) -> tuple[int, ...]:
    """Every part after those that look at the same value for it; a circle of them would never end."""
    order: list[int] = []
    state = [0] * len(parts)
    for start in range(len(parts)):
        path = [(start, iter(parts[start].same))] if not state[start] else []
        state[start] = state[start] or 1
        while path:
            number, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[number] = 2
                order.append(number)
                path.pop()
            elif state[following] == 1:
                raise _Bad("it refers to itself without going deeper", "Break the circle of $ref.", "$")
            elif not state[following]:
                state[following] = 1
                path.append((following, iter(parts[following].same)))
    return tuple(order)
