"""Expressions compiled from Jinja's syntax tree into closures.

Jinja parses; it neither generates nor runs code here. So there is no Python object in reach of a template
whatever it says: it can only do what this file and the filters do with JSON values, and all of that is
counted.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes

from runtime.template.filters import FILTERS, METHODS, TESTS
from runtime.template.limits import Missing, TemplateLimits, Wrong
from runtime.template.scope import Frame, Give
from runtime.template.values import arithmetic, contains, equal, item, less, negative, not_there, part, text

LONGEST_PATH = 80
"""How much of what a template wrote is repeated in a message."""
_SIGNS: dict[type[nodes.Node], str] = {
    nodes.Add: "+",
    nodes.Sub: "-",
    nodes.Mul: "*",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Mod: "%",
    nodes.Pow: "**",
}
_COMPARE: dict[str, Callable[..., bool]] = {
    "eq": equal,
    "ne": lambda a, b, m: not equal(a, b, m),
    "lt": less,
    "gt": lambda a, b, m: less(b, a, m),
    "lteq": lambda a, b, m: not less(b, a, m),
    "gteq": lambda a, b, m: not less(a, b, m),
    "in": lambda a, b, m: contains(b, a, m),
    "notin": lambda a, b, m: not contains(b, a, m),
}


class Trouble(Exception):
    """Something that the language does not have, found while compiling."""

    def __init__(self, message: str, remedy: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.line = line


class Expressions:
    """Compiles expressions. `used` gathers the inputs that are named, `local` the names that are set."""

    def __init__(self, names: frozenset[str], local: frozenset[str], limits: TemplateLimits) -> None:
        self.names = names
        self.local = local
        self.limits = limits
        self.used: set[str] = set()
        self._depth = 0
        self._by_node: dict[type[nodes.Node], Callable[[Any], Give]] = {
            nodes.Const: self._const,
            nodes.TemplateData: lambda node: lambda f: node.data,
            nodes.Name: self._name,
            nodes.Getattr: self._getattr,
            nodes.Getitem: self._getitem,
            nodes.List: self._list,
            nodes.Tuple: self._list,
            nodes.Dict: self._dict,
            nodes.CondExpr: self._condition,
            nodes.And: self._and,
            nodes.Or: self._or,
            nodes.Not: self._not,
            nodes.Neg: self._neg,
            nodes.Pos: lambda node: self.give(node.node),
            nodes.Compare: self._compare,
            nodes.Concat: self._concat,
            nodes.Filter: self._filter,
            nodes.Test: self._test,
            nodes.Call: self._call,
        }

    def give(self, node: nodes.Node) -> Give:
        """The closure of an expression. Raises Trouble."""
        sign = _SIGNS.get(type(node))
        with self.deeper(node):
            if sign is not None:
                return self._binary(sign, node)
            compile_one = self._by_node.get(type(node))
            if compile_one is None:
                raise Trouble(
                    f"{type(node).__name__} is not part of the language", "Write it another way.", node.lineno
                )
            return compile_one(node)

    @contextmanager
    def deeper(self, node: nodes.Node) -> Iterator[None]:
        """One level of nesting further down."""
        self._depth += 1
        if self._depth > self.limits.depth:
            raise Trouble(
                f"it is nested deeper than the limit depth of {self.limits.depth}",
                "Split it into smaller parts.",
                node.lineno,
            )
        try:
            yield
        finally:
            self._depth -= 1

    def _const(self, node: nodes.Const) -> Give:
        value = node.value
        if isinstance(value, (int, float)) and (value - value != 0 or abs(value) >= 1 << 1023):
            raise Trouble("a number is too large", "Write a smaller number.", node.lineno)
        return lambda f: value

    def _name(self, node: nodes.Name) -> Give:
        name = node.name
        if name == "null" and name not in self.local:
            return lambda f: None
        if name not in self.local:
            if name not in self.names:
                raise self._unknown_name(name, node.lineno)
            self.used.add(name)

        def give(f: Frame) -> Any:
            f.meter.spend()
            if name in f.names:
                return f.names[name]
            raise not_there(name, f.names)

        return give

    def _unknown_name(self, name: str, line: int) -> Trouble:
        known = sorted(self.names | self.local)
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(known)}."
        return Trouble(f"there is nothing called {name!r}", hint, line)

    def _getattr(self, node: nodes.Getattr) -> Give:
        return self._lookup(node.node, node.attr)

    def _getitem(self, node: nodes.Getitem) -> Give:
        if isinstance(node.arg, nodes.Slice):
            return self._slice(node, node.arg)
        if isinstance(node.arg, nodes.Const):
            return self._lookup(node.node, node.arg.value)
        whole, key, path = self.give(node.node), self.give(node.arg), written(node.node)
        return lambda f: item(whole(f), key(f), f.meter, path)

    def _lookup(self, node: nodes.Node, key: Any) -> Give:
        whole, path = self.give(node), written(node)
        if isinstance(node, nodes.Name) and node.name == "inputs" and "inputs" not in self.local:
            self.used.discard("inputs")
            self.used.add(f"inputs.{key}")
        return lambda f: item(whole(f), key, f.meter, path)

    def _slice(self, node: nodes.Getitem, bounds: nodes.Slice) -> Give:
        whole = self.give(node.node)
        start, stop, step = (self._optional(each) for each in (bounds.start, bounds.stop, bounds.step))
        return lambda f: part(whole(f), start(f), stop(f), step(f), f.meter)

    def _optional(self, node: nodes.Node | None) -> Give:
        return (lambda f: None) if node is None else self.give(node)

    def _list(self, node: nodes.List | nodes.Tuple) -> Give:
        parts = [self.give(each) for each in node.items]

        def give(f: Frame) -> list[Any]:
            f.meter.spend(1 + len(parts))
            return [each(f) for each in parts]

        return give

    def _dict(self, node: nodes.Dict) -> Give:
        pairs = [(self.give(each.key), self.give(each.value)) for each in node.items]

        def give(f: Frame) -> dict[Any, Any]:
            f.meter.spend(1 + len(pairs))
            made = {}
            for key, value in pairs:
                name = key(f)
                if not isinstance(name, str):
                    raise Wrong("an object's key must be text")
                made[name] = value(f)
            return made

        return give

    def _condition(self, node: nodes.CondExpr) -> Give:
        test, yes = self.give(node.test), self.give(node.expr1)
        no = self.give(node.expr2) if node.expr2 is not None else lambda f: ""
        return lambda f: yes(f) if test(f) else no(f)

    def _and(self, node: nodes.And) -> Give:
        left, right = self.give(node.left), self.give(node.right)
        return lambda f: left(f) and right(f)

    def _or(self, node: nodes.Or) -> Give:
        left, right = self.give(node.left), self.give(node.right)
        return lambda f: left(f) or right(f)

    def _not(self, node: nodes.Not) -> Give:
        inner = self.give(node.node)
        return lambda f: not inner(f)

    def _neg(self, node: nodes.Neg) -> Give:
        inner = self.give(node.node)
        return lambda f: negative(inner(f))

    def _binary(self, sign: str, node: Any) -> Give:
        left, right = self.give(node.left), self.give(node.right)
        return lambda f: arithmetic(sign, left(f), right(f), f.meter)

    def _compare(self, node: nodes.Compare) -> Give:
        head = self.give(node.expr)
        rest = [(_COMPARE[each.op], self.give(each.expr)) for each in node.ops]

        def give(f: Frame) -> bool:
            left = head(f)
            for compare, right_of in rest:
                right = right_of(f)
                if not compare(left, right, f.meter):
                    return False
                left = right
            return True

        return give

    def _concat(self, node: nodes.Concat) -> Give:
        parts = [self.give(each) for each in node.nodes]

        def give(f: Frame) -> str:
            texts = [text(each(f), f.meter) for each in parts]
            f.meter.text(sum(map(len, texts)))
            return "".join(texts)

        return give

    def _call(self, node: nodes.Call) -> Give:
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

    def _filter(self, node: nodes.Filter) -> Give:
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

    def _test(self, node: nodes.Test) -> Give:
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


def unknown(what: str, name: str, known: list[str], line: int) -> Trouble:
    """A filter or test that does not exist, with the nearest that does."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(sorted(known))}."
    return Trouble(f"there is no {what} called {name[:LONGEST_PATH]!r}", hint, line)


def written(node: nodes.Node) -> str:
    """About how the template wrote an expression, for messages."""
    parts: list[str] = []
    while len(parts) < LONGEST_PATH:
        if isinstance(node, nodes.Getattr):
            parts.append(f".{node.attr}")
            node = node.node
        elif isinstance(node, nodes.Getitem):
            key = repr(node.arg.value) if isinstance(node.arg, nodes.Const) else "…"
            parts.append(f"[{key}]")
            node = node.node
        else:
            parts.append(node.name if isinstance(node, nodes.Name) else "(…)")
            break
    return "".join(reversed(parts))[:LONGEST_PATH]
