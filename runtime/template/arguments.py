"""What filters ask of their values and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.template.limits import Wrong
from runtime.template.values import kind_of


def text_of(value: Any, name: str) -> str:
    """The value as text, or Wrong."""
    if isinstance(value, str):
        return value
    raise Wrong(f"the filter {name} wants text, not {kind_of(value)}", "Write it with `|string` before.")


def whole_of(value: Any, name: str, low: int, high: int) -> int:
    """The argument as a whole number between bounds, or Wrong."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise Wrong(f"{name} must be a whole number from {low} to {high:,}")


def object_of(value: Any) -> Mapping[Any, Any]:
    """The value as an object, or Wrong."""
    if isinstance(value, Mapping):
        return value
    raise Wrong(f"{kind_of(value)} is no object")
