"""A conversation cut into units that travel together: a message, or an assistant's calls with their results.

Every window is cut between units, so nothing that is sent asks for a call without its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from runtime.memory.estimate import Estimator


class CallLike(Protocol):
    """A tool call that a model asked for."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


class MessageLike(Protocol):
    """What the policies need to know of a message; the product's own messages are of this shape."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str | None: ...

    @property
    def tool_calls(self) -> Sequence[CallLike]: ...

    @property
    def tool_call_id(self) -> str | None: ...


M = TypeVar("M", bound=MessageLike)


class Note(msgspec.Struct, frozen=True):
    """A message that a policy wrote: a summary, a recalled passage, or the answer to a call that has none."""

    role: str
    content: str
    tool_calls: tuple[CallLike, ...] = ()
    tool_call_id: str | None = None


class Unit(NamedTuple, Generic[M]):
    """Messages that may only be sent together; `indices` says which of the given messages they are."""

    messages: tuple[M | Note, ...]
    indices: tuple[int, ...]


NO_RESULT = "No result: the call ended before it gave one."


class _Group(Generic[M]):
    """A unit being gathered; `open` are the ids of calls that have no result yet, in order."""

    def __init__(self, head: M, index: int) -> None:
        self.members: list[M | Note] = [head]
        self.indices = [index]
        self.open = (
            list(dict.fromkeys(call.id for call in head.tool_calls)) if head.role == "assistant" else []
        )
        self.takes_unnamed = head.role == "assistant" and not head.tool_calls

    def take(self, result: M, index: int) -> None:
        self.members.append(result)
        self.indices.append(index)
        if result.tool_call_id in self.open:
            self.open.remove(result.tool_call_id)

    def close(self) -> Unit[M]:
        answers = tuple(Note("tool", NO_RESULT, tool_call_id=id_) for id_ in self.open)
        return Unit((*self.members, *answers), tuple(self.indices))


def units(messages: Sequence[M]) -> tuple[Unit[M], ...]:
    """Cut `messages` into units, in order, mended so that each can be sent.

    A result joins the latest earlier call of its id, wherever it stands; a second result of one call and a
    result without a call are left out; a call without a result gets one that says so. A result without an
    id belongs to the assistant message right before it.
    """
    groups: list[_Group[M]] = []
    waiting: dict[str, _Group[M]] = {}
    for index, message in enumerate(messages):
        if message.role != "tool":
            group = _Group(message, index)
            groups.append(group)
            waiting.update(dict.fromkeys(group.open, group))
        elif message.tool_call_id is not None:
            owner = waiting.pop(message.tool_call_id, None)
            if owner is not None:
                owner.take(message, index)
        elif groups and groups[-1].takes_unnamed:
            groups[-1].take(message, index)
    return tuple(group.close() for group in groups)


def flatten(parts: Sequence[Unit[M]]) -> tuple[M | Note, ...]:
    """The messages of several units, in order."""
    return tuple(message for part in parts for message in part.messages)


def tail(parts: Sequence[Unit[M]], total: int, keep: int) -> tuple[Unit[M], ...]:
    """The units that have a share in the last `keep` of `total` messages; none where `keep` is 0 or less."""
    start = total - max(0, keep)
    return tuple(part for part in parts if max(part.indices) >= start)


def within(messages: Sequence[M], limit: int, count: Estimator) -> tuple[M | Note, ...]:
    """The newest units of `messages` whose contents together count at most `limit` tokens."""
    kept: list[Unit[M]] = []
    used = 0
    for part in reversed(units(messages)):
        used += sum(count(message.content or "") for message in part.messages)
        if used > limit:
            break
        kept.insert(0, part)
    return flatten(kept)


class Split(NamedTuple, Generic[M]):
    """Earlier turns, and the turn that is being answered: the newest user message and all after it."""

    history: tuple[M, ...]
    current: tuple[M, ...]


def split_current(messages: Sequence[M]) -> Split[M]:
    """Set the current turn apart; windows are cut in `history` only, so the newest user message stays."""
    newest = max((i for i, message in enumerate(messages) if message.role == "user"), default=len(messages))
    return Split(tuple(messages[:newest]), tuple(messages[newest:]))


def sendable(messages: Sequence[M]) -> tuple[M | Note, ...]:
    """`messages` as a provider takes them: system content first, calls and results mended into units."""
    mended = flatten(units(messages))
    first = tuple(message for message in mended if message.role == "system")
    return first + tuple(message for message in mended if message.role != "system")
