"""Shapes: reading what people write, every fault of what does not fit, and its JSON Schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Literal

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from pydantic import BaseModel, ConfigDict, Field

from nodes.agent import AgentConfig
from nodes.memory import MemoryConfig
from nodes.router import RouterConfig
from nodes.tool import ToolConfig
from runtime.shape import Misfit, Shape, Wrong, read
from runtime.shape.faults import faults, told
from runtime.shape.own import Nanos
from runtime.shape.schema import json_schema


class Red(Shape, tag_field="kind", tag="red"):
    """Red."""


class Blue(Shape, tag_field="kind", tag="blue"):
    """Blue."""

    depth: Annotated[int, Meta(ge=1, lt=10)] = 3
    """How blue."""


class Whole(Shape):
    """A shape with everything."""

    name: Annotated[str, Meta(pattern="^[a-z]+$", max_length=8)]
    """What it is called."""
    order: Literal["second", "first"] = "second"
    """Which comes first."""
    colour: Red | Blue = Red()
    """One of two."""
    weights: tuple[Annotated[float, Meta(gt=0, le=1)], ...] = ()
    """Some numbers."""
    named: dict[str, str | Blue] = msgspec.field(default_factory=dict)
    """Texts or blues."""
    price: Nanos | None = None
    """In dollars."""
    least: int = 0
    """Not above most."""
    most: int = 0
    """Not below least."""

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise Wrong("least is above most", "least")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (7, ["$: an object belongs here"]),
        ({}, ["$.name: is missing"]),
        ({"name": "x", "nmae": 1}, ["$.nmae: there is no such field"]),
        ({"name": "X"}, ["$.name: it does not fit the pattern ^[a-z]+$"]),
        ({"name": "x" * 9}, ["$.name: 9 characters are too many: at most 8"]),
        (
            {"name": None, "order": 1},
            ["$.name: a text belongs here", "$.order: it is none of 'second', 'first'"],
        ),
        ({"name": "x", "colour": {}}, ["$.colour.kind: is missing"]),
        ({"name": "x", "colour": {"kind": "green"}}, ["$.colour.kind: it is none of 'red', 'blue'"]),
        (
            {"name": "x", "colour": {"kind": "blue", "depth": 10}},
            ["$.colour.depth: it is too large: less than 10"],
        ),
        ({"name": "x", "colour": "red"}, ["$.colour: an object belongs here"]),
        (
            {"name": "x", "weights": [1, 0, True]},
            ["$.weights[1]: it is too small: more than 0", "$.weights[2]: a number belongs here"],
        ),
        (
            {"name": "x", "named": {"a": 1, "b": {"kind": "blue", "depth": "x"}}},
            ["$.named.a: a text or an object belongs here", "$.named.b.depth: a whole number belongs here"],
        ),
        (
            {"name": "x", "price": "cheap"},
            ["$.price: the amount must be an amount of dollars such as 0.50, not 'cheap'"],
        ),
        ({"name": "x", "least": 2, "most": 1}, ["$.least: least is above most"]),
        ({"name": "x", "least": "2", "most": 1}, ["$.least: a whole number belongs here"]),
    ],
    ids=repr,
)
def test_every_fault_is_told_with_its_place(value: Any, said: list[str]) -> None:
    with pytest.raises(Misfit) as caught:
        read(Whole, value)
    assert told(caught.value) == said


def test_what_fits_is_read() -> None:
    made = read(Whole, {"name": "x", "price": "0.5", "named": {"a": "b"}, "weights": [1, 0.5]})
    assert (made.price, made.named, made.weights) == (500_000_000, {"a": "b"}, (1, 0.5))
    assert read(Whole, {"name": "y"}).named is not made.named


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(-2, 2)
    | st.sampled_from(["", "x", "full", "blue"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["mode", "keep", "name", "when", "tokens", "enabled", "text", "labels", "http", "url", "zz"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@cache
def validator(kind: type[Shape]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json_schema(kind))


@given(kind=st.sampled_from([AgentConfig, MemoryConfig, RouterConfig, ToolConfig]), data=st.data())
def test_any_value_is_read_or_has_faults(kind: type[Shape], data: st.DataObject) -> None:
    """What is refused has at least one fault; what the schema refuses is refused."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    value = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))
    fits = validator(kind).is_valid(value)
    try:
        read(kind, value)
    except Misfit as misfit:
        assert faults(misfit)
    else:
        assert fits


def test_the_schema_keeps_the_order_of_choices_and_tells_one_constant() -> None:
    schema = json_schema(Whole)
    assert schema["properties"]["order"]["enum"] == ["second", "first"]
    assert schema["$defs"]["Red"]["properties"]["kind"] == {"const": "red"}
    assert schema["properties"]["price"]["description"] == "In dollars."
    json.dumps(schema)


class Theirs(BaseModel):
    """A config of another maker."""

    model_config = ConfigDict(extra="forbid")
    size: int = Field(default=1, ge=1)
    """How large."""


def test_a_pydantic_model_is_read_and_told_alike() -> None:
    assert read(Theirs, {"size": 4}).size == 4
    with pytest.raises(Misfit) as caught:
        read(Theirs, {"size": 0, "sise": 2})
    assert told(caught.value) == ["$.size: it is too small: at least 1", "$.sise: there is no such field"]
    assert json_schema(Theirs)["properties"]["size"]["description"] == "How large."
