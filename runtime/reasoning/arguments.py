"""Reading the arguments of a tool call: what is broken is told to the model in words, never guessed."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from runtime.events import CallError
from runtime.messages import Message, ToolCall

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


def without_broken(message: Message) -> Message:
    """The message as it goes back to the model: arguments that cannot be read are an empty object there.

    Many endpoints refuse a history whose arguments are no JSON object, and noise would be paid for in every
    later call; the call's result says what was wrong with them.
    """
    calls = tuple(
        call if parse_arguments(call.arguments)[1] is None else ToolCall(call.id, call.name, "{}")
        for call in message.tool_calls
    )
    if all(new is old for new, old in zip(calls, message.tool_calls, strict=True)):
        return message
    extra = message.extra
    if "tool_calls" in extra:
        replayed = [
            {**kept, "function": {"name": call.name, "arguments": call.arguments}}
            for kept, call in zip(extra["tool_calls"], calls, strict=True)
        ]
        extra = {**extra, "tool_calls": replayed}
    return msgspec.structs.replace(message, tool_calls=calls, extra=extra)


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
