"""The template language: nothing is out of bounds, whatever a text says."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import TemplateFailure
from runtime.template import Condition, Template, TemplateLimits
from tests.quick import examples

VALUES: dict[str, Any] = {"inputs": {"a": "x", "b": [1, 2]}, "input": {"name": "Ann", "set": 1}}


def _render(source: str, values: dict[str, Any]) -> str:
    return Template(source).render(values)


@pytest.mark.promise("MOD-10")
@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ input.__class__ }}",
        "{{ input['__class__'] }}",
        "{{ input.name.__init__.__globals__ }}",
        "{{ inputs|attr('__class__') }}",
        "{{ [].append(1) }}",
        "{{ input.update({}) }}",
        "{{ self }}",
        "{{ self._TemplateReference__context }}",
        "{{ __import__('os') }}",
        "{{ cycler.__init__ }}",
        "{{ lipsum() }}",
        "{{ dict(a=1) }}",
        "{{ loop.__class__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0.__class__}'|format(1) }}",
        "{{ inputs|map('upper')|list }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% from 'os' import path %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% macro x() %}{% endmacro %}",
        "{% call x() %}{% endcall %}",
        "{% filter upper %}x{% endfilter %}",
        "{% with a = 1 %}{% endwith %}",
        "{% autoescape true %}x{% endautoescape %}",
        "{% do 1 %}",
        "{% for x in [] recursive %}{% endfor %}",
        "{% set input.name = 1 %}",
    ],
)
def test_template_reaches_nothing_but_its_inputs(source: str) -> None:
    with pytest.raises(TemplateFailure):
        _render(source, VALUES)


GROWTH = [
    "{{ 'x' * 10**9 }}",
    "{{ [0] * 10**9 }}",
    "{{ range(10**9)|length }}",
    "{{ range(10**30) }}",
    "{{ 'x'|center(10**9) }}",
    "{{ 'x'.center(10**9) }}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ 9 ** (9 ** 9) }}",
    "{{ 2 ** 5000 }}",
    "{{ 10.0 ** 400 }}",
    "{{ 1 << 9 }}",
    "{{ 'x'|indent(10**9) }}",
    "{{ 'a'|replace('', 'b' ~ 'c')|replace('', input.big)|replace('', input.big) }}",
    "{{ input.big|replace('x', input.big) }}",
    "{{ inputs.many|join(input.big) }}",
    "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
    "{% for a in inputs.many %}{% for b in inputs.many %}{{ input.big }}{% endfor %}{% endfor %}",
    "{% for a in inputs.many %}{{ 'zz' in input.big }}{% endfor %}",
    "{% for a in inputs.many %}{% set b = input.big ~ a %}{% endfor %}",
    "{% for a in inputs.many %}{% set b = inputs.many|sort %}{% endfor %}",
    "{% for a in inputs.many %}{% set b = inputs.many|unique %}{% endfor %}",
    "{% for a in inputs.many %}{% set b %}{{ input.big }}{% endset %}{% endfor %}",
    "{% set a = 'x' %}" + "{% set a = a ~ a %}" * 40 + "{{ a|length }}",
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 59 + "{{ a|string|length }}",
    "{% set a = [1] %}{% set b = [1] %}" + "{% set a = [a, a] %}{% set b = [b, b] %}" * 40 + "{{ a == b }}",
    "{% set a = [1] %}{% set b = [1] %}" + "{% set a = [a, a] %}{% set b = [b, b] %}" * 40 + "{{ a in [b] }}",
    "{% set a = [1] %}" + "{% set a = a + a %}" * 40 + "{{ a|length }}",
    "{% set a = 2 %}" + "{% set a = a * a %}" * 40 + "{{ a }}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ 1" + "+1" * 20000 + " }}",
    "{{ input" + "|string" * 5000 + " }}",
    "{{ " + "not " * 20000 + "1 }}",
    "{{ " + "-" * 20000 + "1 }}",
    "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "{{ input" + ".a" * 20000 + " }}",
    "{% if true %}" * 3000 + "{% endif %}" * 3000,
    "{{ " + "9" * 100_000 + " }}",
    "{{ 1e999 }}",
    "{{ -1e308 * 10 }}",
    "{{" * 50_000,
    "{%" * 50_000,
    "{{ '" + "\\" * 99_999,
    "{# " * 50_000,
    "x" * 200_001 + "{{ input }}",
    "{{ input.deep }}",
]


@pytest.mark.promise("MOD-10")
@pytest.mark.parametrize("source", GROWTH, ids=range(len(GROWTH)))
def test_template_growth_ends_at_a_limit(source: str) -> None:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    values = {
        "inputs": {"many": [str(each) for each in range(5000)]},
        "input": {"big": "x" * 500_000, "deep": deep},
    }
    begun = time.thread_time()
    with pytest.raises(TemplateFailure) as caught:
        _render(source, values)
    assert time.thread_time() - begun < 3
    assert len(str(caught.value)) < 2000


def test_template_stops_at_its_processor_time() -> None:
    limits = TemplateLimits(steps=10**12, cpu_s=0.05)
    source = "{% for a in range(3000) %}{% for b in range(3000) %}{% endfor %}{% endfor %}"
    begun = time.thread_time()
    with pytest.raises(TemplateFailure, match=r"limit cpu_s of 0\.05"):
        Template(source, limits=limits).render({})
    assert time.thread_time() - begun < 0.5


def test_template_limits_are_fields() -> None:
    small = TemplateLimits(output_chars=5, steps=50, text_chars=100)
    assert Template("{{ 'abcde' }}", limits=small).render({}) == "abcde"
    with pytest.raises(TemplateFailure, match="limit output_chars of 5"):
        Template("{{ 'abcde' }}f", limits=small).render({})
    with pytest.raises(TemplateFailure, match="limit steps of 50"):
        Template("{% for a in range(60) %}{% endfor %}", limits=small).render({})
    assert "text_chars" in Template("{{ 1 }}" + "x" * 100, limits=small).check()[0].message


ATOMS = [
    "input",
    "inputs",
    "inputs.a",
    "input.b",
    "'x'",
    "'{{'",
    "1",
    "10**9",
    "2.5",
    "[1, input]",
    "{'k': inputs.a}",
    "range(9)",
    "range(10**8)",
    "loop",
    "loop.index",
    "none",
    "true",
    "x",
    "''.__class__",
    "1e308",
    "inputs['a'][0:9:2]",
]


WRAPS = [
    "({} ~ {})",
    "({} + {})",
    "({} * {})",
    "({} ** {})",
    "({} % {})",
    "({} - {})",
    "({} in {})",
    "({} == {})",
    "({} < {})",
    "({} and {})",
    "({} or {})",
    "[{}, {}]",
    "({})[{}]",
    "({}|replace({}, 'yy'))",
    "({}|join({}))",
    "({} if {} else 1)",
    "({}|default({}))",
    "({}|truncate({}))",
    "({}|split({}))",
    "({}|get({}))",
    "({}|indent({}))",
]


FILTERED = [
    "json",
    "list",
    "sort",
    "unique",
    "length",
    "string",
    "upper",
    "items",
    "sum",
    "int",
    "float",
    "round",
    "reverse",
]


BLOCKS = [
    "{{% for x in {} %}}{}{{% endfor %}}",
    "{{% if {} %}}{}{{% endif %}}",
    "{{% set x = {} %}}{}",
    "{{% set x %}}{{{{ {} }}}}{{% endset %}}{}",
]


@st.composite
def _nasty(draw: st.DrawFn) -> str:
    def expression(depth: int) -> str:
        if depth == 0 or draw(st.integers(0, 4)) == 0:
            return draw(st.sampled_from(ATOMS))
        if draw(st.booleans()):
            return draw(st.sampled_from(WRAPS)).format(expression(depth - 1), expression(depth - 1))
        return f"({expression(depth - 1)}|{draw(st.sampled_from(FILTERED))})"

    body = "{{ " + expression(3) + " }}"
    for _ in range(draw(st.integers(0, 5))):
        body = draw(st.sampled_from(BLOCKS)).format(expression(2), body * draw(st.integers(1, 2)))
    return body


@pytest.mark.promise("MOD-10")
@settings(max_examples=examples(150))
@given(_nasty(), st.sampled_from(["word " * 2000, list(range(3000)), {"b": ["x" * 1000] * 50}, None, 7]))
def test_any_template_ends_within_the_bounds(source: str, value: Any) -> None:
    begun = time.thread_time()
    try:
        rendered = _render(source, {"inputs": {"a": value}, "input": {"b": value}})
    except TemplateFailure as failure:
        assert failure.remedy
        assert "\n" not in failure.message
    else:
        assert len(rendered) <= TemplateLimits().output_chars
        rendered.encode()
    assert time.thread_time() - begun < 3


@settings(max_examples=examples(150))
@given(st.text(alphabet="{}%#-+|.'\"\\[]()~ \n\r\x00inputsforedset01,:=", max_size=60))
def test_any_text_is_rendered_or_refused(source: str) -> None:
    for language in (Template, Condition):
        problems = language(source).check()
        assert all(each.message.startswith("line ") and each.remedy for each in problems)
    try:
        _render(source, VALUES).encode()
    except TemplateFailure as failure:
        assert failure.remedy
