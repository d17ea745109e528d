"""From text to closures: plain text and plain substitutions at once, all else through Jinja's parser."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.errors import Problem
from runtime.template.limits import TemplateLimits
from runtime.template.scope import Do, Frame, Give
from runtime.template.values import item, not_there, text

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

_SYNTAX = ("{{", "{%", "{#")
_PATH = r"\.[A-Za-z_][A-Za-z0-9_]*|\['[^'\\{}]*'\]|\[\"[^\"\\{}]*\"\]"
_SUBSTITUTION = re.compile(r"\{\{[ \t]*(inputs?)((?:" + _PATH + r")*)[ \t]*\}\}")
_ALONE = re.compile(r"[ \t]*(inputs?)((?:" + _PATH + r")*)[ \t]*")
_STEP = re.compile(_PATH)


KEPT = 256
"""How many compiled texts are kept. They depend on nothing but their text, and a run renders one often."""


class Compiled(msgspec.Struct, frozen=True):
    """A template or condition ready to run. One of `do` and `give` is there unless there are problems."""

    problems: tuple[Problem, ...] = ()
    used: frozenset[str] = frozenset()
    do: Do | None = None
    give: Give | None = None


def has_syntax(source: str) -> bool:
    """Is there anything to evaluate in this text?"""
    return any(mark in source for mark in _SYNTAX)


@lru_cache(maxsize=KEPT)
def compile_template(source: str, names: frozenset[str], limits: TemplateLimits) -> Compiled:
    """A template's closure, or its problems."""
    if len(source) > limits.text_chars:
        return Compiled((_problem("it is longer than the limit text_chars", "Make it shorter.", 1),))
    return _substitutions(source, names) or _parsed(source, names, limits)


@lru_cache(maxsize=KEPT)
def compile_condition(source: str, names: frozenset[str], limits: TemplateLimits) -> Compiled:
    """A condition's closure, or its problems."""
    if len(source) > limits.text_chars:
        return Compiled((_problem("it is longer than the limit text_chars", "Make it shorter.", 1),))
    if not source.strip():
        return Compiled((_problem("it is empty", "Write a condition such as `input.score > 3`.", 1),))
    if has_syntax(source):
        return Compiled((_problem("a condition is written without braces", "Take {{ }} away.", 1),))
    return _lookup(source, names) or _parsed(source, names, limits, condition=True)


def _problem(message: str, remedy: str, line: int, code: str = "template.invalid") -> Problem:
    return Problem(code, f"line {line}: {message}", remedy)


def _substitutions(source: str, names: frozenset[str]) -> Compiled | None:
    """Text with nothing but `{{ input.path }}` in it, without Jinja; None where there is more to it.

    Carriage returns and braces beside the marks are left to Jinja, so that both ways give the same.
    """
    if "{%" in source or "{#" in source or "\r" in source:
        return None
    parts: list[str | Give] = []
    used = set()
    end = 0
    for found in _SUBSTITUTION.finditer(source):
        before = source[end : found.start()]
        parts.append(before)
        root, steps = found[1], [_unquoted(each) for each in _STEP.findall(found[2])]
        if root not in names:
            return None
        used.add(f"inputs.{steps[0]}" if root == "inputs" and steps else root)
        parts.append(_path(root, steps, source.count("\n", 0, found.start()) + 1))
        end = found.end()
    parts.append(source[end:])
    plain = [each for each in parts if isinstance(each, str)]
    if any("{{" in each or each.startswith("}") or each.endswith("{") for each in plain):
        return None
    return Compiled(used=frozenset(used), do=_written([each for each in parts if each != ""]))


def _lookup(source: str, names: frozenset[str]) -> Compiled | None:
    """A condition that is one plain path, without Jinja; None where there is more to it."""
    found = _ALONE.fullmatch(source)
    if found is None or found[1] not in names:
        return None
    root, steps = found[1], [_unquoted(each) for each in _STEP.findall(found[2])]
    used = f"inputs.{steps[0]}" if root == "inputs" and steps else root
    return Compiled(used=frozenset({used}), give=_path(root, steps, 1))


def _unquoted(step: str) -> str:
    return step[1:] if step.startswith(".") else step[2:-2]


def _path(root: str, steps: list[str], line: int) -> Give:
    """Looks one value up. The messages are those of the whole language."""

    def give(f: Frame) -> Any:
        f.line = line
        f.meter.spend()
        if root not in f.names:
            raise not_there(root, f.names)
        value = f.names[root]
        seen = root
        for step in steps:
            value = item(value, step, f.meter, seen)
            seen = f"{seen}.{step}"
        return value

    return give


def _written(parts: list[str | Give]) -> Do:
    def do(f: Frame) -> None:
        for each in parts:
            f.meter.spend()
            f.write(each if isinstance(each, str) else text(each(f), f.meter))

    return do


def _parsed(
    source: str, names: frozenset[str], limits: TemplateLimits, *, condition: bool = False
) -> Compiled:
    from jinja2 import Environment, TemplateSyntaxError, nodes

    from runtime.template.expressions import Expressions
    from runtime.template.statements import Statements
    from runtime.template.trouble import Trouble

    environment = Environment(keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True, cache_size=0)
    try:
        tree = _tree(environment, source, condition)
        local = frozenset(each.name for each in tree.find_all(nodes.Name) if each.ctx == "store")
        expressions = Expressions(names, local | {"loop"}, limits)
        if isinstance(tree, nodes.Template):
            do = Statements(expressions).body(tree.body)
            return Compiled(used=frozenset(expressions.used), do=do)
        give = expressions.give(tree)
        return Compiled(used=frozenset(expressions.used), give=give)
    except TemplateSyntaxError as error:
        message = (error.message or "it cannot be read").rstrip(".")
        return Compiled((_problem(message, "Correct the template there.", error.lineno, "template.syntax"),))
    except Trouble as error:
        return Compiled((_problem(error.message, error.remedy, error.line),))
    except RecursionError:
        return Compiled((_problem("it is nested too deep", "Split it into smaller parts.", 1),))
    except (ValueError, ArithmeticError, AssertionError, LookupError) as error:
        # The parser's own conversions of literals: a number of 5,000 digits, a broken escape.
        return Compiled((_problem(f"it cannot be read: {error}", "Write it another way.", 1),))


def _tree(environment: Environment, source: str, condition: bool) -> nodes.Node:
    """Jinja's syntax tree. An unknown escape such as "\\d" is kept as it is, without Python's warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if not condition:
            return environment.parse(source)
        from jinja2.parser import Parser

        parser = Parser(environment, source, state="variable")
        tree = parser.parse_expression()
        if not parser.stream.eos:
            parser.fail("a condition is one expression", parser.stream.current.lineno)
        return tree
