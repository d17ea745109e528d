"""The client against a real server on loopback: what is sent, how answers are read, how calls end."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from runtime.clock import VirtualClock
from runtime.messages import Message, Request, ToolCall, ToolSpec
from runtime.models.openai_compatible import OpenAICompatible, is_loopback
from runtime.providers import Provider
from runtime.usage import Usage
from tests.fake_model.plays import (
    ANTHROPIC_USAGE,
    OPENAI_USAGE,
    Play,
    answer,
    frame,
    raw,
    stream,
    tool_call,
)
from tests.fake_model.server import FakeModel
from tests.runtime.models.asking import ask, failing, request
from tests.runtime.models.conftest import HEADER, KEY

BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


async def until(true: Callable[[], bool], seconds: float = 1.0) -> None:
    """Wait until something is so, at most so long."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        await asyncio.sleep(0.005)


class TestSending:
    async def test_sends_key_headers_and_body(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        tool = ToolSpec("look", "Looks it up.", {"type": "object"})
        await ask(model, temperature=0.5, max_output_tokens=9, tools=(tool,), schema={"title": "An answer!"})
        (seen,) = fake_model.calls
        assert seen.path == "/v1/chat/completions"
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        assert seen.headers["x-team"] == HEADER
        assert seen.headers["user-agent"] == "farthing"
        assert seen.body == {
            "model": "any",
            "messages": [{"role": "user", "content": "Hello?"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "description": "Looks it up.",
                        "parameters": {"type": "object"},
                    },
                }
            ],
            "temperature": 0.5,
            "max_tokens": 9,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "An_answer_", "schema": {"title": "An answer!"}},
            },
        }

    async def test_asks_for_usage_when_streaming(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        await ask(model, streamed=True)
        body = fake_model.calls[0].body
        assert body["stream"] is True
        assert body["stream_options"] == {"include_usage": True}

    async def test_takes_nothing_from_the_environment(
        self, fake_model: FakeModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {
            "OPENAI_API_KEY": "sk-of-the-environment",
            "OPENAI_ADMIN_KEY": "sk-of-the-admin",
            "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
            "OPENAI_ORG_ID": "org-environment",
            "OPENAI_PROJECT_ID": "project-environment",
            "OPENAI_CUSTOM_HEADERS": "X-Custom: environment\nAuthorization: Bearer environment",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "http_proxy": "http://127.0.0.1:9",
            "ALL_PROXY": "http://127.0.0.1:9",
        }.items():
            monkeypatch.setenv(name, value)
        model = OpenAICompatible(Provider(name="local", base_url=fake_model.url, free=True), VirtualClock())
        await ask(model)
        await model.close()
        headers = fake_model.calls[0].headers
        assert headers["authorization"] == "Bearer none"
        assert "environment" not in json.dumps(headers) and "admin" not in json.dumps(headers)

    async def test_does_not_ask_a_paid_provider_without_its_key(self, fake_model: FakeModel) -> None:
        provider = Provider(name="paid", base_url=fake_model.url, key_from="PAID_KEY")
        found = await failing(OpenAICompatible(provider, VirtualClock()))
        assert (found.kind, found.retryable, found.maybe_billed) == ("auth", False, False)
        assert "PAID_KEY" in str(found) and fake_model.count == 0

    @pytest.mark.parametrize(
        ("provider", "kind", "says"),
        [
            (Provider(name="x", base_url="", key="k"), "unreachable", "base_url"),
            (Provider(name="x", base_url="api.openai.com/v1", key="k"), "unreachable", "base_url"),
            (Provider(name="x", base_url="ftp://a/v1", key="k"), "unreachable", "base_url"),
            (Provider(name="x", base_url="http://a:port/v1", key="k"), "unreachable", "base_url"),
            (Provider(name="x", base_url="http://127.0.0.1:1", key="key-in-test\n"), "auth", "the key"),
            (Provider(name="x", base_url="http://127.0.0.1:1", key="“key”"), "auth", "the key"),
            (Provider(name="x", base_url="http://127.0.0.1:1", headers={"X-T": "a\rb"}), "auth", "X-T"),
        ],
    )
    async def test_does_not_ask_where_nothing_can_be_sent(
        self, provider: Provider, kind: str, says: str
    ) -> None:
        found = await failing(OpenAICompatible(provider, VirtualClock()))
        assert (found.kind, found.retryable, found.maybe_billed) == (kind, False, False)
        assert says in found.message and "key-in-test" not in str(found)

    async def test_refuses_text_that_is_not_unicode(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        found = await failing(model, text="half an emoji: \ud83d")
        assert (found.kind, fake_model.count) == ("bad_request", 0)

    async def test_takes_a_key_in_a_header_of_its_own(self, fake_model: FakeModel) -> None:
        provider = Provider(
            name="azure", base_url=fake_model.url, key_from="AZURE_KEY", headers={"api-key": "azure-secret"}
        )
        model = OpenAICompatible(provider, VirtualClock())
        await ask(model)
        await model.close()
        assert fake_model.calls[0].headers["api-key"] == "azure-secret"

    async def test_keeps_connections(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        for streamed in (False, True) * 10:
            await ask(model, streamed=streamed)
        assert (fake_model.count, fake_model.connections) == (20, 1)

    async def test_makes_many_calls_at_once(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        fake_model.default = answer(delay_s=0.1)
        replies = await asyncio.gather(*(ask(model, streamed=i % 2 == 0) for i in range(120)))
        assert {reply.text for reply in replies} == {"Hello there."}
        assert fake_model.count == 120

    def test_loads_the_sdk_only_for_a_call(self) -> None:
        code = (
            "import sys; from runtime.models import openai_compatible, opening, counter, prices, scripted;"
            "print([m for m in ('openai','httpx2','aiohttp','genai_prices','pydantic') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


class TestReading:
    @BOTH
    async def test_reads_text_usage_and_ids(
        self, model: OpenAICompatible, fake_model: FakeModel, streamed: bool
    ) -> None:
        fake_model.play(
            answer("Grüße, 世界 🎉!", usage=OPENAI_USAGE, model="fake-2026", headers={"x-request-id": "r1"})
        )
        reply = await ask(model, streamed=streamed)
        assert reply.text == "Grüße, 世界 🎉!"
        assert reply.usage == Usage(input=10_000, cached=9_000, output=1_000, reasoning=800)
        assert (reply.finish, reply.model, reply.request_id, reply.cost) == ("stop", "fake-2026", "r1", None)

    @BOTH
    async def test_reads_separate_buckets_as_the_same_numbers(
        self, model: OpenAICompatible, fake_model: FakeModel, streamed: bool
    ) -> None:
        fake_model.play(answer(usage=ANTHROPIC_USAGE))
        usage = (await ask(model, streamed=streamed)).usage
        assert usage == Usage(input=10_000, cached=9_000, output=1_000)

    @BOTH
    async def test_leaves_missing_usage_missing(
        self, model: OpenAICompatible, fake_model: FakeModel, streamed: bool
    ) -> None:
        fake_model.play(answer(usage=None))
        assert (await ask(model, streamed=streamed)).usage is None

    @pytest.mark.parametrize(
        ("usage", "headers", "nanos"),
        [
            ({"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.00012345}, {}, 123_450),
            ({"prompt_tokens": 1, "completion_tokens": 1, "cost": 0}, {}, 0),
            ({"prompt_tokens": 1, "completion_tokens": 1}, {"x-litellm-response-cost": "3.2e-05"}, 32_000),
            (None, {"x-litellm-response-cost": "0.5"}, 500_000_000),
            (None, {"x-litellm-response-cost": "None"}, None),
        ],
    )
    async def test_reads_reported_cost_exactly(
        self,
        model: OpenAICompatible,
        fake_model: FakeModel,
        usage: dict[str, Any] | None,
        headers: dict[str, str],
        nanos: int | None,
    ) -> None:
        fake_model.play(answer(usage=usage, headers=headers))
        assert (await ask(model)).cost == nanos

    @BOTH
    @pytest.mark.parametrize(
        "arguments",
        ["", '{"city": "San Fra', "[]", "null", '{"n": NaN}', '{"city": "Łódź"}', "x" * 200_000],
        ids=["empty", "cut", "list", "null", "nan", "sound", "noise"],
    )
    async def test_hands_tool_arguments_on_as_they_are(
        self, model: OpenAICompatible, fake_model: FakeModel, arguments: str, streamed: bool
    ) -> None:
        calls = [tool_call("weather", arguments, call_id="a"), tool_call("unknown", "{}", call_id="b")]
        fake_model.play(answer(None, tool_calls=calls))
        reply = await ask(model, streamed=streamed)
        assert reply.tool_calls == (ToolCall("a", "weather", arguments), ToolCall("b", "unknown", "{}"))
        assert reply.finish == "tool_calls"

    @BOTH
    async def test_gives_every_tool_call_an_id_of_its_own(
        self, model: OpenAICompatible, fake_model: FakeModel, streamed: bool
    ) -> None:
        calls = [tool_call("t", "{}", call_id=call_id) for call_id in ("", "same", "same")]
        fake_model.play(answer(None, tool_calls=calls, finish="stop"))
        reply = await ask(model, streamed=streamed)
        ids = [call.id for call in reply.tool_calls]
        assert len(set(ids)) == 3 and all(ids) and ids[1] == "same"
        assert reply.finish == "tool_calls"

    @BOTH
    async def test_replays_what_a_provider_sent_besides(
        self, model: OpenAICompatible, fake_model: FakeModel, streamed: bool
    ) -> None:
        signature = {"google": {"thought_signature": "c2ln"}}
        calls = [tool_call("t", '{"a": 1}', call_id="a", extra_content=signature)]
        extra = {"reasoning_details": [{"type": "text", "text": "hm"}], "annotations": [], "audio": None}
        fake_model.play(answer("Looking.", tool_calls=calls, extra=extra))
        message = (await ask(model, streamed=streamed)).message
        sent = json.loads(message.wire)
        assert sent == {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "t", "arguments": '{"a": 1}'},
                    "extra_content": signature,
                }
            ],
            "reasoning_details": [{"type": "text", "text": "hm"}],
        }
        after = msgspec.json.decode(msgspec.json.encode(message), type=Message)
        assert after.wire == message.wire

    async def test_reads_arguments_that_are_objects(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        call = {"function": {"name": "t", "arguments": {"a": 1}}}
        body = {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}
        fake_model.play(raw(json.dumps(body)))
        assert (await ask(model)).tool_calls[0].arguments == '{"a":1}'

    async def test_reads_parallel_streamed_calls_that_share_an_index(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        def piece(*calls: dict[str, Any], finish: str | None = None) -> bytes:
            return frame({"choices": [{"delta": {"tool_calls": list(calls)}, "finish_reason": finish}]})

        fake_model.play(
            stream(
                piece({"index": 0, **tool_call("a", '{"x":1}', call_id="1")}),
                piece({"index": 0, **tool_call("b", '{"y"', call_id="2")}),
                piece({"index": 0, "function": {"arguments": ":2}"}}),
                piece(tool_call("c", "{}", call_id="3"), finish="stop"),
            )
        )
        reply = await ask(model, streamed=True)
        found = [(call.id, call.name, call.arguments) for call in reply.tool_calls]
        assert found == [("1", "a", '{"x":1}'), ("2", "b", '{"y":2}'), ("3", "c", "{}")]

    async def test_reads_content_in_parts(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        parts = [{"type": "text", "text": "Hello "}, {"type": "image"}, {"type": "text", "text": "you"}]
        fake_model.play(raw(json.dumps({"choices": [{"message": {"content": parts}}]})))
        assert (await ask(model)).text == "Hello you"

    async def test_keeps_a_refusal_beside_text_as_an_answer(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        fake_model.play(answer("Here.", extra={"refusal": ""}))
        assert (await ask(model)).text == "Here."

    async def test_reads_a_stream_in_single_bytes(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        fake_model.play(msgspec.structs.replace(answer("Grüße 🎉 you"), drip=True))
        assert (await ask(model, streamed=True)).text == "Grüße 🎉 you"

    async def test_hands_text_on_while_it_comes(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        fake_model.play(answer("one two three", gap_s=0.05))
        heard: list[tuple[str, float]] = []
        await model.complete(request(), lambda text: heard.append((text, time.monotonic())))
        assert [text for text, _ in heard] == ["one", " two", " three"]
        assert heard[2][1] - heard[0][1] > 0.05

    async def test_takes_a_plain_answer_to_a_streamed_request(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        fake_model.play(raw(answer("All at once.").body))
        assert (await ask(model, streamed=True)).text == "All at once."

    async def test_takes_a_stream_for_a_plain_request(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        frames = answer("In pieces.").frames
        assert frames is not None
        fake_model.play(stream(*frames))
        assert (await ask(model)).text == "In pieces."

    async def test_does_not_wait_long_for_a_transfer_to_end_after_its_mark(
        self, model: OpenAICompatible, fake_model: FakeModel
    ) -> None:
        frames = answer("Whole.").frames
        assert frames is not None
        fake_model.play(stream(*frames, b"data: [DONE]\n\n", ending="hang"))
        began = time.monotonic()
        assert (await ask(model, streamed=True)).text == "Whole."
        assert time.monotonic() - began < 1.0


class TestEnding:
    @pytest.mark.parametrize(
        ("play", "streamed", "text"),
        [
            (answer(delay_s=30), False, None),
            (answer(delay_s=30), True, None),
            (answer("a " * 300, drip=True, gap_s=0.01), False, None),
            (stream(*(answer("Half an").frames or ())[:3], ending="hang"), True, "Half an"),
        ],
        ids=["hang", "streamed hang", "slow drip", "hang in the middle"],
    )
    async def test_bounds_the_whole_call(
        self, model: OpenAICompatible, fake_model: FakeModel, play: Play, streamed: bool, text: str | None
    ) -> None:
        await ask(model)
        fake_model.play(play)
        began = time.monotonic()
        found = await failing(model, streamed=streamed, timeout_s=0.2)
        assert time.monotonic() - began < 1.0
        assert (found.kind, found.retryable, found.maybe_billed) == ("timeout", False, True)
        assert "0.2 s" in found.message and "timeout_s" in (found.remedy or "")
        assert (found.partial and found.partial.text) == text
        await until(lambda: fake_model.disconnects == 1)

    @pytest.mark.parametrize(
        ("play", "streamed"),
        [
            (answer(delay_s=30), False),
            (answer(delay_s=30), True),
            (answer("word " * 50, gap_s=0.05), True),
        ],
        ids=["plain", "before the stream", "in the stream"],
    )
    async def test_cancelling_frees_the_connection_at_once(
        self, model: OpenAICompatible, fake_model: FakeModel, play: Play, streamed: bool
    ) -> None:
        fake_model.play(play)
        heard: list[str] = []
        task = asyncio.create_task(model.complete(request(), heard.append if streamed else None))
        await until(lambda: fake_model.count == 1 and (play.gap_s == 0 or len(heard) > 2), 3.0)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: fake_model.disconnects == 1 and fake_model.open_connections == 0)
        assert time.monotonic() - began < 0.5
        assert (await ask(model)).text == "Hello there."

    async def test_says_that_nobody_answers_there(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            provider = Provider(name="gone", base_url=f"http://127.0.0.1:{port}/v1", key="k")
            model = OpenAICompatible(provider, VirtualClock())
            found = await failing(model)
            await model.close()
        assert (found.kind, found.retryable, found.maybe_billed) == ("unreachable", True, False)
        assert f"127.0.0.1:{port}" in found.message and "farthing doctor" in (found.remedy or "")

    @pytest.mark.parametrize(
        ("scheme", "kind", "billed"), [("http", "connection_lost", True), ("https", "unreachable", False)]
    )
    async def test_says_that_something_else_answers_there(self, scheme: str, kind: str, billed: bool) -> None:
        async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(hello, "127.0.0.1", 0)
        url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = OpenAICompatible(Provider(name="ssh", base_url=url, key="k"), VirtualClock())
        found = await failing(model)
        await model.close()
        server.close()
        assert (found.kind, found.maybe_billed) == (kind, billed)

    async def test_closes_twice_without_harm(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        await ask(model)
        await model.close()
        await model.close()
        await until(lambda: fake_model.open_connections == 0)


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:9/v1", True),
        ("http://127.9.9.9/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://192.168.0.4/v1", False),
        ("http://localhost.example.com/v1", False),
        ("", False),
    ],
)
def test_loopback_is_told_from_other_hosts(url: str, ours: bool) -> None:
    assert is_loopback(url) is ours


async def test_every_message_is_encoded_once(model: OpenAICompatible, fake_model: FakeModel) -> None:
    messages = tuple(Message("user", f"Turn {i}") for i in range(100))
    await ask(model, messages=messages)
    first = [message.wire for message in messages]
    await ask(model, messages=messages)
    assert all(a is b.wire for a, b in zip(first, messages, strict=True))
    assert fake_model.calls[0].raw == fake_model.calls[1].raw
    assert [m["content"] for m in fake_model.calls[0].body["messages"]] == [f"Turn {i}" for i in range(100)]


def test_requests_have_sane_defaults() -> None:
    assert Request(model="m", messages=()).timeout_s == 120.0
