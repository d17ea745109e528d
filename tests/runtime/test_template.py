"""The template language: what it renders, what is out of reach, and that nothing gets past its limits."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from runtime.errors import TemplateFailure
from runtime.template import Condition, Template

VALUES: dict[str, Any] = {
    "inputs": {
        "question": "Is it round?",
        "the-notes": ["wheel", "tube"],
        "scores": {"b": 2, "a": 10},
        "bikes": [{"name": "Roo", "price": 300, "sold": True}, {"name": "Ada", "price": 1200.5}],
    },
    "input": {"name": "Ann", "n": 3, "empty": "", "nothing": None, "yes": True, "items": "mine"},
}


def _render(source: str, values: dict[str, Any] | None = None) -> str:
    return Template(source).render(VALUES if values is None else values)


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        ("plain } text { with 100%", "plain } text { with 100%"),
        ("Hello {{ input.name }}!", "Hello Ann!"),
        ("{{input.name}}{{ input.n }}\n", "Ann3\n"),
        ("{{ inputs['the-notes'] }}", '["wheel","tube"]'),
        ('{{ inputs["question"] }}', "Is it round?"),
        ("{{ input.nothing }} {{ input.yes }} {{ 1.5 }} {{ 2 }}", "null true 1.5 2"),
        ("{{ inputs.scores }}", '{"b":2,"a":10}'),
        ("{{ inputs.scores.b + 1 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ -2 ** 2 }} {{ 1 / 4 }}", "3 3 3 4 0.25"),
        ("{{ 'a' ~ 1 ~ [true] }}", "a1[true]"),
        ("{{ [1] + [2] }} {{ 'x' + 'y' }}", "[1,2] xy"),
        ("{{ input.items }}", "mine"),
        (
            "{% for key, value in inputs.scores.items() %}{{ key }}={{ value }};{% endfor %}",
            "b=2;a=10;",
        ),
        ("{% for x in inputs['the-notes'] %}{{ loop.index }}{{ x }}{% endfor %}", "1wheel2tube"),
        ("{% for x in [] %}no{% else %}none{% endfor %}", "none"),
        ("{% for x in [1, 2, 3, 4] if x is even %}{{ x }}/{{ loop.length }} {% endfor %}", "2/2 4/2 "),
        ("{% if input.n > 2 %}\nbig\n{% elif true %}\nsmall\n{% endif %}\nend", "big\nend"),
        ("{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "2"),
        ("{% set x = 1 %}{% for i in [1] %}{% set x = 9 %}{% endfor %}{{ x }}", "1"),
        ("{% set x|upper|trim %} abc {% endset %}[{{ x }}]", "[ABC]"),
        ("{# comment #}x{% raw %}{{ y }}{% endraw %}", "x{{ y }}"),
        ("{{ 'yes' if input.n == 3.0 else 'no' }}{{ 'x' if false }}", "yes"),
        (
            "{{ input.empty or 'nobody' }} {{ input.zip|default('?') }} {{ input.empty|d('x', true) }}",
            "nobody ? x",
        ),
        (
            "{{ input.zip is defined }} {{ input.nothing is defined }} {{ input.a.b is undefined }}",
            "false true true",
        ),
        ("{{ 'round' in inputs.question }} {{ 'c' in inputs.scores }} {{ 1 not in [2] }}", "true false true"),
        (
            "{{ 1 < 2 < 3 }} {{ 'a' < 'b' }} {{ true == 1 }} {{ [1, {'a': null}] == [1.0, {'a': none}] }}",
            "true true false true",
        ),
        ("{{ inputs.bikes|map(attribute='name')|join(', ') }}", "Roo, Ada"),
        ("{{ inputs.bikes|selectattr('price', 'gt', 500)|map(attribute='name')|first }}", "Ada"),
        ("{{ inputs.bikes|rejectattr('sold')|map(attribute='name')|list }}", '["Ada"]'),
        (
            "{{ inputs.bikes|sort(attribute='price', reverse=true)|map(attribute='price')|json }}",
            "[1200.5,300]",
        ),
        ("{{ inputs.bikes|sum(attribute='price') }} {{ [3, 1]|min }} {{ [3, 1]|max }}", "1500.5 1 3"),
        ("{{ inputs.scores|json(indent=1) }}", '{\n "b": 2,\n "a": 10\n}'),
        (
            "{{ 'a long text'|truncate(6) }} {{ 'short'|truncate(6) }} {{ 'abc'|truncate(2, '...') }}",
            "a lon… short ..",
        ),
        (
            "{{ 'a\\nb'|indent(2) }}|{{ ' a '|trim }}|{{ 'ab'|replace('b', 'cc') }}|{{ 'ab'|reverse }}",
            "a\n  b|a|acc|ba",
        ),
        ("{{ 'a b'.split() }} {{ 'a,b'|split(',') }} {{ 'a b c'|wordcount }}", '["a","b"] ["a","b"] 3'),
        (
            "{{ [1, 1.0, 2, true]|unique }} {{ [2, 1]|last }} {{ 'abc'[1] }} {{ [1, 2, 3][1:] }}",
            "[1,2,true] 1 b [2,3]",
        ),
        (
            "{{ '7x'|int(-1) }} {{ '7'|int }} {{ '1.5'|float }} {{ 2.567|round(1) }} {{ -3|abs }}",
            "-1 7 1.5 2.6 3",
        ),
        (
            "{{ inputs.scores.get('z', 'none') }} {{ inputs.scores|keys }} {{ inputs.scores|values }}",
            'none ["b","a"] [2,10]',
        ),
        ("{{ 'Ab'.upper() }}{{ 'Ab'|lower }}{{ 'ab cd'|title }}{{ 'AB'|capitalize }}", "ABabAb CdAb"),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{{ '\\d' }}", "\\d"),
        ("{{{ input.name }}}", None),
        ("a\r\n{{ input.name }}\r\n", "a\nAnn\n"),
    ],
)
def test_template_renders(source: str, rendered: str | None) -> None:
    if rendered is None:
        with pytest.raises(TemplateFailure):
            _render(source)
    else:
        assert _render(source) == rendered


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        ("{{ input.nme }}", "template.missing", "input has: name, n, empty"),
        ("{{ inputs.question.text }}", "template.missing", "inputs.question is text"),
        ("{{ inputs.nothing }}", "template.missing", "inputs has: question"),
        ("a\nb {{ input.nothing.x }}", "template.missing", "line 2: input.nothing is null"),
        ("{{ inputs['the-notes'][5] }}", "template.missing", "It has 2 items"),
        ("{{ [1] - 1 }}", "template.failed", "between a list and a number"),
        ("{{ 1 / 0 }}", "template.failed", "divides by zero"),
        ("{{ true + 1 }}", "template.failed", "a boolean"),
        ("{{ 1 < 'a' }}", "template.failed", "cannot be compared"),
        ("{% for x in 5 %}{% endfor %}", "template.failed", "a number cannot be gone through"),
        ("{% for a, b in [[1]] %}{% endfor %}", "template.failed", "2 names cannot take a list of 1"),
        ("{{ {1: 2} }}", "template.failed", "key must be text"),
        ("{{ x }}", "template.invalid", "nothing called 'x'"),
        ("{{ loop }}", "template.missing", "loop is not set here"),
        ("\n{{ inptu }}", "template.invalid", "line 2: there is nothing called 'inptu'. Did you mean input?"),
        ("{{ input|uper }}", "template.invalid", "Did you mean upper?"),
        ("{{ input is strng }}", "template.invalid", "Did you mean string?"),
        ("{{ input.name|truncate(1, 2, 3, 4) }}", "template.invalid", "the filter truncate"),
        ("{{ input|replace }}", "template.invalid", "the filter replace"),
        ("{{ input", "template.syntax", "line 1"),
        ("a\n{% if %}", "template.syntax", "line 2"),
        ("{% set input = 1 %}", "template.invalid", "input cannot be set"),
        ("{{ input.name.format(1) }}", "template.invalid", "is not available"),
        ("{{ input.name() }}", "template.invalid", "is not available"),
        ("{{ inputs(1) }}", "template.invalid", "is not available"),
        ("{{ namespace(x=1) }}", "template.invalid", "is not available"),
        ("{{ range(*[1]) }}", "template.invalid", "range takes"),
    ],
)
def test_template_errors_say_where_and_what(source: str, code: str, says: str) -> None:
    with pytest.raises(TemplateFailure) as caught:
        _render(source)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.promise("RUN-12")
def test_values_are_never_rendered_again() -> None:
    values = {"inputs": {}, "input": "{{ inputs }}{% for x in range(10**9) %}"}
    assert _render("{{ input }}", values) == values["input"]
    assert _render("{{ input|trim }}{# #}", values) == values["input"]


def test_output_can_always_be_stored() -> None:
    values = {"inputs": {}, "input": "a\x00b\ud800c"}
    assert _render("{{ input }}", values) == "a\ufffdb\ufffdc"
    assert _render("\x00 plain") == "\ufffd plain"
    assert _render("{{ [input]|json }}{{ '\\ud800' }}", values).encode()
    assert _render("{{ input }}", {"input": "né 漢 🚲"}) == "né 漢 🚲"


def test_values_that_are_no_json_are_refused() -> None:
    for value in (object(), {1, 2}, b"x", float("nan"), [float("inf")], 10**5000):
        with pytest.raises(TemplateFailure):
            _render("{{ input }}", {"input": value})


def test_variables_name_the_inputs() -> None:
    def used(source: str) -> set[str]:
        return set(Template(source).variables())

    assert used("plain") == set()
    assert used("{{ input.name }}{{ inputs.a.b }}{{ inputs['c-d'] }}") == {"input", "inputs.a", "inputs.c-d"}
    assert used("{{ inputs|length }}") == {"inputs"}
    assert used("{% for x in inputs.a %}{{ x }}{{ inputs[x] }}{% endfor %}") == {"inputs", "inputs.a"}
    assert set(Condition("inputs.a and input").variables()) == {"inputs.a", "input"}


def test_names_can_be_others() -> None:
    names = frozenset({"round", "value"})
    assert Condition("round >= 2 or value.done", names=names).test({"round": 1, "value": {"done": True}})
    assert "nothing called 'input'" in Condition("input", names=names).check()[0].message
    assert Template("{{ value }}", names=names).render({"value": 1, "round": 1}) == "1"


@pytest.mark.parametrize(
    ("source", "true"),
    [
        ("input.n > 2", True),
        ("input.n > 2 and inputs.question is string", True),
        ("'round' in inputs.question", True),
        ("input.empty", False),
        ("not input.nothing", True),
        ("input.zip|default(false)", False),
        ("inputs['the-notes']|length == 2", True),
        ("(\n  input.n\n  == 3\n)", True),
    ],
)
def test_condition_is_true_or_false(source: str, true: bool) -> None:
    assert Condition(source).check() == ()
    assert Condition(source).test(VALUES) is true


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("{{ input }}", "without braces"),
        ("input }} x {{ input", "without braces"),
        ("input }} x", "line 1"),
        ("input input", "one expression"),
        ("input = 1", "one expression"),
        ("1 +", "line 1"),
        ("foo > 1", "nothing called 'foo'"),
        ("(" * 5000, "nested too deep"),
    ],
)
def test_condition_refuses(source: str, says: str) -> None:
    assert says in Condition(source).check()[0].message
    with pytest.raises(TemplateFailure):
        Condition(source).test(VALUES)


def test_simple_condition_gives_the_same_as_the_whole_language() -> None:
    for source in ("input.n", "inputs['the-notes']", " input ", "input.nme", "inputs.x.y"):
        outcomes = []
        for written in (source, f"({source})"):
            try:
                outcomes.append(Condition(written).value(VALUES))
            except TemplateFailure as failure:
                outcomes.append(str(failure))
        assert outcomes[0] == outcomes[1]
        assert Condition(source).variables() == Condition(f"({source})").variables()


def test_both_ways_of_compiling_give_the_same() -> None:
    for source in (
        "{{ input.name }}",
        "a {{ inputs['the-notes'] }} b\n{{ input }}\n",
        "{{ input.nme }}",
        "\n{{ inputs.x }}",
    ):
        outcomes = []
        for written in (source, source + "{# #}"):
            try:
                outcomes.append(_render(written))
            except TemplateFailure as failure:
                outcomes.append(str(failure))
        assert outcomes[0] == outcomes[1]
        assert Template(source).variables() == Template(source + "{# #}").variables()


@pytest.mark.parametrize("source", ["plain", "Hello {{ input.name }}, {{ inputs['x'] }}"])
def test_simple_templates_do_not_load_jinja(source: str) -> None:
    code = (
        "import sys; from runtime.template import Template;"
        f"t = Template({source!r}); t.check(); t.render({{'input': {{'name': 'A'}}, 'inputs': {{'x': 1}}}});"
        "print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("{{ input.name.first }}", "Leave that away: a text has no parts."),
        ("{{ inputs['the-notes'].first }}", "Take an item by its number, counted from 0: [0]."),
    ],
)
def test_a_part_that_a_value_cannot_have_is_told_with_what_it_has(source: str, remedy: str) -> None:
    with pytest.raises(TemplateFailure) as caught:
        _render(source)
    assert caught.value.remedy == remedy
