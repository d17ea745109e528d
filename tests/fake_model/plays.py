"""What the fake server answers: one `Play` per call, built by the functions below or named in `PLAYS`."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

Ending = Literal["done", "no_done", "cut", "hang", "reset"]

OPENAI_USAGE: dict[str, Any] = {
    "prompt_tokens": 10_000,
    "completion_tokens": 1_000,
    "total_tokens": 11_000,
    "prompt_tokens_details": {"cached_tokens": 9_000},
    "completion_tokens_details": {"reasoning_tokens": 800},
}
ANTHROPIC_USAGE: dict[str, Any] = {
    "input_tokens": 1_000,
    "cache_read_input_tokens": 9_000,
    "output_tokens": 1_000,
}
SMALL_USAGE: dict[str, Any] = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `body` are the bytes of a plain answer, `frames` those of a streamed one.

    `delay_s` passes before the first byte, `gap_s` between frames. `ending` is how a stream ends: `done`
    with its mark, `no_done` without, `cut` in the middle of the transfer, `hang` never, `reset` with the
    connection torn down. `promise` is a Content-Length that the body does not keep, -1
    closes the connection without a word. `drip` sends the answer
    byte by byte.
    """

    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b""
    frames: tuple[bytes, ...] | None = None
    content_type: str = "application/json"
    delay_s: float = 0.0
    gap_s: float = 0.0
    ending: Ending = "done"
    promise: int | None = None
    drip: bool = False


def tool_call(name: str, arguments: str, *, call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    """A tool call as the format has it; `arguments` is sent as it is, sound or not."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def frame(data: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def answer(
    text: str | None = "Hello there.",
    *,
    tool_calls: list[dict[str, Any]] | None = None,
    usage: dict[str, Any] | None = SMALL_USAGE,
    finish: str | None = None,
    extra: dict[str, Any] | None = None,
    model: str = "fake",
    **play: Any,
) -> Play:
    """A sound answer, ready for a plain and for a streamed request."""
    finish = finish or ("tool_calls" if tool_calls else "stop")
    message = {"role": "assistant", "content": text, **(extra or {})}
    if tool_calls:
        message["tool_calls"] = tool_calls
    head = {"id": "fake-1", "object": "chat.completion", "created": 1, "model": model}
    body = {**head, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    if usage is not None:
        body["usage"] = usage
    frames = _frames({**head, "object": "chat.completion.chunk"}, message, finish, usage)
    return Play(body=json.dumps(body).encode(), frames=frames, **play)


def _frames(
    head: dict[str, Any], message: dict[str, Any], finish: str | None, usage: dict[str, Any] | None
) -> tuple[bytes, ...]:
    """The answer in pieces: a word a frame, tool arguments in two halves, usage last without choices."""

    def piece(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return frame({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    extra = {k: v for k, v in message.items() if k not in ("role", "content", "tool_calls")}
    frames = [piece({"role": "assistant", "content": "", **extra})]
    text = message["content"] or ""
    frames += [piece({"content": word}) for word in text.replace(" ", "\0 ").split("\0") if word]
    for index, call in enumerate(message.get("tool_calls", ())):
        text = call["function"]["arguments"]
        half = len(text) // 2
        first = {**call, "index": index, "function": {**call["function"], "arguments": text[:half]}}
        frames.append(piece({"tool_calls": [first]}))
        frames.append(piece({"tool_calls": [{"index": index, "function": {"arguments": text[half:]}}]}))
    frames.append(piece({}, finish))
    if usage is not None:
        frames.append(frame({**head, "choices": [], "usage": usage}))
    return tuple(frames)


def failure(status: int, error: Any, *, headers: dict[str, str] | None = None, **play: Any) -> Play:
    """An error of the format: `{"error": …}`."""
    return Play(status=status, headers=headers or {}, body=json.dumps({"error": error}).encode(), **play)


def raw(body: bytes | str, *, content_type: str = "application/json", **play: Any) -> Play:
    """Bytes exactly as given, for plain and streamed requests."""
    data = body.encode() if isinstance(body, str) else body
    return Play(body=data, content_type=content_type, **play)


def stream(*frames: bytes, **play: Any) -> Play:
    """A streamed answer of exactly these bytes."""
    return Play(frames=frames, content_type="text/event-stream", **play)


PLAYS: dict[str, Play] = {
    "ok": answer(),
    "no_usage": answer(usage=None),
    "subset_usage": answer(usage=OPENAI_USAGE),
    "bucket_usage": answer(usage=ANTHROPIC_USAGE),
    "tool": answer(None, tool_calls=[tool_call("calculator", '{"expression": "2+2"}')]),
    "broken_tool": answer(None, tool_calls=[tool_call("calculator", '{"expression": "2')]),
    "rate_limited": failure(
        429, {"message": "Slow down.", "code": "rate_limit_exceeded"}, headers={"Retry-After": "0.1"}
    ),
    "quota": failure(429, {"message": "You have used your quota.", "code": "insufficient_quota"}),
    "unauthorized": failure(401, {"message": "Incorrect API key provided."}),
    "down": failure(500, {"message": "The server had an error."}),
    "overflow": failure(400, {"message": "Too long.", "code": "context_length_exceeded"}),
    "html": raw("<html><body>Welcome</body></html>", content_type="text/html"),
    "error_200": failure(200, {"message": "Upstream failed.", "code": 502}),
    "empty": answer(""),
    "no_choices": raw('{"id": "x", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}'),
    "hang": answer(delay_s=3600.0),
    "slow": answer(delay_s=0.2),
}
"""Behaviours that a request may ask for by its model name, when nothing is queued."""
