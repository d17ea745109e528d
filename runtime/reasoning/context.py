"""The context of one model call of an agent: system text, memory, history, this turn; and its bill."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.memory_service import ForContext
from runtime.messages import Message, ToolSpec
from runtime.reasoning.past import Past

MAX_LEFT_OUT = 50
"""So many left-out items are listed on a bill, then they are counted (SPEC 4)."""


class Counts(msgspec.Struct, frozen=True):
    """How tokens are counted: of a text, and of messages."""

    text: Callable[[str], int]
    messages: Callable[[Sequence[Message]], int]


class Parts(msgspec.Struct, frozen=True):
    """What a context is made of. `turn` is this turn as it was said, without what is recalled for it."""

    instructions: str
    tools: Sequence[ToolSpec]
    memory: ForContext
    state: str
    past: Past
    turn: tuple[Message, ...]

    def messages(self, asked: Message) -> tuple[Message, ...]:
        """All of it in the order sent; `asked` stands for the turn's first message."""
        texts = (self.instructions.strip(), self.memory.text, self.state, self.past.summary)
        system = system_message(texts)
        prior = (message for turn in self.past.prior for message in turn.messages)
        before = (*prior, *self.past.messages)
        return (*(() if system is None else (system,)), *before, asked, *self.turn[1:])

    @property
    def recalled(self) -> str:
        """What is sent right before the newest user message."""
        return "\n\n".join(part for part in (self.memory.recall, self.past.recalled_text) if part)


class Bill(msgspec.Struct, frozen=True):
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


def bill_of(parts: Parts, counts: Counts, left_out: Sequence[ContextItem] = ()) -> Bill:
    """Every section in the order sent, with its tokens by our own count."""
    past, found = parts.past, [*_system_sections(parts, counts)]
    if past.prior:
        prior = [message for turn in past.prior for message in turn.messages]
        items = tuple(turn.item for turn in past.prior)
        tokens = counts.messages(prior)
        found.append(ContextSection(name="prior", tokens=tokens, count=len(prior), items=items))
    if past.messages:
        tokens = counts.messages(past.messages)
        found.append(
            ContextSection(name="history", tokens=tokens, first=past.first, count=len(past.messages))
        )
    found += parts.memory.recalled
    if past.recalled:
        items = tuple(
            ContextItem(ref=each.ref, tokens=counts.text(each.text), score=each.score, source="this session")
            for each in past.recalled
        )
        found.append(ContextSection(name="passages", tokens=counts.text(past.recalled_text), items=items))
    first = past.first + len(past.messages)
    tokens = counts.messages(parts.turn)
    found.append(ContextSection(name="turn", tokens=tokens, first=first, count=len(parts.turn)))
    return Bill(_merged(found), (*past.left_out, *parts.memory.left_out, *left_out))


def _system_sections(parts: Parts, counts: Counts) -> list[ContextSection]:
    found = []
    if parts.instructions.strip():
        tokens = counts.text(parts.instructions.strip())
        found.append(ContextSection(name="system", tokens=tokens))
    if parts.tools:
        names = tuple(ContextItem(ref=f"tool/{tool.name}", tokens=0) for tool in parts.tools)
        found.append(ContextSection(name="tools", tokens=tool_tokens(parts.tools, counts), items=names))
    found += parts.memory.sections
    if parts.state:
        found.append(ContextSection(name="state", tokens=counts.text(parts.state)))
    if parts.past.notes:
        items = tuple(ContextItem(ref=ref, tokens=counts.text(text)) for ref, text in parts.past.summaries)
        tokens = counts.text(parts.past.summary)
        found.append(ContextSection(name="summaries", tokens=tokens, items=items))
    return found


def _merged(sections: Sequence[ContextSection]) -> tuple[ContextSection, ...]:
    """Passages of both kinds, episodes and older messages, as one section."""
    passages = [section for section in sections if section.name == "passages"]
    if len(passages) < 2:
        return tuple(sections)
    whole = ContextSection(
        name="passages",
        tokens=sum(section.tokens for section in passages),
        items=tuple(item for section in passages for item in section.items),
    )
    rest = [section for section in sections if section.name != "passages"]
    return (*rest[:-1], whole, rest[-1])


def tool_tokens(tools: Sequence[ToolSpec], counts: Counts) -> int:
    """Tokens of the tools' definitions by our own count."""
    return sum(counts.text(_tool_text(tool)) for tool in tools)


def _tool_text(tool: ToolSpec) -> str:
    return f"{tool.name} {tool.description} {msgspec.json.encode(tool.parameters).decode()}"
