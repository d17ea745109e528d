"""The scripted model: plays a script, or rehearses by rule. It is no language model and its cost is play."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UnsetType

from runtime.clock import Clock
from runtime.errors import ModelFailure, ToolFailure
from runtime.messages import Message, OnDelta, Reply, Request
from runtime.models.answer import tool_calls_of
from runtime.models.characters import text_tokens
from runtime.models.counter import CALL_TOKENS, HeuristicCounter
from runtime.models.failures import failure
from runtime.models.prices import DEMO_PRICE, Quote, cost_of
from runtime.models.rehearsal import newest, rehearse
from runtime.providers import BUILT_IN, SCRIPTED
from runtime.usage import Usage, nanos_up

if TYPE_CHECKING:
    from runtime.models.script import Script, ScriptedReply

KEPT_REQUESTS = 1_000
"""How many of the last requests are kept to be looked at."""
PROVIDER = next(provider for provider in BUILT_IN if provider.name == SCRIPTED)
DEMO = Quote(source="script", version="demo", price=DEMO_PRICE)


class ScriptedModel:
    """Plays each reply of a script once, the first that fits, a node's own before those of `*`; then, and
    without a script, rehearses by rule, unless `strict`.

    One run has one such model. `calls` counts its calls, `requests` holds the latest ones.
    """

    def __init__(self, script: Script | None = None, *, clock: Clock, strict: bool = False) -> None:
        self._replies: dict[str, list[ScriptedReply]] = {}
        if script is not None:
            self._replies = {node: list(replies) for node, replies in script.replies.items()}
        self._results = {} if script is None else {t: deque(all_) for t, all_ in script.tool_results.items()}
        self._clock = clock
        self._strict = strict
        self._counter = HeuristicCounter()
        self._requests: deque[Request] = deque(maxlen=KEPT_REQUESTS)
        self.calls = 0

    @classmethod
    def from_file(cls, path: Path, clock: Clock, *, strict: bool = False) -> ScriptedModel:
        """Play a file. Raises BadInput where it is no script."""
        from runtime.models.script import load_script

        return cls(load_script(path), clock=clock, strict=strict)

    @classmethod
    def playing(
        cls,
        replies: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        clock: Clock,
        strict: bool = True,
        tool_results: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> ScriptedModel:
        """Play replies given as in a script file, by node id, and results by tool. Raises BadInput for one
        that is none."""
        from runtime.models.script import FORMAT, parse_script

        plain = {node: list(items) for node, items in replies.items()}
        results = {tool: list(items) for tool, items in (tool_results or {}).items()}
        script = parse_script({"format": FORMAT, "replies": plain, "tool_results": results})
        return cls(script, clock=clock, strict=strict)

    @property
    def requests(self) -> tuple[Request, ...]:
        """The latest requests, oldest first."""
        return tuple(self._requests)

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """Answer from the script, else by rule. Raises the ModelFailure that the script asks for, or, when
        strict, one that says what is missing."""
        self.calls += 1
        self._requests.append(request)
        entry = self._take(request)
        if entry is None:
            return await self._rehearse(request, on_delta)
        if entry.error is not None:
            raise await self._fail(entry, request, on_delta)
        text = entry.text or ""
        reply = self._reply(request, text, [_as_sent(call) for call in entry.tool_calls], entry)
        await self._speak(text, entry.latency_s, on_delta)
        return reply

    def tool_result(self, tool: str) -> Any:
        """What the script says that this tool gives next. Raises LookupError where it has nothing left to
        say, ToolFailure where it says that the tool fails."""
        said = self._results.get(tool)
        if not said:
            raise LookupError(tool)
        next_ = said.popleft()
        if next_.error is not None:
            raise ToolFailure(next_.error)
        return next_.result

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _take(self, request: Request) -> ScriptedReply | None:
        node = str(request.hints.get("node_id"))
        purpose = str(request.hints.get("purpose", "main"))
        asked = newest(request.messages)
        for replies in (self._replies.get(node, []), self._replies.get("*", [])):
            for index, reply in enumerate(replies):
                if reply.fits(purpose, asked):
                    return replies.pop(index)
        if not self._strict:
            return None
        what = f"the script has no {purpose} reply left for node {node!r}, which was asked: {asked[:200]!r}"
        remedy = "Add a reply that fits to the script."
        raise failure("bad_request", PROVIDER, what, remedy=remedy)

    async def _rehearse(self, request: Request, on_delta: OnDelta | None) -> Reply:
        said = rehearse(request)
        calls = [
            {"function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()}}
            for name, arguments in said.calls
        ]
        reply = self._reply(request, said.text, calls, None)
        await self._speak(said.text, 0.0, on_delta)
        return reply

    async def _fail(self, entry: ScriptedReply, request: Request, on_delta: OnDelta | None) -> ModelFailure:
        error = entry.error
        assert error is not None
        await self._speak(error.text or "", entry.latency_s, on_delta)
        partial = None
        if error.text or entry.usage is not None:
            partial = self._reply(request, error.text or "", [], entry)
        return failure(
            error.kind,
            PROVIDER,
            error.message,
            retry_after=error.retry_after,
            maybe_billed=error.maybe_billed,
            partial=partial,
        )

    def _reply(
        self, request: Request, text: str, calls: Sequence[dict[str, Any]], entry: ScriptedReply | None
    ) -> Reply:
        tool_calls = tool_calls_of(calls, self._clock.new_id)
        own = self._own_count(request, text, calls)
        usage = _reported(entry, own)
        cost = cost_of(usage or own, DEMO).cost
        if entry is not None and not isinstance(entry.cost, UnsetType):
            cost = None if entry.cost is None else nanos_up(entry.cost)
        finish = (entry.finish if entry is not None else None) or ("tool_calls" if tool_calls else "stop")
        message = Message("assistant", text or None, tool_calls)
        return Reply(message=message, finish=finish, usage=usage, cost=cost, model=request.model)

    def _own_count(self, request: Request, text: str, calls: Sequence[dict[str, Any]]) -> Usage:
        output = text_tokens(text)
        for call in calls:
            function = call["function"]
            output += CALL_TOKENS + text_tokens(function["name"]) + text_tokens(function["arguments"])
        return Usage(input=self._counter.count(SCRIPTED, request), output=output)

    async def _speak(self, text: str, latency_s: float, on_delta: OnDelta | None) -> None:
        """Hand the text on word by word, evenly over the latency."""
        words = [word for word in text.replace(" ", " \0").split("\0") if word] if on_delta else []
        pause = latency_s / (len(words) or 1)
        if not words and pause:
            await self._clock.sleep(pause)
        for word in words:
            if pause:
                await self._clock.sleep(pause)
            if on_delta is not None:
                on_delta(word)


def _reported(entry: ScriptedReply | None, own: Usage) -> Usage | None:
    """What it reports to have used: what the script says; of a failure nothing unless it does."""
    if entry is None or (isinstance(entry.usage, UnsetType) and entry.error is None):
        return own
    said = entry.usage
    return None if isinstance(said, UnsetType) or said is None else Usage(**msgspec.structs.asdict(said))


def _as_sent(call: Any) -> dict[str, Any]:
    arguments = call.arguments
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments}}
