"""Every way in which a value does not fit a shape, and where."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import inspect as kinds

from runtime.shape import Misfit, Wrong, own_type
from runtime.shape.choices import written_order
from runtime.shape.words import length_words, plain

Kind = Literal["unknown", "missing", "belongs", "choice", "small", "large", "length", "pattern", "other"]
Place = tuple[str | int, ...]


class Fault(NamedTuple):
    """Something wrong at a place. `words` says what belongs there and never repeats the value, which may be a
    secret: `belongs`: `a text`; `choice`: the choices; `small`, `large`: the bound; `pattern`: the pattern;
    `unknown`: the fields that there are, where they are known; `length`, `other`: a sentence. `remedy`: what
    to do, where whoever refused it said so."""

    kind: Kind
    place: Place
    words: str
    value: Any = None
    remedy: str | None = None


def faults(misfit: Misfit) -> list[Fault]:
    """All of them, in the order of the shape's fields; at least one."""
    if not issubclass(misfit.shape, msgspec.Struct):
        from runtime.shape.of_pydantic import model_faults

        return model_faults(misfit)
    found = list(_in_any(kinds.type_info(misfit.shape), misfit.value, ()))
    written = {_choices(sorted(each)): _choices(each) for each in written_order(misfit.shape).values()}
    found = [fault._replace(words=written.get(fault.words, fault.words)) for fault in found]
    return found or [Fault("other", (), "it cannot be read", misfit.value)]


def told(misfit: Misfit) -> list[str]:
    """Each fault as a line with its JSON path, without the value."""
    return [f"{json_path(fault.place)}: {_line(fault)}" for fault in faults(misfit)]


def json_path(place: Place, base: str = "$") -> str:
    """`$.nodes[0].id`."""
    return base + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)


def _line(fault: Fault) -> str:
    match fault.kind:
        case "unknown":
            return "there is no such field"
        case "missing":
            return "is missing"
        case "belongs":
            return f"{fault.words} belongs here"
        case "choice":
            return f"it is none of {fault.words}"
        case "small" | "large":
            return f"it is too {fault.kind}: {fault.words}"
        case "pattern":
            return f"it does not fit the pattern {fault.words}"
    return fault.words


def _in_any(wanted: kinds.Type, value: Any, place: Place) -> Iterator[Fault]:
    if isinstance(wanted, kinds.Metadata):
        wanted = wanted.type
    check = _CHECKS.get(type(wanted))
    if check is not None:
        yield from check(wanted, value, place)


def _in_struct(wanted: kinds.StructType, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("belongs", place, "an object", value)
        return
    fields = {field.encode_name: field for field in wanted.fields}
    bad = False
    for name, field in fields.items():
        if name in value:
            for fault in _in_any(field.type, value[name], (*place, name)):
                bad = True
                yield fault
        elif field.required:
            bad = True
            yield Fault("missing", (*place, name), "")
    for name in value:
        if name not in fields and name != wanted.tag_field:
            bad = True
            yield Fault("unknown", (*place, str(name)), ", ".join(fields), value[name])
    if not bad:
        yield from _of_the_whole(wanted, value, place)


def _of_the_whole(wanted: kinds.StructType, value: Any, place: Place) -> Iterator[Fault]:
    """What `__post_init__` says, once each field fits alone: of one field, and then of others as if that one
    had not been written."""
    rest = dict(value)
    while (wrong := _wrong_in(wanted, rest)) is not None:
        field = wrong.field
        if field is None or field not in rest:
            if len(rest) == len(value):
                at = place if field is None else (*place, field)
                yield Fault("other", at, str(wrong), remedy=wrong.remedy)
            return
        yield Fault("other", (*place, field), str(wrong), rest.pop(field), wrong.remedy)


def _wrong_in(wanted: kinds.StructType, value: Any) -> Wrong | None:
    try:
        msgspec.convert(value, wanted.cls, dec_hook=own_type)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        return cause if isinstance(cause, Wrong) else Wrong(str(error).partition(" - at `$")[0])
    return None


def _in_union(wanted: kinds.UnionType, value: Any, place: Place) -> Iterator[Fault]:
    parts = [part.type if isinstance(part, kinds.Metadata) else part for part in wanted.types]
    if value is None and any(isinstance(part, kinds.NoneType) for part in parts):
        return
    parts = [part for part in parts if not isinstance(part, kinds.NoneType)]
    structs = [part for part in parts if isinstance(part, kinds.StructType)]
    if len(structs) > 1 and isinstance(value, dict):
        yield from _in_tagged(structs, value, place)
        return
    likely = [part for part in parts if _is_like(part, value)]
    if len(parts) == 1 or len(likely) == 1:
        yield from _in_any((likely or parts)[0], value, place)
    elif not likely:
        yield Fault("belongs", place, " or ".join(dict.fromkeys(_name(part) for part in parts)), value)


def _in_tagged(structs: Sequence[kinds.StructType], value: dict[str, Any], place: Place) -> Iterator[Fault]:
    field, tags = str(structs[0].tag_field), {part.tag: part for part in structs}
    if field not in value:
        yield Fault("missing", (*place, field), "")
    elif isinstance(value[field], str) and value[field] in tags:
        yield from _in_struct(tags[value[field]], value, place)
    else:
        yield Fault("choice", (*place, field), _choices(tags), value[field])


def _in_list(wanted: Any, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, (list, tuple)):
        yield Fault("belongs", place, "a list", value)
        return
    yield from _length(wanted, value, place, "item")
    for i, item in enumerate(value):
        yield from _in_any(wanted.item_type, item, (*place, i))


def _in_dict(wanted: kinds.DictType, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("belongs", place, "an object", value)
        return
    for key, item in value.items():
        for fault in _in_any(wanted.key_type, key, (*place, str(key))):
            yield fault._replace(
                words=f"the name {fault.words}" if fault.kind in ("length", "other") else fault.words
            )
        yield from _in_any(wanted.value_type, item, (*place, str(key)))


def _in_text(wanted: kinds.StrType, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault("belongs", place, "a text", value)
        return
    yield from _length(wanted, value, place, "character")
    if wanted.pattern is not None and re.search(wanted.pattern, value) is None:
        yield Fault("pattern", place, wanted.pattern, value)


def _length(wanted: Any, value: Any, place: Place, unit: str) -> Iterator[Fault]:
    least, most = wanted.min_length, wanted.max_length
    if (least is not None and len(value) < least) or (most is not None and len(value) > most):
        yield Fault("length", place, length_words(len(value), least, most, unit), value)


def _in_whole(wanted: kinds.IntType, value: Any, place: Place) -> Iterator[Fault]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield Fault("belongs", place, "a whole number", value)
    else:
        yield from _bounds(wanted, value, place)


def _in_number(wanted: kinds.FloatType, value: Any, place: Place) -> Iterator[Fault]:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not _is_finite(value):
        yield Fault("belongs", place, "a number", value)
    else:
        yield from _bounds(wanted, value, place)


def _is_finite(value: float | Decimal) -> bool:
    """Whole numbers are, however long: one beyond the floats is for the bounds to refuse."""
    return isinstance(value, int) or math.isfinite(value)


def _in_decimal(_wanted: kinds.DecimalType, value: Any, place: Place) -> Iterator[Fault]:
    try:
        msgspec.convert(value, Decimal)
    except msgspec.ValidationError:
        yield Fault("belongs", place, "a number", value)


def _bounds(wanted: Any, value: Any, place: Place) -> Iterator[Fault]:
    if wanted.ge is not None and value < wanted.ge:
        yield Fault("small", place, f"at least {plain(wanted.ge)}", value)
    elif wanted.gt is not None and value <= wanted.gt:
        yield Fault("small", place, f"more than {plain(wanted.gt)}", value)
    elif wanted.le is not None and value > wanted.le:
        yield Fault("large", place, f"at most {plain(wanted.le)}", value)
    elif wanted.lt is not None and value >= wanted.lt:
        yield Fault("large", place, f"less than {plain(wanted.lt)}", value)


def _in_truth(_wanted: kinds.BoolType, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, bool):
        yield Fault("belongs", place, "true or false", value)


def _in_choice(wanted: kinds.LiteralType, value: Any, place: Place) -> Iterator[Fault]:
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value not in wanted.values:
        yield Fault("choice", place, _choices(wanted.values), value)


def _in_own(wanted: kinds.CustomType, value: Any, place: Place) -> Iterator[Fault]:
    try:
        own_type(wanted.cls, value)
    except ValueError as error:
        yield Fault("other", place, str(error), value)


def _choices(values: Any) -> str:
    return ", ".join(repr(value) for value in values)


def _is_like(part: kinds.Type, value: Any) -> bool:
    """Whether a value is of the kind of a member of a union, fit or not."""
    if isinstance(part, kinds.AnyType):
        return True
    if isinstance(value, bool):
        return isinstance(part, kinds.BoolType)
    return isinstance(value, _LIKE.get(type(part), object))


def _name(part: kinds.Type) -> str:
    return _NAMES.get(type(part), "something else")


_CHECKS: dict[type[Any], Callable[[Any, Any, Place], Iterator[Fault]]] = {
    kinds.StructType: _in_struct,
    kinds.UnionType: _in_union,
    kinds.ListType: _in_list,
    kinds.VarTupleType: _in_list,
    kinds.DictType: _in_dict,
    kinds.StrType: _in_text,
    kinds.IntType: _in_whole,
    kinds.FloatType: _in_number,
    kinds.DecimalType: _in_decimal,
    kinds.BoolType: _in_truth,
    kinds.LiteralType: _in_choice,
    kinds.CustomType: _in_own,
}
_LIKE: dict[type[Any], Any] = {
    kinds.StructType: dict,
    kinds.DictType: dict,
    kinds.ListType: (list, tuple),
    kinds.VarTupleType: (list, tuple),
    kinds.StrType: str,
    kinds.LiteralType: str,
    kinds.IntType: int,
    kinds.FloatType: (int, float, Decimal),
    kinds.DecimalType: (int, float, Decimal, str),
    kinds.BoolType: bool,
}
_NAMES: dict[type[Any], str] = {
    kinds.StructType: "an object",
    kinds.DictType: "an object",
    kinds.ListType: "a list",
    kinds.VarTupleType: "a list",
    kinds.StrType: "a text",
    kinds.LiteralType: "a text",
    kinds.IntType: "a whole number",
    kinds.FloatType: "a number",
    kinds.DecimalType: "a number",
    kinds.BoolType: "true or false",
}
