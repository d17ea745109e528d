"""The arguments of a function as JSON Schema, and reading what a model sent as those arguments."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from runtime.errors import BadSettings, InputError
from runtime.tools.docstring import argument_texts

SHOWN = 5
"""How many problems of one call are told."""


class _Arguments(BaseModel):
    model_config = ConfigDict(
        extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=False, populate_by_name=False
    )


class _Plain(GenerateJsonSchema):
    """JSON Schema without titles, which only repeat names, and without warnings about default values."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def emit_warning(self, kind: Any, detail: str) -> None:
        """A default that JSON cannot hold is simply not told."""


@dataclass(frozen=True, slots=True)
class Signature:
    """`parameters` is the JSON Schema of the arguments; `context` names the parameter that Farthing fills."""

    name: str
    parameters: dict[str, Any]
    model: type[BaseModel]
    fields: dict[str, str]
    context: str | None

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The values by argument name, as the annotations want them; those not given are left out.

        Raises InputError in words that a model can act on.
        """
        try:
            read = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise InputError(self._words(error), code="tool.bad_arguments") from None
        return {name: getattr(read, own) for own, name in self.fields.items() if own in read.model_fields_set}

    def _words(self, error: ValidationError) -> str:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        said = []
        for each in found[:SHOWN]:
            where = ".".join(str(part) for part in each["loc"])
            if each["type"] == "missing":
                said.append(f"`{where}` is missing")
            elif each["type"] == "extra_forbidden":
                said.append(f"there is no argument `{where}`")
            else:
                message = each["msg"].removeprefix("Value error, ").replace("Input should", "should")
                said.append(f"`{where}` {message[:1].lower()}{message[1:]}")
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        takes = ", ".join(f"`{name}`" for name in self.fields.values()) or "no arguments"
        return f"{self.name} was not called: {'; '.join(said)}{more}. It takes {takes}."


def read_signature(function: Callable[..., Any], name: str, context_type: type) -> Signature:
    """The arguments of a function. A parameter of `context_type` is no argument. Raises BadSettings for
    arguments that JSON cannot name or hold."""
    hints = _hints(function, name)
    texts = argument_texts(function.__doc__)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context: str | None = None
    for parameter in _parameters(function, name):
        hint = hints.get(parameter.name, Any)
        if hint is context_type:
            context = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        own = f"argument_{len(fields)}"  # a name of its own: an argument may be called `json` or `copy`
        fields[own] = (hint, _field(default, parameter.name, texts.get(parameter.name)))
        names[own] = parameter.name
    try:
        model = create_model(name, __base__=_Arguments, **fields)
        parameters = model.model_json_schema(by_alias=True, schema_generator=_Plain)
    except (PydanticUserError, TypeError, ValueError, RecursionError) as error:
        first = str(error).strip().partition("\n")[0]
        raise _bad(name, f"has an argument that JSON cannot hold ({first[:200]})") from None
    return Signature(name, _without_titles(parameters), model, names, context)


def _field(default: Any, name: str, text: str | None) -> Any:
    """What the annotation says of itself goes before the docstring."""
    return Field(default, alias=name) if text is None else Field(default, alias=name, description=text)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else getattr(function, "func", type(function).__call__)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception as error:  # annotations are evaluated, which may fail in any way
        raise _bad(name, f"has an annotation that cannot be read ({type(error).__name__}: {error})") from None


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise _bad(name, "does not tell its arguments") from None
    for parameter in found:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise _bad(name, f"takes `{parameter}`, which a model cannot name")
    return found


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the titles and descriptions of models' own; those of arguments are kept."""
    plain = {key: value for key, value in schema.items() if key != "title"}
    for part in plain.get("$defs", {}).values():
        part.pop("title", None)
    plain.setdefault("properties", {})
    return plain


def _bad(name: str, why: str) -> BadSettings:
    return BadSettings(
        f"The function {name} cannot be a tool: it {why}.",
        code="tool.bad_function",
        remedy="Give it named arguments with types that JSON can hold, or wrap it in one that has.",
    )
