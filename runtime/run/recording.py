"""Recording a run as a script, so that it can be played again without its model.

What is kept is what the models answered: text, tool calls, usage, cost, and failures; and what tools gave
that change something. Not kept are how long it took, and fields of a provider's own, such as signatures of
thoughts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.calls import Clients
from runtime.errors import BadInput, ModelFailure
from runtime.events import AgentUsage, Entry, ToolRequest, ToolResponse
from runtime.messages import LanguageModel, OnDelta, Reply, Request
from runtime.providers import Provider
from runtime.secrets.redact import Redactor
from runtime.usage import Usage, decimal_text

FORMAT = "farthing.script/1"
ENDING = ".script.json"
OUR_TOOLS = "memory_"
"""Tools that begin so run in a rehearsal too."""
NOT_CARRIED_OUT = frozenset({"tool.unknown", "tool.bad_arguments"})
"""Codes of tool calls that came to nothing before the tool was asked."""


class Heard(NamedTuple):
    """One attempt to call a model, and what came of it: null where it was broken off from our side."""

    model: str
    purpose: str
    came: Reply | ModelFailure | None


class Recording:
    """What the models of one run said, for a script file that does not exist yet.

    The file is made at once, empty, so that a name that cannot be had is told before anything is spent.
    """

    def __init__(self, path: Path) -> None:
        """Raises BadInput where the file exists, has another ending or cannot be made."""
        if not path.name.endswith(ENDING) or path.name == ENDING:
            raise BadInput(
                f"A recorded run is a script, and {str(path)!r} does not end in {ENDING}.",
                code="script.bad_name",
                remedy=f"Name it after the flow: FLOW{ENDING} beside FLOW.json is what a rehearsal plays.",
            )
        try:
            path.open("x").close()
        except FileExistsError:
            raise BadInput(
                f"{path} is there already, and a recording replaces nothing.",
                code="script.exists",
                remedy="Give another name, or move the old one away.",
            ) from None
        except OSError as error:
            raise BadInput(
                f"{path} cannot be written: {error.strerror}.",
                code="script.unwritable",
                remedy="Name a file in a folder that is there and that you can write in.",
            ) from None
        self.path = path
        self._heard: dict[str, list[Heard]] = {}
        self._said: dict[str, list[AgentUsage]] = {}
        self._asked: list[ToolRequest] = []
        self._gave: dict[str, ToolResponse] = {}

    def over(self, clients: Clients) -> Clients:
        """Clients that are the same, but heard."""
        return _HeardClients(clients, self)

    def take(self, node_id: str, heard: Heard) -> None:
        """Take note of one attempt of a node."""
        self._heard.setdefault(node_id, []).append(heard)

    def hear(self, entry: Entry) -> None:
        """Take note of an event: what an attempt has cost, and what a tool gave, stands on the timeline."""
        event = entry.event
        if isinstance(event, AgentUsage):
            self._said.setdefault(event.node_id or "", []).append(event)
        elif isinstance(event, ToolRequest):
            self._asked.append(event)
        elif isinstance(event, ToolResponse):
            self._gave[event.call] = event

    def write(self, redactor: Redactor | None = None) -> int:
        """Write the script, with every configured secret replaced; how many replies it has. Without any
        there is no file. Raises OSError."""
        replies = {node: _replies(heard, self._said.get(node, [])) for node, heard in self._heard.items()}
        script: Any = {"format": FORMAT, "replies": {node: found for node, found in replies.items() if found}}
        results = _tool_results(self._asked, self._gave)
        if results:
            script["tool_results"] = results
        count = sum(len(found) for found in replies.values())
        if not count:
            self.drop()
            return 0
        script = script if redactor is None else redactor.value(script)
        half = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        half.write_bytes(msgspec.json.format(msgspec.json.encode(script), indent=2) + b"\n")
        half.replace(self.path)
        return count

    def drop(self) -> None:
        """Leave no file behind, where nothing was written into it."""
        if self.path.is_file() and not self.path.stat().st_size:
            self.path.unlink()


class _HeardClients(Clients):
    """The clients of another, each heard. Closing is the other's own."""

    def __init__(self, inner: Clients, recording: Recording) -> None:
        self._inner, self._recording = inner, recording

    def client(self, provider: Provider, script: Path | None = None) -> LanguageModel:
        return _HeardModel(self._inner.client(provider, script), self._recording, provider)

    async def close(self) -> None:
        await self._inner.close()


class _HeardModel:
    """A model whose answers are noted."""

    def __init__(self, inner: LanguageModel, recording: Recording, provider: Provider) -> None:
        self._inner, self._recording, self._provider = inner, recording, provider

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        came: Reply | ModelFailure | None = None
        try:
            came = await self._inner.complete(request, on_delta)
            return came
        except ModelFailure as failure:
            came = failure
            raise
        finally:
            purpose = str(request.hints.get("purpose", "main"))
            name = f"{self._provider.name}:{request.model}"
            self._recording.take(str(request.hints.get("node_id")), Heard(name, purpose, came))

    async def close(self) -> None:
        await self._inner.close()

    def tool_result(self, tool: str) -> Any:
        """What a scripted model says that a tool gives, while a rehearsal is recorded."""
        answers = getattr(self._inner, "tool_result", None)
        if answers is None:
            raise LookupError(tool)
        return answers(tool)


def _tool_results(
    asked: list[ToolRequest], gave: Mapping[str, ToolResponse]
) -> dict[str, list[dict[str, Any]]]:
    """What each tool gave, in the order in which it was asked; tools without an effect run anyway."""
    results: dict[str, list[dict[str, Any]]] = {}
    for request in asked:
        came = gave.get(request.call)
        if came is None or request.effect == "none" or request.tool.startswith(OUR_TOOLS):
            continue
        if came.error is None:
            results.setdefault(request.tool, []).append({"result": came.result})
        elif came.error.code not in NOT_CARRIED_OUT:
            results.setdefault(request.tool, []).append({"error": came.error.message})
    return results


def _replies(heard: list[Heard], said: list[AgentUsage]) -> list[dict[str, Any]]:
    """A node's replies in order. A node makes its calls one after the other, and each attempt ends in one
    event, so the two lists go together; the run may have ended before the last event."""
    costs = [event.cost for event in said] + [None] * (len(heard) - len(said))
    found = []
    for index, (each, cost) in enumerate(zip(heard, costs, strict=False)):
        later = heard[index + 1 :]
        # A rehearsal has one model and no fallbacks: of those that were given up it would only fail.
        given_up = isinstance(each.came, ModelFailure) and any(other.model != each.model for other in later)
        if each.came is not None and not given_up:
            found.append(_reply(each.came, each.purpose, cost))
    return found


def _reply(came: Reply | ModelFailure, purpose: str, cost: int | None) -> dict[str, Any]:
    """One entry of a script."""
    entry: dict[str, Any] = {} if purpose == "main" else {"purpose": purpose}
    if isinstance(came, ModelFailure):
        return entry | _failure(came, cost)
    entry["text"] = came.message.content
    if came.tool_calls:
        entry["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in came.tool_calls
        ]
    entry["usage"] = _usage(came.usage)
    entry["cost"] = None if cost is None else decimal_text(cost)
    if came.finish == "length":
        entry["finish"] = "length"
    return entry


def _failure(failure: ModelFailure, cost: int | None) -> dict[str, Any]:
    error: dict[str, Any] = {
        "kind": failure.kind,
        # The model that replays it puts its own provider's name before it.
        "message": failure.message.partition(": ")[2] or failure.message,
        "maybe_billed": failure.maybe_billed,
    }
    if failure.retry_after is not None:
        error["retry_after"] = failure.retry_after
    partial = failure.partial
    if partial is not None and partial.text:
        error["text"] = partial.text
    entry: dict[str, Any] = {"error": error}
    if partial is not None and partial.usage is not None:
        entry["usage"] = _usage(partial.usage)
        entry["cost"] = None if cost is None else decimal_text(cost)
    return entry


def _usage(usage: Usage | None) -> Mapping[str, int] | None:
    """The numbers that are not zero; null: the provider reported none."""
    return None if usage is None else msgspec.to_builtins(usage)
