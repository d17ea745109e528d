"""What tools gave in the turn that is being answered, and what stands for it where the window is full."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from runtime.memory.clip import clip
from runtime.messages import Message

RESULT = "Result of "
"""Begins a result that is given as a user's message."""
LEFT_OUT = "[left out to stay within the model's window; it had {number:,} characters]"
CUT = " …[cut to stay within the model's window; it had {number:,} characters]"


class Result(msgspec.Struct, frozen=True):
    """A result: its place in the turn, its reference, and the tool."""

    place: int
    ref: str
    tool: str


def results_of(turn: Sequence[Message]) -> list[Result]:
    """The results in a turn, oldest first."""
    names = {call.id: call.name for message in turn for call in message.tool_calls}
    found = []
    for place, message in enumerate(turn):
        text = message.content or ""
        if message.role == "tool":
            call = message.tool_call_id or str(place)
            found.append(Result(place, f"result/{call}", names.get(call, "")))
        elif place and message.role == "user" and text.startswith(RESULT):
            found.append(Result(place, f"result/{place}", text.removeprefix(RESULT).partition(":")[0]))
    return found


def newest(results: Sequence[Result], turn: Sequence[Message]) -> list[Result]:
    """Those of them that came last, together: nothing that the model said stands between them."""
    if not results:
        return []
    before = turn[: results[-1].place]
    said = max((place for place, message in enumerate(before) if message.role == "assistant"), default=0)
    return [result for result in results if result.place > said]


def note_for(message: Message) -> Message:
    """What is sent in place of a result; one and the same for each message."""
    known: Message | None = message.__dict__.get("left_out")
    if known is None:
        text = message.content or ""
        head = text.partition(":")[0] + ": " if message.role == "user" else ""
        known = _like(message, head + LEFT_OUT.format(number=len(text)))
        message.__dict__["left_out"] = known
    return known


def cut(message: Message, fits: Callable[[Message], bool]) -> Message:
    """The result's longest beginning that fits with a marker; the marker alone where none does."""
    text = message.content or ""
    marker = CUT.format(number=len(text))
    found = clip(text, lambda some: fits(_like(message, some)), marker)
    return note_for(message) if found is None else _like(message, found)


def _like(message: Message, text: str) -> Message:
    return Message(message.role, text, tool_call_id=message.tool_call_id)
