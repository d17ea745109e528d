"""Expressions compiled from Jinja's syntax tree into closures.

Jinja parses; it neither generates nor runs code here. So there is no Python object in reach of a template
whatever it says: it can only do what this file and the filters do with JSON values, and all of that is
counted.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes

from runtime.template.calls import Calls
from runtime.template.limits import TemplateLimits, Wrong
from runtime.template.scope import Frame, Give
from runtime.template.trouble import Trouble, written
from runtime.template.values import arithmetic, contains, equal, item, less, negative, not_there, part, text

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


class Expressions:
    """Compiles expressions. `used` gathers the inputs that are named, `local` the names that are set."""

    def __init__(self, names: frozenset[str], local: frozenset[str], limits: TemplateLimits) -> None:
        self.names = names
        self.local = local
        self.limits = limits
        self.used: set[str] = set()
        self.calls = Calls(self.give, local)
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
            nodes.Filter: self.calls.filter,
            nodes.Test: self.calls.test,
            nodes.Call: self.calls.call,
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
