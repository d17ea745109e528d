"""What the client sends, and where it sends nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from runtime.clock import VirtualClock
from runtime.messages import Message, Request, ToolSpec
from runtime.models.openai_compatible import OpenAICompatible, is_loopback
from runtime.providers import Provider
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.runtime.models.asking import ask, failing
from tests.runtime.models.conftest import HEADER, KEY

BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


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
