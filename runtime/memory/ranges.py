"""Checks of configured numbers: a value outside its range is refused by name, with the range."""

from __future__ import annotations

from math import inf, isfinite

from runtime.errors import BadConfig


def check(field: str, value: float, least: float, most: float = inf) -> None:
    """Raise BadConfig unless `value` is a finite number from `least` to `most`, both included."""
    if isfinite(value) and least <= value <= most:
        return
    span = f"at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
    raise BadConfig(f"{field} is {value!r}.", remedy=f"Give {field} a number {span}.")
