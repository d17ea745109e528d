"""Arguments of functions: JSON Schema from the signature, words from the docstring, values as annotated."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from runtime.errors import BadSettings, InputError
from runtime.schema_check import Schema
from runtime.tools import Function, ToolContext, tool


class Colour(enum.Enum):
    """Some colours."""

    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """Where something is."""

    city: str
    zip: str | None = None


@dataclass
class Item:
    """What is ordered."""

    name: str
    count: int = 1
    tags: list[str] = field(default_factory=list)


def order(
    item: Item,
    to: Place,
    on: date,
    colour: Colour = Colour.RED,
    speed: Literal["slow", "fast"] = "slow",
    note: Annotated[str, Field(max_length=5, description="From the annotation.")] = "",
    json: bool = False,
    copy: Any = None,
) -> dict[str, Any]:
    """Order an item.

    It is sent at once.

    Args:
        item: What to send,
            and how much of it.
        to (Place): Where to.
        note: From the docstring.
        json: Whether as JSON.

    Returns:
        What was asked for.
    """
    return locals()


@pytest.mark.promise("TOO-1")
def test_the_schema_says_all_that_the_signature_says() -> None:
    made = tool(order)
    assert made.spec.description == "Order an item."
    schema = made.spec.parameters
    properties = schema["properties"]
    assert list(properties) == ["item", "to", "on", "colour", "speed", "note", "json", "copy"]
    assert schema["required"] == ["item", "to", "on"]
    assert schema["additionalProperties"] is False
    assert properties["item"]["description"] == "What to send, and how much of it."
    assert properties["note"] == {"type": "string", "maxLength": 5, "default": ""} | {
        "description": properties["note"]["description"]
    }
    assert properties["json"] == {"type": "boolean", "default": False, "description": "Whether as JSON."}
    assert "title" not in repr(schema)
    assert Schema(schema).problems() == ()


def test_values_arrive_as_they_are_annotated_and_absent_ones_not_at_all() -> None:
    made = tool(order)
    sent = {
        "item": {"name": "cup", "count": "2"},
        "to": {"city": "Bern"},
        "on": "2026-02-03",
        "colour": "blue",
    }
    assert Schema(made.spec.parameters).mismatches(sent | {"item": {"name": "cup"}}) == ()
    given = made.signature.read(sent)
    assert given == {
        "item": Item("cup", 2), "to": Place(city="Bern"), "on": date(2026, 2, 3), "colour": Colour.BLUE,
    }  # fmt: skip
    assert made(**given)["speed"] == "slow"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "`item` is missing; `to` is missing; `on` is missing"),
        (
            {"item": {}, "to": {"city": 3}, "on": "soon"},
            "`item.name` is missing; `to.city` should be a valid",
        ),
        ({"extra": 1}, "there is no argument `extra`"),
        ({"argument_0": {"name": "x"}}, "there is no argument `argument_0`"),
        (
            {"item": {"name": "x"}, "to": {"city": "y"}, "on": "2026-02-03", "speed": "medium"},
            "'slow' or 'fast'",
        ),
        ({"item": {"name": "x"}, "to": {"city": "y"}, "on": "2026-02-03", "note": "too long"}, "at most 5"),
    ],
    ids=range(6),
)
def test_what_does_not_fit_is_told_in_words(sent: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        tool(order).signature.read(sent)
    message = refused.value.message
    assert refused.value.code == "tool.bad_arguments"
    assert message.startswith("order was not called: ")
    assert words in message
    assert message.endswith("It takes `item`, `to`, `on`, `colour`, `speed`, `note`, `json`, `copy`.")
    assert "pydantic" not in message
    assert "input_value" not in message


def several(*args: int) -> None: ...
def anything(**kwargs: int) -> None: ...
def by_place(a: int, /) -> None: ...
def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def holds_a_function(a: Callable[[], int]) -> None: ...
def holds_an_object(a: object, b: Function) -> None: ...


@pytest.mark.parametrize(
    "function", [several, anything, by_place, unknown, holds_a_function, holds_an_object]
)
def test_a_function_that_no_model_could_call_is_refused_with_what_to_do(function: Callable[..., Any]) -> None:
    with pytest.raises(BadSettings) as refused:
        _ = tool(function).spec
    assert refused.value.message.startswith(f"The function {function.__name__} cannot be a tool: it ")
    assert refused.value.remedy


def test_the_context_is_no_argument_of_the_model() -> None:
    @tool
    def look(ctx: ToolContext, what: str = "all") -> None:
        """Look."""

    assert list(look.spec.parameters["properties"]) == ["what"]
    assert look.signature.context == "ctx"
    with pytest.raises(InputError, match="there is no argument `ctx`"):
        look.signature.read({"ctx": {}})


def test_callables_of_other_kinds() -> None:
    class Adder:
        """Adds."""

        def __call__(self, a: int) -> int:
            """Add."""
            return a + 1

    assert tool(name="plus")(Adder()).signature.read({"a": "1"}) == {"a": 1}
    fixed = tool(name="fixed")(partial(order, speed="fast"))
    assert "item" in fixed.spec.parameters["required"]
    nothing = tool(lambda_ := _nothing)
    assert nothing.spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert nothing.signature.read({}) == {}
    assert lambda_ is nothing.function


def _nothing() -> None:
    """Do nothing."""


@given(st.dictionaries(st.text(max_size=8), st.none() | st.text() | st.integers() | st.lists(st.booleans())))
def test_any_arguments_are_read_or_refused(sent: dict[str, Any]) -> None:
    try:
        tool(order).signature.read(sent)
    except InputError as error:
        assert error.code == "tool.bad_arguments"


@pytest.mark.parametrize("name", ["", "two words", "straße", "x" * 65, "1st", "answer", "memory_write"])
def test_names_that_cannot_be_are_refused(name: str) -> None:
    def function() -> None: ...

    function.__name__ = name
    with pytest.raises(BadSettings, match="name"):
        tool(function)


@pytest.mark.parametrize("bounds", [{"effect": "twice"}, {"timeout_s": 0}, {"max_result_tokens": 0}])
def test_bounds_that_cannot_be_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(BadSettings):
        tool(**bounds)(_nothing)
    with pytest.raises(BadSettings, match="already"):
        tool(tool(_nothing))


def test_a_tool_can_be_called_as_the_function_that_it_is() -> None:
    @tool(effect="none", timeout_s=2, description="Adds.")
    def plus(a: int, b: int) -> int:
        """Not this."""
        return a + b

    assert plus(1, b=2) == 3
    assert (plus.effect, plus.timeout_s, plus.description, plus.name) == ("none", 2, "Adds.", "plus")
