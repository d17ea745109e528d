"""What is sent to a model and what comes back, whoever the provider is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Literal, Protocol

import msgspec

from runtime.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]
Purpose = Literal[
    "main",
    "thought",
    "action",
    "summary",
    "plan",
    "extraction",
    "repair",
    "embedding",
    "consolidation",
    "test",
]
CostSource = Literal["provider", "settings", "genai-prices", "local", "script", "estimate", "unknown"]


class ToolCall(msgspec.Struct, frozen=True):
    """A call that the model asks for; `arguments` is its JSON text exactly as sent, sound or not."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """One message of a conversation.

    `extra` holds what a provider sent besides (thought signatures and the like) and is replayed verbatim.
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    extra: dict[str, Any] = {}

    @cached_property
    def wire(self) -> bytes:
        """The message as JSON of the chat-completions format; computed once."""
        body: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            body["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.tool_calls
            ]
        if self.tool_call_id is not None:
            body["tool_call_id"] = self.tool_call_id
        return msgspec.json.encode({**body, **self.extra})


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that the model may call; `parameters` is a JSON Schema of its arguments object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call.

    `timeout_s` bounds the whole call. `schema` asks for an answer of that JSON Schema. Null leaves a
    choice to the provider.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    schema: dict[str, Any] | None = None
    timeout_s: float = 120.0
    hints: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model call gave.

    `usage` null: the provider said nothing. `cost` is the provider's own figure in nano-dollars, null
    where it reports none. `finish`: stop, length, tool_calls, content_filter.
    """

    message: Message
    finish: str = "stop"
    usage: Usage | None = None
    cost: int | None = None
    model: str | None = None
    request_id: str | None = None

    @property
    def text(self) -> str:
        return self.message.content or ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls


OnDelta = Callable[[str], None]


class LanguageModel(Protocol):
    """A provider's model. `complete` raises ModelFailure; cancelling it frees the connection at once."""

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """Make one call. Text is handed to `on_delta` piece by piece as it comes."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class TokenCounter(Protocol):
    """Counts before the call, learns from what was reported after it."""

    def count(self, model: str, request: Request) -> int:
        """Input tokens of the request for `provider:model`, estimated."""
        ...

    def text(self, model: str, text: str) -> int:
        """Tokens of a text for `provider:model`, estimated."""
        ...

    def message(self, model: str, message: Message) -> int:
        """Tokens of one message for `provider:model`, estimated."""
        ...

    def messages(self, model: str, messages: Iterable[Message]) -> int:
        """Tokens of several messages for `provider:model`, estimated."""
        ...

    def learn(self, model: str, counted: int, reported: int) -> None:
        """Take note that a request counted as `counted` was reported as `reported` input tokens."""
        ...
