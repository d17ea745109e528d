"""Types of fields that JSON does not have: each reads a value of JSON or TOML, or says what is wrong."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Self

from runtime.errors import BadConfig
from runtime.usage import parse_money


def percent(value: object) -> Decimal:
    """A percentage from 0 to 100, from a number or a text. Raises ValueError."""
    try:
        number = Decimal(str(value)) if isinstance(value, (int, float, Decimal, str)) else None
    except InvalidOperation:
        number = None
    if isinstance(value, bool) or number is None or not number.is_finite():
        raise ValueError("a number from 0 to 100 belongs here")
    if not 0 <= number <= 100:
        far = "small: at least 0" if number < 0 else "large: at most 100"
        raise ValueError(f"{number:.9g} is too {far}")
    return number


class Dollars(Decimal):
    """An amount in dollars, exact to nano-dollars."""

    @classmethod
    def read(cls, value: object) -> Self:
        """Raises ValueError."""
        _nanos(value, "cost")
        return cls(str(value).strip())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """JSON Schema of what is read."""
        return {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}


class Nanos(int):
    """Nano-dollars, written as dollars."""

    @classmethod
    def read(cls, value: object) -> Self:
        """Raises ValueError."""
        return cls(_nanos(value, "the amount"))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """JSON Schema of what is read."""
        return Dollars.json_schema()


def _nanos(value: object, field: str) -> int:
    try:
        return parse_money(value, field=field)
    except BadConfig as error:
        raise ValueError(error.message.rstrip(".")) from None
