"""What people write: flow documents, node configs, settings and scripts. Each is declared once, as a frozen
`Shape`, and from that declaration come its reading, every fault of what does not fit, and its JSON Schema.

Reading is msgspec's, and quick; who finds all faults and who makes schemas is loaded where that is asked for.
"""

from __future__ import annotations

from typing import Any, TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _Frozen(msgspec.StructMeta):
    """Every class is frozen and made by keywords without saying so."""

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any], **settings: Any) -> Any:
        return super().__new__(mcls, name, bases, body, **{"frozen": True, "kw_only": True, **settings})


class Shape(msgspec.Struct, metaclass=_Frozen, forbid_unknown_fields=True):
    """Base of what people write: frozen, nothing unknown; the text below a field is its help.

    Bounds are `Annotated[int, Meta(ge=1)]`. What concerns several fields is checked in `__post_init__`, which
    raises `Wrong`.
    """


class Wrong(ValueError):
    """What a `__post_init__` raises: what is wrong, of which field (None: of the whole), and what to do."""

    def __init__(self, text: str, field: str | None = None, remedy: str | None = None) -> None:
        super().__init__(text)
        self.field, self.remedy = field, remedy


class Misfit(Exception):
    """A value does not fit the shape it was read as; `faults` tells how."""

    def __init__(self, shape: type[Any], value: Any) -> None:
        super().__init__(f"no {shape.__name__}")
        self.shape, self.value = shape, value


def read(shape: type[T], value: Any) -> T:
    """A value of JSON or TOML (objects as dicts, fractions as float or Decimal) as a shape. Raises Misfit.

    `shape` is a Shape or, for node types of other makers, a pydantic model.
    """
    try:
        if issubclass(shape, msgspec.Struct):
            return msgspec.convert(value, shape, dec_hook=own_type)
        return shape.model_validate(value)  # type: ignore[attr-defined,no-any-return]  # pydantic's
    except ValueError:  # of both libraries
        raise Misfit(shape, value) from None


def own_type(wanted: type[Any], value: Any) -> Any:
    """A value as one of our own types, which have a class method `read` that raises ValueError."""
    return wanted.read(value)


__all__ = ["Misfit", "Shape", "Wrong", "read"]
