"""Schemas from flows: what they check, in which words, and that none reaches out or takes for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.schema_check import Mismatch, Schema, SchemaLimits
from tests.quick import examples

ORDER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "customer": {"$ref": "#/$defs/person"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"sku": {"pattern": "^[A-Z]{2}-[0-9]+$"}, "count": {"minimum": 1}},
                "required": ["sku"],
            },
        },
        "state": {"enum": ["new", "paid"]},
    },
    "required": ["customer", "lines"],
    "additionalProperties": False,
    "$defs": {"person": {"type": "object", "properties": {"first name": {"type": "string"}}}},
}


def test_value_that_fits_has_no_mismatch() -> None:
    schema = Schema(ORDER)
    assert schema.problems() == ()
    value = {"customer": {"first name": "Ann"}, "lines": [{"sku": "AB-1", "count": 2}], "state": "new"}
    assert schema.mismatches(value) == ()
    schema.require(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], Mismatch("$", "must be an object, not []")),
        ({"lines": [{"sku": "AB-1"}]}, Mismatch("$", 'lacks "customer"')),
        ({"customer": {}, "lines": []}, Mismatch("$.lines", "must have at least 1 items, not 0")),
        (
            {"customer": {}, "lines": [{"sku": "AB-1"}, {"sku": "x"}]},
            Mismatch("$.lines[1].sku", 'must match ^[A-Z]{2}-[0-9]+$, not "x"'),
        ),
        (
            {"customer": {"first name": 5}, "lines": [{"sku": "AB-1"}]},
            Mismatch('$.customer["first name"]', "must be text, not 5"),
        ),
        (
            {"customer": {}, "lines": [{"sku": "AB-1"}], "extra": 1},
            Mismatch("$", 'has "extra", which is not allowed'),
        ),
        (
            {"customer": {}, "lines": [{"sku": "AB-1", "count": 0}]},
            Mismatch("$.lines[0].count", "must be at least 1, not 0"),
        ),
        (
            {"customer": {}, "lines": [{"sku": "AB-1"}], "state": "old"},
            Mismatch("$.state", 'must be one of "new", "paid", not "old"'),
        ),
    ],
)
def test_mismatch_says_where_and_what(value: Any, expected: Mismatch) -> None:
    assert Schema(ORDER).mismatches(value) == (expected,)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": ["string", "null"]}, 1, "must be text or null, not 1"),
        ({"const": {"a": 1}}, 2, 'must be {"a": 1}, not 2'),
        ({"maximum": 1}, 2, "must be at most 1, not 2"),
        ({"exclusiveMinimum": 1}, 1, "must be more than 1, not 1"),
        ({"exclusiveMaximum": 1}, 1, "must be less than 1, not 1"),
        ({"multipleOf": 3}, 4, "must be a multiple of 3, not 4"),
        ({"minLength": 2}, "a", "must have at least 2 characters"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 items, not 2"),
        ({"minProperties": 1}, {}, "must have at least 1 fields, not 0"),
        ({"maxProperties": 0}, {"a": 1}, "must have at most 0 fields, not 1"),
        ({"uniqueItems": True}, [1, 1], "has an item twice"),
        ({"contains": {"type": "string"}}, [1], "has no item of the kind that is asked for"),
        ({"not": {}}, 1, "is what is not allowed: 1"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "fits none of the allowed forms: 1"),
        ({"oneOf": [{}, {}]}, 1, "must fit exactly one of the allowed forms: 1"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "has a field whose name is not allowed"),
        (False, 1, "is not allowed"),
        ({"type": "integer"}, "x" * 500, "must be a whole number, not \"" + "x" * 58 + "…"),
    ],
)  # fmt: skip
def test_every_keyword_has_plain_words(schema: Any, value: Any, message: str) -> None:
    assert Schema(schema).mismatches(value) == (Mismatch("$", message),)


def test_require_raises_with_the_first_few() -> None:
    schema = Schema({"items": {"type": "string"}})
    with pytest.raises(BadInput) as caught:
        schema.require(list(range(100)), "The answer")
    assert str(caught.value).startswith("The answer does not fit its schema: $[0] must be text, not 0; $[1]")
    assert str(caught.value).count("must be text") == 5
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("schema", [None, True, {}])
def test_trivial_schema_allows_everything_and_loads_nothing(schema: Any) -> None:
    code = (
        "import sys; from runtime.schema_check import Schema;"
        f"s = Schema({schema!r}); s.require({{'a': object()}}); assert s.problems() == ();"
        "print(sorted({'jsonschema_rs', 'jsonschema', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        (5, "$", "must be an object, true or false"),
        ({"type": "intger"}, "$.type", "intger"),
        ({"properties": {"a": {"minimum": "x"}}}, "$.properties.a.minimum", "not of type"),
        ({"$ref": "http://127.0.0.1:9/s.json"}, "$", "only point into this schema"),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, "$.properties.a", "only point into this schema"),
        ({"$ref": "file:///etc/passwd"}, "$", "only point into this schema"),
        ({"$ref": "#anchor"}, "$", "only point into this schema"),
        ({"$ref": "#/$defs/no"}, "$", "is not there"),
        ({"$ref": "#"}, "$", "without going deeper"),
        ({"allOf": [{"anyOf": [{"$ref": "#"}]}]}, "$", "without going deeper"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
            "$",
            "without going deeper",
        ),
        ({"$dynamicRef": "#x"}, "$", "$dynamicRef is not supported"),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, "$.properties.a", "not supported"),
        ({"properties": {"a": {"$id": "http://x/y", "$ref": "#/a"}}}, "$", "$id is allowed only at the top"),
        ({"$schema": "http://x/y"}, "$", "dialect"),
        ({"properties": {"a": {"pattern": "("}}}, "$.properties.a.pattern", "cannot be used"),
        ({"pattern": "(?=a)b"}, "$.pattern", "cannot be used"),
        ({"pattern": "(a)\\1"}, "$.pattern", "cannot be used"),
        ({"pattern": "(a{1000}){100}"}, "$.pattern", "cannot be used"),
        ({"pattern": "a" * 501}, "$", "limit pattern_chars of 500"),
        ({"patternProperties": {f"a{n}": True for n in range(101)}}, "$", "limit patterns of 100"),
        ({"enum": list(range(10_001))}, "$", "limit values of 10,000"),
        ({"description": "x" * 200_001}, "$", "limit chars of 200,000"),
        (_nested(41), "$", "limit depth of 40"),
    ],
)
def test_schema_that_cannot_be_used_is_a_problem(schema: Any, path: str, says: str) -> None:
    (problem,) = Schema(schema).problems()
    assert problem.path == path
    assert says in problem.message
    assert problem.remedy
    with pytest.raises(BadInput, match="schema cannot be used"):
        Schema(schema).require({})


def test_fields_named_like_keywords_are_fields() -> None:
    schema = Schema({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "pattern": {}}})
    assert schema.problems() == ()
    assert schema.mismatches({"$ref": 1}) == (Mismatch('$["$ref"]', "must be text, not 1"),)


def test_recursive_schema_is_allowed_where_it_goes_deeper() -> None:
    tree = Schema(
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#"}}},
        }
    )
    value: dict[str, Any] = {"name": "leaf"}
    for _ in range(40):
        value = {"name": "node", "parts": [value]}
    assert tree.mismatches(value) == ()
    assert tree.mismatches({"parts": [{"parts": [{"name": 1}]}]})[0].path == "$.parts[0].parts[0].name"


def test_recursive_choice_by_kind_does_not_count_double() -> None:
    choice = {
        "$ref": "#/$defs/value",
        "$defs": {
            "value": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
                    {"type": "array", "items": {"$ref": "#/$defs/value"}},
                ]
            }
        },
    }
    value: Any = "x"
    for level in range(80):
        value = [value] if level % 2 else {"a": value}
    assert Schema(choice).mismatches(value) == ()


def _doubling(levels: int) -> dict[str, Any]:
    """Each definition asks the one before it twice about the same value."""
    parts: dict[str, Any] = {"d0": {"type": "integer"}}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        parts[f"d{level}"] = {"anyOf": [below, below]}
    return {"$defs": parts, "$ref": f"#/$defs/d{levels}"}


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


TWICE = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
BOTH = {
    "properties": {"a": {"$ref": "#"}},
    "additionalProperties": {"$ref": "#"},
    "patternProperties": {"a": {"$ref": "#"}},
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (_doubling(60), "x"),
        (TWICE, _deep(60)),
        (BOTH, _deep(60)),
        ({"items": {"enum": [{"a": n} for n in range(3000)]}}, [{"a": 2999}] * 20_000),
        ({"pattern": "[ab]*a[ab]{300}c"}, "ab" * 400_000),
        ({"allOf": [{"pattern": "[ab]*a[ab]{300}c"}] * 20}, "ab" * 20_000),
    ],
)
def test_work_that_could_explode_is_refused_before_it_is_done(schema: Any, value: Any) -> None:
    begun = time.thread_time()
    with pytest.raises(BadInput) as caught:
        Schema(schema).mismatches(value)
    assert caught.value.code == "schema.too_costly"
    assert caught.value.remedy
    assert time.thread_time() - begun < 2


def test_small_values_pass_the_same_schemas() -> None:
    assert Schema(_doubling(5)).mismatches(1) == ()
    assert Schema(TWICE).mismatches(_deep(5)) == ()
    assert Schema(BOTH).mismatches(_deep(5)) == ()


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("^(a+)+$", "a" * 100_000 + "b"),
        (r"(.*a){20}", "b" * 100_000),
        (r"(\w+\s?)+$", "word " * 20_000 + "!"),
    ],
)
def test_pattern_cannot_hang(pattern: str, value: str) -> None:
    begun = time.thread_time()
    assert Schema({"pattern": pattern}).mismatches(value)
    assert time.thread_time() - begun < 2


def test_value_too_deep_or_too_long_is_refused() -> None:
    with pytest.raises(BadInput, match="value_depth of 100"):
        Schema({"type": "object"}).mismatches(_deep(101))
    small = SchemaLimits(value_chars=10)
    with pytest.raises(BadInput, match="value_chars of 10"):
        Schema({"type": "string"}, limits=small).mismatches("x" * 11)
    assert Schema({"type": "string"}, limits=small).mismatches("x" * 10) == ()


def test_what_is_no_json_is_a_mismatch() -> None:
    (found,) = Schema({"type": "object"}).mismatches(object())
    assert "no JSON value" in found.message


SCHEMAS = st.recursive(
    st.sampled_from(
        [True, {"type": "string"}, {"type": "integer"}, {"$ref": "#"}, {"$ref": "#/$defs/d"}]
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a: {"not": a}, inner),
        st.builds(lambda a, b: {"properties": {"a": a, "b": b}, "additionalProperties": a}, inner, inner),
        st.builds(lambda a: {"items": a}, inner),
        st.builds(lambda a, b: {"patternProperties": {"a": a, ".": b}}, inner, inner),
    ),
    max_leaves=12,
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(["aaa", 1, None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(200))
@given(SCHEMAS, SCHEMAS, VALUES)
def test_any_schema_is_checked_or_refused_in_time(schema: Any, other: Any, value: Any) -> None:
    document = {**schema, "$defs": {"d": other}} if isinstance(schema, dict) else schema
    checked = Schema(document)
    begun = time.thread_time()
    try:
        found = checked.mismatches(value)
    except BadInput as refused:
        assert refused.remedy
    else:
        assert len(found) <= 5
        assert all(each.path.startswith("$") for each in found)
    assert time.thread_time() - begun < 1
