"""How answers are read, plain and streamed."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from runtime.messages import Message, ToolCall
from runtime.models.openai_compatible import OpenAICompatible
from runtime.usage import Usage
from tests.fake_model.plays import ANTHROPIC_USAGE, OPENAI_USAGE, answer, frame, raw, stream, tool_call
from tests.fake_model.server import FakeModel
from tests.runtime.models.asking import ask, request

BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


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
