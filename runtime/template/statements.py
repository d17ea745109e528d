"""Statements compiled from Jinja's syntax tree: output, if, for and set. Nothing includes or defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import nodes

from runtime.template.expressions import Expressions
from runtime.template.limits import Wrong
from runtime.template.scope import Do, Frame, Give
from runtime.template.trouble import Trouble
from runtime.template.values import items, kind_of, text

TAGS = {
    "Include": "include",
    "Import": "import",
    "FromImport": "import",
    "Extends": "extends",
    "Block": "block",
    "Macro": "macro",
    "CallBlock": "call",
    "FilterBlock": "filter",
    "With": "with",
    "Scope": "autoescape",
    "ScopedEvalContextModifier": "autoescape",
}


class Statements:
    """Compiles the body of a template."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._by_node: dict[type[nodes.Node], Callable[[Any], Do]] = {
            nodes.Output: self._output,
            nodes.If: self._if,
            nodes.For: self._for,
            nodes.Assign: self._assign,
            nodes.AssignBlock: self._assign_block,
        }

    def body(self, body: Sequence[nodes.Node]) -> Do:
        """The closure of some statements. Raises Trouble."""
        parts = [self._one(each) for each in body]
        if len(parts) == 1:
            return parts[0]

        def do(f: Frame) -> None:
            for each in parts:
                each(f)

        return do

    def _one(self, node: nodes.Node) -> Do:
        compile_one = self._by_node.get(type(node))
        if compile_one is None:
            tag = TAGS.get(type(node).__name__, type(node).__name__)
            raise Trouble(
                f"{{% {tag} %}} is not available in a template",
                "There are if, for and set.",
                node.lineno,
            )
        with self._expressions.deeper(node):
            return compile_one(node)

    def _output(self, node: nodes.Output) -> Do:
        parts: list[str | Give] = []
        lines = []
        for each in node.nodes:
            plain = isinstance(each, nodes.TemplateData)
            parts.append(each.data if plain else self._expressions.give(each))  # type: ignore[attr-defined]
            lines.append(each.lineno)
        steps = list(zip(parts, lines, strict=True))

        def do(f: Frame) -> None:
            for each, line in steps:
                f.meter.spend()
                if isinstance(each, str):
                    f.write(each)
                else:
                    f.line = line
                    f.write(text(each(f), f.meter))

        return do

    def _if(self, node: nodes.If) -> Do:
        branches = [
            (self._expressions.give(each.test), self.body(each.body), each.lineno)
            for each in (node, *node.elif_)
        ]
        otherwise = self.body(node.else_)

        def do(f: Frame) -> None:
            for test, body, line in branches:
                f.meter.spend()
                f.line = line
                if test(f):
                    return body(f)
            return otherwise(f)

        return do

    def _for(self, node: nodes.For) -> Do:
        if node.recursive:
            raise Trouble("a recursive loop is not available", "Write the loops out.", node.lineno)
        source, bind = self._expressions.give(node.iter), self._target(node.target)
        test = self._expressions.give(node.test) if node.test is not None else None
        body, otherwise, line = self.body(node.body), self.body(node.else_), node.lineno

        def chosen(f: Frame, values: list[Any]) -> list[Any]:
            if test is None:
                return values
            kept = []
            for value in values:
                bind(f, value)
                if test(f):
                    kept.append(value)
            return kept

        def do(f: Frame) -> None:
            f.line = line
            outer = f.names
            try:
                f.names = dict(outer)
                values = chosen(f, items(source(f), f.meter))
                for index, value in enumerate(values):
                    f.meter.spend(1 + len(outer) // 16)
                    f.names = {**outer, "loop": turn(index, len(values))}
                    bind(f, value)
                    body(f)
                f.names = dict(outer)
            finally:
                f.names = outer
            if not values:
                otherwise(f)

        return do

    def _assign(self, node: nodes.Assign) -> Do:
        bind, value, line = self._target(node.target), self._expressions.give(node.node), node.lineno

        def do(f: Frame) -> None:
            f.line = line
            bind(f, value(f))

        return do

    def _assign_block(self, node: nodes.AssignBlock) -> Do:
        bind, body = self._target(node.target), self.body(node.body)
        taken: Give = lambda f: f.names[""]  # noqa: E731
        shaped = self._filters(node.filter, taken) if node.filter is not None else taken

        def do(f: Frame) -> None:
            outer, size, f.out = f.out, f.size, []
            try:
                body(f)
                made = "".join(f.out)
            finally:
                f.out, f.size = outer, size
            f.meter.text(len(made))
            f.names[""] = made
            bind(f, shaped(f))
            del f.names[""]

        return do

    def _filters(self, node: nodes.Filter, value: Give) -> Give:
        """The filters of `{% set x|upper|trim %}`, innermost first."""
        if isinstance(node.node, nodes.Filter):
            value = self._filters(node.node, value)
        return self._expressions.calls.filtered(node, value)

    def _target(self, node: nodes.Node) -> Callable[[Frame, Any], None]:
        """What binds a value to a name, or a list to several."""
        if isinstance(node, nodes.Name):
            name = node.name
            if name in self._expressions.names or name == "loop":
                raise Trouble(f"{name} cannot be set", "Choose another name.", node.lineno)
            return lambda f, value: f.names.__setitem__(name, value)
        if isinstance(node, nodes.Tuple):
            targets = [self._target(each) for each in node.items]
            return lambda f, value: _unpack(f, targets, value)
        raise Trouble("only names can be set", "Write {% set name = … %}.", node.lineno)


def _unpack(f: Frame, targets: list[Callable[[Frame, Any], None]], value: Any) -> None:
    if not isinstance(value, (list, tuple)) or len(value) != len(targets):
        size = f" of {len(value)}" if isinstance(value, (list, tuple)) else ""
        raise Wrong(f"{len(targets)} names cannot take {kind_of(value)}{size}")
    f.meter.spend(len(targets))
    for bind, each in zip(targets, value, strict=True):
        bind(f, each)


def turn(index: int, length: int) -> dict[str, Any]:
    """What `loop` is in one turn."""
    return {
        "index": index + 1,
        "index0": index,
        "revindex": length - index,
        "first": index == 0,
        "last": index == length - 1,
        "length": length,
    }
