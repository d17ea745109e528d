"""Filters of numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from runtime.template.arguments import whole_of
from runtime.template.limits import Meter, Wrong
from runtime.template.values import kind_of, number


def absolute(m: Meter, value: Any) -> Any:
    """Without its sign."""
    m.spend()
    if not number(value):
        raise Wrong(f"abs wants a number, not {kind_of(value)}")
    return abs(value)


def rounded(m: Meter, value: Any, digits: Any = 0) -> Any:
    """Rounded to so many decimals; a whole number where there are none."""
    m.spend()
    if isinstance(value, Decimal):
        value = float(value)
    if not number(value) or not math.isfinite(value):
        raise Wrong(f"round wants a number, not {kind_of(value)}")
    places = whole_of(digits, "digits", 0, 15)
    return round(value, places) if places else round(value)


def whole(m: Meter, value: Any, default: Any = 0) -> Any:
    """A whole number made of a text or a number, or the default."""
    m.spend()
    if isinstance(value, Decimal):
        value = float(value)  # int() of Decimal("1e999999999") would fill the memory
    try:
        return int(value) if number(value) or (isinstance(value, str) and len(value) < 300) else default
    except (ValueError, OverflowError):
        return default


def decimal(m: Meter, value: Any, default: Any = 0.0) -> Any:
    """A number made of a text or a number, or the default."""
    m.spend()
    try:
        made = float(value) if number(value) or (isinstance(value, str) and len(value) < 300) else default
    except (ValueError, OverflowError):
        return default
    return made if not isinstance(made, float) or math.isfinite(made) else default
