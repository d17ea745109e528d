"""Every event type with its fields and an example, made from the code itself."""

from __future__ import annotations

import inspect
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import inspect as shape

from runtime.cli.streams import coloured, paint, result_json, write
from runtime.events import Base, event_types, splice

_AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_COMMON = ("session_uid", "seq", "at", "run_id", "node_id", "step", "v")


def example(cls: type[Base]) -> Any:
    """A made-up event of a type: its required fields filled, optional ones at their defaults."""
    info = shape.type_info(cls)
    assert isinstance(info, shape.StructType)
    values = {f.name: _sample(f.type, f.name) for f in info.fields if f.required}
    values |= {"run_id": "0198f2aa-0000-7000-8000-000000000001", "node_id": "helper", "step": 1}
    body = msgspec.json.encode(cls(**values))
    return msgspec.json.decode(splice("0198f2aa-0000-7000-8000-000000000000", 7, body))


def _sample(kind: shape.Type, name: str) -> Any:
    if isinstance(kind, shape.UnionType):
        return _sample(kind.types[0], name)
    if isinstance(kind, shape.DateTimeType):
        return _AT
    if isinstance(kind, shape.StructType):
        return kind.cls(**{f.name: _sample(f.type, f.name) for f in kind.fields if f.required})
    samples: dict[type, Any] = {
        shape.StrType: name,
        shape.IntType: 1,
        shape.FloatType: 0.5,
        shape.BoolType: True,
        shape.ListType: [],
        shape.DictType: {},
    }
    return samples.get(type(kind))


def type_text(kind: shape.Type) -> str:
    """A field's type in a word or two, as its JSON is."""
    if isinstance(kind, shape.UnionType):
        return " or ".join(type_text(each) for each in kind.types)
    if isinstance(kind, shape.StructType):
        return kind.cls.__name__
    if isinstance(kind, (shape.ListType, shape.VarTupleType)):
        return f"list of {type_text(kind.item_type)}"
    words: dict[type, str] = {
        shape.StrType: "text",
        shape.IntType: "integer",
        shape.FloatType: "number",
        shape.BoolType: "true or false",
        shape.NoneType: "null",
        shape.DateTimeType: "time",
        shape.DictType: "object",
    }
    return words.get(type(kind), "any JSON")


def description(cls: type[Base]) -> dict[str, Any]:
    """A type as JSON: what it means, its own fields, and an example."""
    info = shape.type_info(cls)
    assert isinstance(info, shape.StructType)
    return {
        "about": " ".join(inspect.cleandoc(cls.__doc__ or "").split()),
        "fields": {f.name: type_text(f.type) for f in info.fields if f.name not in _COMMON},
        "required": [f.name for f in info.fields if f.required and f.name not in _COMMON],
        "example": example(cls),
    }


def print_schema(*, as_json: bool) -> None:
    """All types, for people or as one JSON object."""
    described = {name: description(cls) for name, cls in event_types().items()}
    if as_json:
        result_json({"format": "farthing.events/1", "common": list(_COMMON), "types": described})
        return
    on = coloured(sys.stdout)
    write(f"Every event has: type, {', '.join(_COMMON)}; null where there is none.")
    for name, about in described.items():
        write(f"\n{paint(name, 'bold', on=on)}  {about['about']}")
        for field, text in about["fields"].items():
            write(f"  {field}: {text}" + ("" if field in about["required"] else ", optional"))
        write(paint("  " + msgspec.json.encode(about["example"]).decode(), "dim", on=on))
