"""The bytes of a request."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.messages import Message, Request, ToolCall
from runtime.models.wire import completions_url, output_limit_field, request_body

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
CALLS = st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT), max_size=2).map(tuple)
MESSAGES = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["system", "user"]), TEXT),
        st.builds(Message, st.just("assistant"), st.none() | TEXT, CALLS),
        st.builds(Message, st.just("tool"), TEXT, tool_call_id=TEXT),
    ),
    max_size=5,
)


@given(MESSAGES, TEXT, st.booleans())
def test_wire_is_json_that_says_what_was_given(messages: list[Message], model: str, stream: bool) -> None:
    body = json.loads(request_body(Request(model=model, messages=tuple(messages)), stream=stream))
    assert body["model"] == model
    assert [(m["role"], m["content"]) for m in body["messages"]] == [(m.role, m.content) for m in messages]
    for sent, message in zip(body["messages"], messages, strict=True):
        calls = [
            (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in sent.get("tool_calls", ())
        ]
        assert calls == [(c.id, c.name, c.arguments) for c in message.tool_calls]
        assert sent.get("tool_call_id") == message.tool_call_id
    assert body.get("stream", False) is stream
    assert set(body) <= {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize(
    ("url", "field"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://team.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.anthropic.com/v1", "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("https://api.openai.com.example.net/v1", "max_tokens"),
    ],
)
def test_wire_names_the_output_limit_as_the_host_does(url: str, field: str) -> None:
    assert output_limit_field(url) == field
    request = Request(model="m", messages=(), max_output_tokens=7)
    assert json.loads(request_body(request, stream=False, limit_field=field))[field] == 7


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/chat/completions"),
        ("https://x.example/d?api-version=1", "https://x.example/d/chat/completions?api-version=1"),
    ],
)
def test_wire_keeps_the_query_of_a_base_url(base_url: str, url: str) -> None:
    assert completions_url(base_url) == url


@pytest.mark.parametrize(
    ("title", "name"),
    [(None, "answer"), ("Bill", "Bill"), ("Une réponse!", "Une_r_ponse_"), ("x" * 99, "x" * 64)],
)
def test_wire_names_the_schema(title: str | None, name: str) -> None:
    schema = {"type": "object"} | ({"title": title} if title else {})
    body = json.loads(request_body(Request(model="m", messages=(), schema=schema), stream=False))
    assert body["response_format"]["json_schema"] == {"name": name, "schema": schema}
