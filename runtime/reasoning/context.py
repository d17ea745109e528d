"""The context of one model call of an agent: system text, memory, history, this turn; and its bill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.memory_service import ForContext
from runtime.messages import Message, ToolSpec

MAX_LEFT_OUT = 50
"""So many left-out items are listed on a bill, then they are counted (SPEC 4)."""


class Counts(NamedTuple):
    """How tokens are counted: of a text, and of messages."""

    text: Callable[[str], int]
    messages: Callable[[Sequence[Message]], int]


class Bill(NamedTuple):
    """What a context is made of."""

    sections: tuple[ContextSection, ...]
    left_out: tuple[ContextItem, ...]

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)


def system_message(parts: Sequence[str]) -> Message | None:
    """The parts that are not empty as one message, in their order; None where there is none."""
    text = "\n\n".join(part for part in parts if part)
    return Message("system", text) if text else None


def bill_of(
    instructions: str,
    tools: Sequence[ToolSpec],
    injected: ForContext | None,
    extras: Mapping[str, str],
    history: Sequence[Message],
    turn: Sequence[Message],
    counts: Counts,
) -> Bill:
    """Every section in the order sent, with its tokens by our own count. `extras` are further parts of the
    system text by their names: the state, the summary."""
    sections = []
    if instructions.strip():
        sections.append(ContextSection(name="system", tokens=counts.text(instructions.strip())))
    if tools:
        names = tuple(ContextItem(ref=f"tool/{tool.name}", tokens=0) for tool in tools)
        tokens = sum(counts.text(_tool_text(tool)) for tool in tools)
        sections.append(ContextSection(name="tools", tokens=tokens, items=names))
    if injected is not None:
        sections += injected.sections
    sections += [ContextSection(name=name, tokens=counts.text(text)) for name, text in extras.items() if text]
    if history:
        tokens = counts.messages(history)
        sections.append(ContextSection(name="history", tokens=tokens, first=0, count=len(history)))
    tokens = counts.messages(turn)
    sections.append(ContextSection(name="turn", tokens=tokens, first=len(history), count=len(turn)))
    return Bill(tuple(sections), injected.left_out if injected is not None else ())


def _tool_text(tool: ToolSpec) -> str:
    return f"{tool.name} {tool.description} {msgspec.json.encode(tool.parameters).decode()}"
