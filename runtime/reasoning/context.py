"""The context of one model call of an agent: system text, memory, history, this turn; and its bill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.memory.policies import Buffer
from runtime.memory_service import ForContext
from runtime.messages import Message, ToolSpec

MAX_LEFT_OUT = 50
"""So many left-out items are listed on a bill, then they are counted (SPEC 4)."""


class Bill(NamedTuple):
    """What a context is made of."""

    sections: tuple[ContextSection, ...]
    left_out: tuple[ContextItem, ...]

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)


def history_window(context: Any, history: Sequence[Message]) -> tuple[Message, ...]:
    """The part of the session's history that a context mode sends; calls stay with their results."""
    if context.mode == "none" or not history:
        return ()
    keep = context.keep if context.mode == "buffer" else len(history)
    return tuple(_message(part) for part in Buffer(keep).window(history).messages)


def _message(part: Any) -> Message:
    if isinstance(part, Message):
        return part
    return Message(part.role, part.content, tool_call_id=part.tool_call_id)


def system_message(instructions: str, injected: ForContext | None) -> Message | None:
    """Instructions first, then what memory gives; None where there is neither."""
    parts = [instructions.strip(), injected.text if injected is not None else ""]
    text = "\n\n".join(part for part in parts if part)
    return Message("system", text) if text else None


def bill_of(
    instructions: str,
    tools: Sequence[ToolSpec],
    injected: ForContext | None,
    history: Sequence[Message],
    turn: Sequence[Message],
    count: Callable[[Message | str], int],
) -> Bill:
    """Every section in the order sent, with its tokens by our own count."""
    sections = []
    if instructions.strip():
        sections.append(ContextSection(name="system", tokens=count(instructions.strip())))
    if tools:
        names = tuple(ContextItem(ref=f"tool/{tool.name}", tokens=0) for tool in tools)
        tokens = sum(count(_tool_text(tool)) for tool in tools)
        sections.append(ContextSection(name="tools", tokens=tokens, items=names))
    if injected is not None:
        sections += injected.sections
    if history:
        tokens = sum(count(message) for message in history)
        sections.append(ContextSection(name="history", tokens=tokens, first=0, count=len(history)))
    tokens = sum(count(message) for message in turn)
    sections.append(ContextSection(name="turn", tokens=tokens, first=len(history), count=len(turn)))
    return Bill(tuple(sections), injected.left_out if injected is not None else ())


def _tool_text(tool: ToolSpec) -> str:
    return f"{tool.name} {tool.description} {msgspec.json.encode(tool.parameters).decode()}"
