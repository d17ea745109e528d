"""Reading the arguments of a tool call: what is broken is told to the model in words, never guessed."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from runtime.events import CallError

PREVIEW_CHARS = 80
MAX_ARGUMENT_CHARS = 100_000
"""Longer argument texts are noise; they are not parsed."""


def parse_arguments(text: str) -> tuple[dict[str, Any], CallError | None]:
    """The arguments object of a call, or what is wrong with it in words for the model."""
    preview = text[:PREVIEW_CHARS] + ("…" if len(text) > PREVIEW_CHARS else "")
    if len(text) > MAX_ARGUMENT_CHARS:
        return {}, _bad(f"The arguments are too long ({len(text):,} characters). They began: {preview}")
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if "\\u" in text:
            msgspec.json.encode(value)  # fails for half a character, which no event could hold
    except (ValueError, RecursionError):
        return {}, _bad(f"The arguments are not valid JSON. They were: {preview!r}")
    if not isinstance(value, dict):
        return {}, _bad(f"The arguments must be one JSON object. They were: {preview!r}")
    return value, None


def _bad(message: str) -> CallError:
    return CallError(code="tool.bad_arguments", message=message)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    """A number such as 1e999 is infinite to a machine, and no event could hold it."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number
