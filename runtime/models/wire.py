"""A request as the bytes of the chat-completions format."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from runtime.messages import Request

SCHEMA_NAME = "answer"
"""Name of the answer's schema where the schema has no title: the format demands one."""


def output_limit_field(base_url: str) -> str:
    """The name of the output limit at this host.

    OpenAI's own hosts have `max_completion_tokens`, which counts reasoning too; `max_tokens` is deprecated
    there and refused by reasoning models. Everybody else understands `max_tokens`, many nothing newer.
    """
    host = urlsplit(base_url).hostname or ""
    own = host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))
    return "max_completion_tokens" if own else "max_tokens"


def completions_url(base_url: str) -> str:
    """Where to post: `/chat/completions` at the end of the base URL's path; its query stays (Azure has
    its `api-version` there)."""
    parts = urlsplit(base_url)
    return parts._replace(path=parts.path.rstrip("/") + "/chat/completions", fragment="").geturl()


def request_body(request: Request, *, stream: bool, limit_field: str = "max_tokens") -> bytes:
    """The body to post. The messages' bytes are computed once each and only joined here."""
    head = b'{"model":%s,"messages":[%s]' % (
        msgspec.json.encode(request.model),
        b",".join([message.wire for message in request.messages]),
    )
    options = _options(request, stream, limit_field)
    if not options:
        return head + b"}"
    return head + b"," + msgspec.json.encode(options)[1:]


def _options(request: Request, stream: bool, limit_field: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if request.tools:
        options["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
            }
            for t in request.tools
        ]
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        options[limit_field] = request.max_output_tokens
    if request.schema is not None:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": _schema_name(request.schema), "schema": request.schema},
        }
    if stream:
        options["stream"] = True
        options["stream_options"] = {"include_usage": True}
    return options


def _schema_name(schema: dict[str, Any]) -> str:
    """Letters, digits, `_` and `-`, at most 64: all that the format allows in a name."""
    title = schema.get("title")
    return re.sub(r"[^A-Za-z0-9_-]+", "_", str(title))[:64] if title else SCHEMA_NAME
