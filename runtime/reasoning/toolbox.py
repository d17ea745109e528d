"""The tools of one agent: what the model is offered, and how its calls are carried out.

A call that cannot be carried out becomes a tool result that says so; it never ends the run, and no tool is
ever run with arguments that the model did not send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from runtime.errors import FarthingError
from runtime.events import CallError, ToolRequest, ToolResponse
from runtime.journal import Journal
from runtime.memory_service import MemoryService, Where
from runtime.messages import Message, ToolCall, ToolSpec

PREVIEW_CHARS = 80
MAX_ARGUMENT_CHARS = 100_000
"""Longer argument texts are noise; they are not parsed."""


class Tool(Protocol):
    """A tool that an agent may call. `effect` none, idempotent or once."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def effect(self) -> str: ...

    async def call(self, arguments: Mapping[str, Any], where: Where) -> Any:
        """Carry it out and give a JSON value. Raises FarthingError with what went wrong."""
        ...


class MemoryTool(msgspec.Struct, frozen=True):
    """A memory tool as one of the agent's."""

    memory: MemoryService
    spec: ToolSpec
    effect: str = "idempotent"

    async def call(self, arguments: Mapping[str, Any], where: Where) -> Any:
        return await self.memory.call_tool(self.spec.name, arguments, where)


class Outcome(NamedTuple):
    """What a tool call came to."""

    result: Any
    error: CallError | None


class Toolbox:
    """Tools by name, for one agent in one run."""

    def __init__(self, tools: Sequence[Tool], journal: Journal, memory: MemoryService | None) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._journal, self._memory = journal, memory
        self.specs = tuple(tool.spec for tool in tools)

    async def call_all(self, calls: Sequence[ToolCall], where: Where, path: str) -> list[Message]:
        """Carry out the calls of one step at the same time; results in the order of the calls."""
        if len(calls) == 1:
            return [await self._call(calls[0], where, f"{path}/0")]
        work = [self._call(call, where, f"{path}/{i}") for i, call in enumerate(calls)]
        return list(await asyncio.gather(*work))

    async def _call(self, call: ToolCall, where: Where, key: str) -> Message:
        tool = self._tools.get(call.name)
        arguments, wrong = parse_arguments(call.arguments)
        clock, began = self._journal.clock, self._journal.clock.monotonic()
        self._journal.say(
            ToolRequest(
                at=clock.now(), run_id=where.run_id, node_id=where.node_id, step=where.step, call=key,
                tool=call.name, arguments=arguments if wrong is None else call.arguments[:PREVIEW_CHARS],
                effect="none" if tool is None else tool.effect,
            )
        )  # fmt: skip
        await self._journal.flush()
        try:
            outcome = await self._outcome(tool, call, arguments, wrong, where)
        except asyncio.CancelledError:
            cancelled = CallError(code="cancelled", message="The run was cancelled.")
            self._respond(call, key, where, Outcome(None, cancelled), began)
            raise
        self._respond(call, key, where, outcome, began)
        return Message("tool", result_text(outcome), tool_call_id=call.id)

    def _respond(self, call: ToolCall, key: str, where: Where, outcome: Outcome, began: float) -> None:
        clock = self._journal.clock
        self._journal.say(
            ToolResponse(
                at=clock.now(), run_id=where.run_id, node_id=where.node_id, step=where.step, call=key,
                tool=call.name, result=outcome.result, error=outcome.error,
                ms=round((clock.monotonic() - began) * 1000),
            )
        )  # fmt: skip

    async def _outcome(
        self, tool: Tool | None, call: ToolCall, arguments: Any, wrong: str | None, where: Where
    ) -> Outcome:
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return _error(
                "tool.unknown", f"There is no tool {call.name[:PREVIEW_CHARS]!r}; there are: {known}."
            )
        if wrong is not None:
            return _error("tool.bad_arguments", wrong)
        try:
            result = await tool.call(arguments, where)
        except FarthingError as error:
            return _error(error.code, str(error))
        if self._memory is not None and not isinstance(tool, MemoryTool):
            self._memory.tainted = True
        return Outcome(result, None)


def _error(code: str, message: str) -> Outcome:
    return Outcome(None, CallError(code=code, message=message))


def result_text(outcome: Outcome) -> str:
    """What the model reads of a tool call."""
    if outcome.error is not None:
        return msgspec.json.encode({"error": outcome.error.message}).decode()
    if isinstance(outcome.result, str):
        return outcome.result
    return msgspec.json.encode(outcome.result).decode()


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments object of a call, or what is wrong with it in words for the model."""
    preview = text[:PREVIEW_CHARS] + ("…" if len(text) > PREVIEW_CHARS else "")
    if len(text) > MAX_ARGUMENT_CHARS:
        return {}, f"The arguments are too long ({len(text):,} characters). They began: {preview}"
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}, f"The arguments are not valid JSON. They were: {preview!r}"
    if not isinstance(value, dict):
        return {}, f"The arguments must be one JSON object. They were: {preview!r}"
    return value, None


def _refuse(text: str) -> Any:
    raise ValueError(text)


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
