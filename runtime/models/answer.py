"""From what a provider answered, plain or collected from a stream, to a sound Reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from runtime.errors import ModelFailure
from runtime.messages import Message, Reply, ToolCall
from runtime.models.failures import error_failure, failure
from runtime.models.reported import cost_of_report, usage_of
from runtime.providers import Provider

FINISHES = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "refusal": "refusal",
    "error": "error",
}
"""Providers' reasons to finish in our words; an unknown one counts as `stop`."""
NOT_REPLAYED = frozenset(
    {"role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"}
)
"""Fields of an answered message that are not its extras: our own, or refused when sent back."""


class Draft(msgspec.Struct, frozen=True):
    """An answer as received, before it is judged. `calls` are tool calls as sent, whole."""

    text: str = ""
    refusal: str = ""
    calls: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}
    finish: str | None = None
    usage: object = None
    model: str | None = None
    id: str | None = None


class Context(msgspec.Struct, frozen=True):
    """What turning an answer into a reply needs besides the answer."""

    provider: Provider
    headers: Mapping[str, str]
    new_id: Callable[[], str]


def plain_draft(body: bytes, context: Context) -> Draft:
    """The answer to a request that was not streamed. Raises ModelFailure where the body is none."""
    provider = context.provider
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        page = body.lstrip()[:1] == b"<"
        what = "the server answered with a web page" if page else "the answer is not JSON"
        raise failure("bad_response", provider, what + quoted(body)) from None
    if not isinstance(data, dict):
        raise failure("bad_response", provider, "the answer is not an object" + quoted(body))
    choices = data.get("choices")
    if not choices and data.get("error"):
        partial = reply_of(_headed(data), context) if data.get("usage") else None
        raise error_failure(provider, data["error"], partial=partial)
    if not isinstance(choices, list) and "usage" not in data and "choices" not in data:
        raise failure("bad_response", provider, "the answer has no choices" + quoted(body))
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return _headed(data)
    message = choice.get("message")
    parts = message_parts(message) if isinstance(message, dict) else {}
    return msgspec.structs.replace(_headed(data), finish=text_or_none(choice.get("finish_reason")), **parts)


def _headed(data: dict[str, Any]) -> Draft:
    return Draft(
        usage=data.get("usage"), model=text_or_none(data.get("model")), id=text_or_none(data.get("id"))
    )


def message_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Text, refusal, tool calls and extras of a message."""
    calls = message.get("tool_calls")
    return {
        "text": text_of(message.get("content")),
        "refusal": text_of(message.get("refusal")),
        "calls": [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else [],
        "extra": {k: v for k, v in message.items() if k not in NOT_REPLAYED and v not in (None, "", [], {})},
    }


def text_of(content: object) -> str:
    """The text of a content that is a string, null or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type", "text") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def quoted(body: bytes) -> str:
    """The beginning of a body, for a message."""
    start = body[:200].decode("utf-8", "replace").strip()
    return f": {start!r}" if start else " (it is empty)"


def reply_of(draft: Draft, context: Context) -> Reply:
    """The reply as far as it came, judged by nobody."""
    calls = tool_calls_of(draft.calls, context.new_id)
    extra = draft.extra
    if any(_is_more_than_a_call(call) for call in draft.calls):
        extra = {
            **extra,
            "tool_calls": [_replayed(c, ours) for c, ours in zip(draft.calls, calls, strict=True)],
        }
    headers = context.headers
    finish = FINISHES.get((draft.finish or "stop").lower(), "stop")
    return Reply(
        message=Message("assistant", draft.text or None, calls, extra=extra),
        finish="tool_calls" if calls and finish == "stop" else finish,
        usage=usage_of(draft.usage),
        cost=cost_of_report(draft.usage, headers.get("x-litellm-response-cost")),
        model=draft.model,
        request_id=headers.get("x-request-id") or headers.get("request-id") or draft.id,
    )


def tool_calls_of(calls: Iterable[dict[str, Any]], new_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    """Tool calls with an id each, no two the same; arguments are the text as sent, sound or not."""
    taken: set[str] = set()
    found = []
    for call in calls:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        call_id = text_or_none(call.get("id")) or f"call_{new_id()}"
        if call_id in taken:
            call_id = f"{call_id}_{new_id()}"
        taken.add(call_id)
        found.append(ToolCall(call_id, text_of(function.get("name")), arguments or ""))
    return tuple(found)


def _is_more_than_a_call(call: dict[str, Any]) -> bool:
    """Has fields of the provider's own (a thought signature), which must go back with it."""
    return bool(call.keys() - {"id", "type", "index", "function"})


def _replayed(call: dict[str, Any], ours: ToolCall) -> dict[str, Any]:
    kept = {k: v for k, v in call.items() if k != "index"}
    function = {"name": ours.name, "arguments": ours.arguments}
    return {**kept, "id": ours.id, "type": "function", "function": function}


def judged(draft: Draft, context: Context) -> Reply:
    """The reply, if it is one that can be used. Raises ModelFailure with what came as `partial`."""
    reply = reply_of(draft, context)
    fault = _fault(reply, draft, context.provider)
    if fault is not None:
        raise fault
    return reply


def _fault(reply: Reply, draft: Draft, provider: Provider) -> ModelFailure | None:
    if reply.finish == "content_filter":
        return failure("content_filter", provider, "the answer was withheld by a filter.", partial=reply)
    if reply.finish == "error":
        return failure("stream_broken", provider, "the provider broke the answer off.", partial=reply)
    if reply.finish == "refusal" or (draft.refusal and not reply.text and not reply.tool_calls):
        said = draft.refusal or reply.text or "it gave no reason"
        return failure("refusal", provider, f"the model refused: {said}", partial=reply)
    if not reply.text.strip() and not reply.tool_calls:
        if reply.finish == "length":
            what = "the output limit was used up before any text came."
        else:
            what = "the answer is empty."
        return failure("empty", provider, what, partial=reply)
    return None
