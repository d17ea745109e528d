"""Filters, tests and the few calls there are, compiled into closures with their arguments checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from jinja2 import nodes

from runtime.template.filters import FILTERS, METHODS, TESTS
from runtime.template.limits import Missing, Wrong
from runtime.template.scope import Frame, Give
from runtime.template.trouble import Trouble, unknown, written


class Calls:
    """Compiles what is called, by means of `give`, which compiles an expression."""

    def __init__(self, give: Callable[[nodes.Node], Give], local: frozenset[str]) -> None:
        self.give = give
        self.local = local

    def call(self, node: nodes.Call) -> Give:
        target = node.node
        if isinstance(target, nodes.Getattr) and target.attr in METHODS:
            return self._apply(METHODS[target.attr], self.give(target.node), node)
        if isinstance(target, nodes.Name) and target.name == "range" and "range" not in self.local:
            return self._range(node)
        raise Trouble(
            f"{written(target)}(…) is not available in a template",
            "Use a filter: {{ value|name }}.",
            node.lineno,
        )

    def _range(self, node: nodes.Call) -> Give:
        bounds = [self.give(each) for each in node.args]
        if not 1 <= len(bounds) <= 3 or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise Trouble("range takes one to three whole numbers", "Write range(3).", node.lineno)

        def give(f: Frame) -> list[int]:
            numbers = [each(f) for each in bounds]
            if not all(isinstance(each, int) for each in numbers) or numbers[2:] == [0]:
                raise Wrong("range takes one to three whole numbers, the step not 0")
            try:
                size = len(range(*numbers))
            except OverflowError:
                size = f.meter.limits.steps
            f.meter.spend(1 + size)
            return list(range(*numbers))

        return give

    def filtered(self, node: nodes.Filter, value: Give) -> Give:
        """A filter applied to what `value` gives."""
        if node.name in ("default", "d"):
            return self._default(node, value)
        if node.name not in FILTERS:
            raise unknown("filter", node.name, [*FILTERS, "default"], node.lineno)
        return self._apply(node.name, value, node)

    def filter(self, node: nodes.Filter) -> Give:
        if node.node is None:
            raise Trouble("a filter without a value", "Write {{ value|filter }}.", node.lineno)
        return self.filtered(node, self.give(node.node))

    def _apply(self, name: str, value: Give, node: Any) -> Give:
        function = FILTERS[name]
        args, kwargs = self._arguments(f"the filter {name}", function, node)
        if not args and not kwargs:
            return lambda f: function(f.meter, value(f))
        return lambda f: function(
            f.meter, value(f), *[each(f) for each in args], **{key: each(f) for key, each in kwargs}
        )

    def _default(self, node: nodes.Filter, value: Give) -> Give:
        """`default(other, boolean=false)`: other where the value is missing; with true also where it is
        null, empty, 0 or false."""
        args, kwargs = self._arguments("the filter default", _default_shape, node)
        other = args[0] if args else dict(kwargs).get("other", lambda f: "")
        also_false = args[1] if len(args) > 1 else dict(kwargs).get("boolean", lambda f: False)

        def give(f: Frame) -> Any:
            try:
                found = value(f)
            except Missing:
                return other(f)
            return found if found or not also_false(f) else other(f)

        return give

    def test(self, node: nodes.Test) -> Give:
        value = self.give(node.node)
        if node.name in ("defined", "undefined"):
            return _defined(value, node.name == "defined")
        function = TESTS.get(node.name)
        if function is None:
            raise unknown("test", node.name, [*TESTS, "defined", "undefined"], node.lineno)
        args, kwargs = self._arguments(f"the test {node.name}", function, node)
        return lambda f: function(
            f.meter, value(f), *[each(f) for each in args], **{key: each(f) for key, each in kwargs}
        )

    def _arguments(
        self, what: str, function: Callable[..., Any], node: Any
    ) -> tuple[list[Give], list[tuple[str, Give]]]:
        """The compiled arguments, checked against what the function takes."""
        if node.dyn_args or node.dyn_kwargs:
            raise Trouble("* and ** are not available in a template", "Write the arguments out.", node.lineno)
        args = [self.give(each) for each in node.args]
        kwargs = [(each.key, self.give(each.value)) for each in node.kwargs]
        try:
            inspect.signature(function).bind(None, None, *args, **dict(kwargs))
        except TypeError as error:
            raise Trouble(f"{what}: {error}", "Correct its arguments.", node.lineno) from None
        return args, kwargs


def _default_shape(_meter: Any, _value: Any, other: Any = "", boolean: Any = False) -> None:
    """What `default` takes."""


def _defined(value: Give, wanted: bool) -> Give:
    def give(f: Frame) -> bool:
        try:
            value(f)
        except Missing:
            return not wanted
        return wanted

    return give
