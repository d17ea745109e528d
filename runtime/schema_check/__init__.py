"""JSON Schemas that come with a flow: bounded, without remote references, and with errors in plain words.

Checked by `jsonschema-rs`: its regular expressions take linear time, so no `pattern` can hang a run, and
one check takes microseconds. What it does not bound (references that multiply work) is bounded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from runtime.errors import BadInput, Problem
from runtime.schema_check.limits import LIMITS, SchemaLimits

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from runtime.schema_check.cost import Cost

__all__ = ["LIMITS", "Mismatch", "Schema", "SchemaLimits"]

SHOWN = 5
"""How many mismatches one error lists."""


class Mismatch(msgspec.Struct, frozen=True):
    """Where a value differs from its schema, and how. `path` is a JSON path, `$` the value itself."""

    path: str
    message: str

    def __str__(self) -> str:
        return self.message if self.path == "$" else f"{self.path} {self.message}"


class Schema:
    """A schema, compiled when first used. None, true and {} allow everything and load nothing."""

    __slots__ = ("_cost", "_limits", "_problems", "_validator", "document")

    def __init__(self, document: Any, *, limits: SchemaLimits = LIMITS) -> None:
        self.document = document
        self._limits = limits
        self._problems: tuple[Problem, ...] | None = None
        self._validator: Validator | None = None
        self._cost: Cost | None = None

    @property
    def trivial(self) -> bool:
        """Does it allow everything?"""
        return self.document is None or self.document is True or self.document == {}

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the schema itself; `path` is inside the schema."""
        if self._problems is None:
            self._problems = () if self.trivial else self._compile()
        return self._problems

    def mismatches(self, value: Any) -> tuple[Mismatch, ...]:
        """How a JSON value differs from the schema, at most `SHOWN` ways. Raises BadInput where the schema
        itself cannot be used or the value is too large to check."""
        if self.trivial:
            return ()
        problems = self.problems()
        if problems or self._validator is None or self._cost is None:
            first = problems[0]
            raise BadInput(
                f"The schema cannot be used: {first.message} ({first.path}).",
                code=first.code,
                remedy=first.remedy,
            )
        self._cost.admit(value)
        try:
            if self._validator.is_valid(value):
                return ()
            found = _first(self._validator, value)
        except (ValueError, TypeError, OverflowError) as error:
            return (Mismatch("$", f"is no JSON value: {error}"),)
        return found

    def require(self, value: Any, what: str = "The input") -> None:
        """Raises BadInput that says in plain words where the value differs from the schema."""
        found = self.mismatches(value)
        if found:
            raise BadInput(
                f"{what} does not fit its schema: {'; '.join(map(str, found))}.",
                remedy="Give what the schema asks for.",
            )

    def _compile(self) -> tuple[Problem, ...]:
        from runtime.schema_check.cost import Cost
        from runtime.schema_check.shape import read_shape

        shape, problems = read_shape(self.document, self._limits)
        if problems:
            return problems
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.validator_for(
                self.document,
                offline=True,
                validate_formats=False,
                pattern_options=jsonschema_rs.RegexOptions(
                    size_limit=self._limits.pattern_bytes, dfa_size_limit=self._limits.pattern_cache_bytes
                ),
            )
        except (jsonschema_rs.ValidationError, ValueError, TypeError, OverflowError) as error:
            from runtime.schema_check.words import of_schema

            return (of_schema(error),)
        self._cost = Cost(shape, self._limits)
        return ()


def _first(validator: Validator, value: Any) -> tuple[Mismatch, ...]:
    from runtime.schema_check.words import of_value

    found = []
    for error in validator.iter_errors(value):
        found.append(Mismatch(*of_value(error)))
        if len(found) == SHOWN:
            break
    return tuple(found)
