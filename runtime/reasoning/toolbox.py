"""The tools of one agent: what the model is offered, and how its calls are carried out.

A call that cannot be carried out becomes a tool result that says so; it never ends the run, and no tool is
ever run with arguments that the model did not send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from runtime.errors import FarthingError, ToolFailure
from runtime.events import CallError
from runtime.journal import Journal
from runtime.memory_service import MemoryService, Where
from runtime.messages import Message, ToolCall, ToolSpec
from runtime.reasoning.arguments import PREVIEW_CHARS, parse_arguments
from runtime.reasoning.lent import LentTool
from runtime.reasoning.tool_entry import Outcome, ToolEntry
from runtime.tools.results import cut, text_of

MOST_AT_ONCE = 16
"""Calls of one step that are carried out at the same time; more wait for their turn."""


class Tool(Protocol):
    """A tool of Farthing's own that an agent may call. `effect` none, idempotent or once."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def effect(self) -> str: ...

    async def call(self, arguments: Mapping[str, Any], where: Where) -> Any:
        """Carry it out and give a JSON value. Raises FarthingError with what went wrong."""
        ...


class MemoryTool(msgspec.Struct, frozen=True):
    """A memory tool as one of the agent's. Its writes are the store's own transactions."""

    memory: MemoryService
    spec: ToolSpec
    effect: str = "idempotent"

    async def call(self, arguments: Mapping[str, Any], where: Where) -> Any:
        return await self.memory.call_tool(self.spec.name, arguments, where)


class Toolbox:
    """Tools by name, for one agent in one run.

    `clean` replaces every configured secret in a JSON value; `count` gives the tokens of a text. `tainted`:
    something that a lent tool gave has been seen.
    """

    def __init__(
        self,
        tools: Sequence[Tool | LentTool],
        journal: Journal,
        memory: MemoryService | None,
        *,
        clean: Callable[[Any], Any] | None = None,
        count: Callable[[str], int] = len,
    ) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._journal, self._memory = journal, memory
        self._clean, self._count = clean, count
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self.specs = tuple(tool.spec for tool in tools)
        self.tainted = False

    async def call_all(self, calls: Sequence[ToolCall], where: Where, path: str) -> list[Message]:
        """Carry out the calls of one step at the same time; results in the order of the calls."""
        if any(isinstance(self._tools.get(call.name), LentTool) for call in calls):
            self._taint()  # before any of them, so that the order in which they end decides nothing
        if len(calls) == 1:
            return [await self._call(calls[0], where, f"{path}/0")]
        work = [asyncio.ensure_future(self._call(call, where, f"{path}/{i}")) for i, call in enumerate(calls)]
        try:
            return list(await asyncio.gather(*work))
        except BaseException:
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            raise

    async def call_one(self, name: str, arguments: Mapping[str, Any], where: Where, key: str) -> Any:
        """Carry out one call for a node. Raises ToolFailure with what went wrong."""
        if isinstance(self._tools.get(name), LentTool):
            self._taint()
        outcome = await self._carry_out(name, msgspec.json.encode(arguments).decode(), where, key)
        if outcome.error is not None:
            raise ToolFailure(outcome.error.message, code=outcome.error.code, node_id=where.node_id)
        return outcome.result

    def _taint(self) -> None:
        self.tainted = True
        if self._memory is not None:
            self._memory.tainted = True

    async def _call(self, call: ToolCall, where: Where, key: str) -> Message:
        async with self._turns:
            outcome = await self._carry_out(call.name, call.arguments, where, key)
        return Message("tool", result_text(outcome), tool_call_id=call.id)

    async def _carry_out(self, name: str, text: str, where: Where, key: str) -> Outcome:
        tool = self._tools.get(name)
        arguments, wrong = parse_arguments(text)
        if tool is None:
            wrong = self._unknown(name)
        shown = self._cleaned(arguments if wrong is None else text[:PREVIEW_CHARS])
        entry = ToolEntry(self._journal, where, key, name, "none" if tool is None else tool.effect, shown)
        if tool is None or wrong is not None:
            return entry.refused(Outcome(None, wrong))
        if isinstance(tool, LentTool):
            lent = tool
            return await entry.carried_out(
                lambda: self._lent(lent, arguments, where, key), stored=lent.effect != "none"
            )
        own = tool
        return await entry.carried_out(lambda: self._own(own, arguments, where), own=True)

    async def _own(self, tool: Tool, arguments: Mapping[str, Any], where: Where) -> Outcome:
        try:
            return Outcome(await tool.call(arguments, where), None)
        except FarthingError as error:
            return Outcome(None, CallError(code=error.code, message=str(error)))

    async def _lent(self, tool: LentTool, arguments: Mapping[str, Any], where: Where, key: str) -> Outcome:
        """What a lent tool gives, without secrets and cut to its bound."""
        try:
            result = self._cleaned(await tool.call(arguments, where, key))
        except FarthingError as error:
            return Outcome(None, CallError(code=error.code, message=self._cleaned(str(error))))
        short = cut(result, tool.attached.max_result_tokens, self._count)
        return Outcome(short.value, None, short.truncated)

    def _cleaned(self, value: Any) -> Any:
        return value if self._clean is None else self._clean(value)

    def _unknown(self, name: str) -> CallError:
        known = ", ".join(sorted(self._tools)) or "none"
        message = f"There is no tool {name[:PREVIEW_CHARS]!r}; there are: {known}."
        return CallError(code="tool.unknown", message=message)


def result_text(outcome: Outcome) -> str:
    """What the model reads of a tool call."""
    if outcome.error is not None:
        return msgspec.json.encode({"error": outcome.error.message}).decode()
    return text_of(outcome.result)


def distinct_ids(message: Message) -> Message:
    """The message with an id of its own for every call, so that each can be answered exactly once."""
    seen: set[str] = set()
    calls = []
    for number, call in enumerate(message.tool_calls):
        id_ = call.id or f"call_{number}"
        while id_ in seen:
            id_ += "_"
        seen.add(id_)
        calls.append(call if id_ == call.id else ToolCall(id_, call.name, call.arguments))
    if all(new is old for new, old in zip(calls, message.tool_calls, strict=True)):
        return message
    return msgspec.structs.replace(message, tool_calls=tuple(calls))
