"""What a function gave, as JSON: made plain, and cut where it is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from runtime.errors import ToolFailure

CHARACTERS_A_TOKEN = 16
"""No tokenizer makes fewer tokens of a text than one for so many characters; what is beyond is not even
counted."""
BYTES_A_CHARACTER = 4
"""At most; and a token has at least one byte, so a text that is short enough need not be counted."""
CLOSE = 0.98
"""How close to the limit a cut comes before it is good enough."""


class Cut(NamedTuple):
    """A result as the model is told it."""

    value: Any
    truncated: bool


def plain(name: str, value: Any) -> Any:
    """A function's result as a JSON value. NaN and infinities become texts, since JSON has no word for them.

    Raises ToolFailure where JSON cannot hold it.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Iterator):
        raise _bad(name, value, "gave something to iterate over")
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return msgspec.json.decode(to_json(value, inf_nan_mode="strings"))
    except (PydanticSerializationError, ValueError, TypeError, RecursionError, UnicodeError) as error:
        first = str(error).partition("\n")[0][:120]
        raise _bad(name, value, f"gave what JSON cannot hold ({first})") from None


def _bad(name: str, value: Any, why: str) -> ToolFailure:
    return ToolFailure(f"{name} was called, but {why}: a {type(value).__name__}.", code="tool.bad_result")


def text_of(value: Any) -> str:
    """What a model reads of a value: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def cut(value: Any, limit: int, count: Callable[[str], int]) -> Cut:
    """The value, or so much of its text as has `limit` tokens, with a mark that says how much is missing."""
    text = text_of(value)
    if len(text) * BYTES_A_CHARACTER <= limit:
        return Cut(value, truncated=False)
    head = text[: limit * CHARACTERS_A_TOKEN]
    if len(head) == len(text) and count(text) <= limit:
        return Cut(value, truncated=False)
    low, high = 0, len(head)
    while low < high * CLOSE and high - low > 1:
        middle = (low + high) // 2
        tokens = count(head[:middle])
        if tokens <= limit:
            low = middle
            if tokens >= limit * CLOSE:
                break
        else:
            high = middle
    left = len(text) - low
    return Cut(f"{text[:low]}\n[cut: {left:,} of {len(text):,} characters are left out]", truncated=True)
