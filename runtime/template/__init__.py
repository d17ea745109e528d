"""The one template and condition language: Jinja's syntax over JSON values, with limits.

A template sees `inputs.<id>` and, with one source, `input`; nothing else is in reach. What it is given is
data: values are printed, never rendered again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.errors import Problem, TemplateFailure
from runtime.template.compiling import Compiled, compile_condition, compile_template, has_syntax
from runtime.template.limits import LIMITS, Meter, TemplateLimits, Wrong
from runtime.template.scope import Frame
from runtime.template.values import storable

__all__ = ["LIMITS", "NAMES", "Condition", "Template", "TemplateLimits"]

NAMES = frozenset({"inputs", "input"})
"""What a flow's templates see."""


class Template:
    """A text with `{{ … }}`, `{% if %}`, `{% for %}` and `{% set %}` in it.

    Compiled when first used. Text without any of these stays as it is and costs nothing.
    """

    __slots__ = ("_compiled", "_limits", "_names", "_plain", "source")

    def __init__(
        self, source: str, *, names: frozenset[str] = NAMES, limits: TemplateLimits = LIMITS
    ) -> None:
        self.source = source
        self._names = names
        self._limits = limits
        self._plain = not has_syntax(source)
        self._compiled: Compiled | None = None

    def check(self) -> tuple[Problem, ...]:
        """What is wrong with the text, each with its line; the node and path are for the caller to add."""
        return () if self._plain else self._ready().problems

    def variables(self) -> frozenset[str]:
        """What it names: `input`, `inputs.<id>`, or `inputs` where it takes them as a whole."""
        return frozenset() if self._plain else self._ready().used

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with its values. Raises TemplateFailure, with the line and what to do."""
        if self._plain:
            return storable(self.source)
        compiled = self._ready()
        if compiled.do is None:
            raise _unusable("template", compiled)
        frame = Frame(values, Meter(self._limits))
        try:
            compiled.do(frame)
        except (Wrong, ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise _failure("template", error, frame) from None
        return storable("".join(frame.out))

    def _ready(self) -> Compiled:
        if self._compiled is None:
            self._compiled = compile_template(self.source, self._names, self._limits)
        return self._compiled


class Condition:
    """One expression, such as `input.score > 3 and inputs.topic == 'tyres'`; true or false like in Python:
    null, 0, empty texts, lists and objects are false."""

    __slots__ = ("_compiled", "_limits", "_names", "source")

    def __init__(
        self, source: str, *, names: frozenset[str] = NAMES, limits: TemplateLimits = LIMITS
    ) -> None:
        self.source = source
        self._names = names
        self._limits = limits
        self._compiled: Compiled | None = None

    def check(self) -> tuple[Problem, ...]:
        """What is wrong with the text, each with its line."""
        return self._ready().problems

    def variables(self) -> frozenset[str]:
        """What it names, as `Template.variables`."""
        return self._ready().used

    def value(self, values: Mapping[str, Any]) -> Any:
        """What the expression gives. Raises TemplateFailure."""
        compiled = self._ready()
        if compiled.give is None:
            raise _unusable("condition", compiled)
        frame = Frame(values, Meter(self._limits))
        try:
            return compiled.give(frame)
        except (Wrong, ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise _failure("condition", error, frame) from None

    def test(self, values: Mapping[str, Any]) -> bool:
        """Is it true? Raises TemplateFailure."""
        return bool(self.value(values))

    def _ready(self) -> Compiled:
        if self._compiled is None:
            self._compiled = compile_condition(self.source, self._names, self._limits)
        return self._compiled


def _unusable(what: str, compiled: Compiled) -> TemplateFailure:
    first = compiled.problems[0]
    return TemplateFailure(
        f"The {what} cannot be used: {first.message}.", code=first.code, remedy=first.remedy
    )


def _failure(what: str, error: Exception, frame: Frame) -> TemplateFailure:
    if isinstance(error, Wrong):
        return TemplateFailure(
            f"The {what} failed at line {frame.line}: {error.message}.", code=error.code, remedy=error.remedy
        )
    # Every operation checks what it is given; this is the net below them.
    return TemplateFailure(
        f"The {what} failed at line {frame.line}: {type(error).__name__}.", remedy="Change the template."
    )
