"""The scripted model: what it plays, in which order, at which price."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import VirtualClock
from runtime.errors import BadInput, ModelFailure
from runtime.messages import Message, Reply, Request, ToolSpec
from runtime.models.openai_compatible import OpenAICompatible
from runtime.models.opening import open_model
from runtime.models.prices import cost_of
from runtime.models.script import FORMAT
from runtime.models.scripted import DEMO, ScriptedModel
from runtime.providers import BUILT_IN, Provider
from runtime.usage import Usage, parse_money
from tests.runtime.models.asking import failing


def asked(text: str = "Hello?", node: str = "helper", purpose: str = "main", **fields: Any) -> Request:
    return Request(
        model="rehearsal",
        messages=(Message("user", text),),
        hints={"node_id": node, "purpose": purpose},
        **fields,
    )


def playing(
    *replies: dict[str, Any], strict: bool = True, others: dict[str, list[dict[str, Any]]] | None = None
) -> ScriptedModel:
    nodes = {"helper": list(replies), **(others or {})}
    return ScriptedModel.playing(nodes, clock=VirtualClock(), strict=strict)


@pytest.mark.promise("MOD-5")
async def test_scripted_uses_each_reply_once_in_order() -> None:
    model = playing({"text": "one"}, {"text": "two"})
    assert [(await model.complete(asked())).text for _ in range(2)] == ["one", "two"]
    assert model.calls == 2 and [r.messages[0].content for r in model.requests] == ["Hello?"] * 2
    await model.close()


async def test_scripted_takes_the_first_that_fits() -> None:
    model = playing(
        {"text": "weather", "if": "(?i)rain"},
        {"text": "summary", "purpose": "summary"},
        {"text": "other"},
        others={"*": [{"text": "anybody"}], "writer": [{"text": "writer"}]},
    )
    texts = [
        (await model.complete(request)).text
        for request in (
            asked("Good day"),
            asked(purpose="summary"),
            asked("Will it RAIN?"),
            asked(),
            asked(node="writer"),
        )
    ]
    assert texts == ["other", "summary", "weather", "anybody", "writer"]


async def test_scripted_looks_at_the_newest_user_message() -> None:
    model = playing({"text": "no", "if": "rain"}, {"text": "yes"})
    messages = (Message("user", "rain"), Message("assistant", "ok"), Message("user", "sun"))
    request = Request(model="m", messages=messages, hints={"node_id": "helper"})
    assert (await model.complete(request)).text == "yes"


async def test_scripted_strict_says_what_is_missing() -> None:
    found = await failing(playing({"text": "s", "purpose": "summary"}), hints={"node_id": "helper"})
    assert "'helper'" in found.message and "Hello?" in found.message and "main" in found.message


@pytest.mark.promise("MOD-5")
async def test_scripted_rehearses_when_the_script_is_used_up() -> None:
    model = playing({"text": "one"}, strict=False)
    await model.complete(asked())
    assert (await model.complete(asked())).text.startswith("Offline rehearsal")


@pytest.mark.parametrize(
    ("reply", "usage", "cost"),
    [
        (
            {"usage": {"input": 10_000, "cached": 9_000, "output": 1_000}},
            Usage(10_000, 9_000, 0, 1_000),
            "0.0059",
        ),
        ({"usage": {"input": 5, "output": 5}, "cost": "0.40"}, Usage(5, 0, 0, 5), "0.40"),
        ({"usage": {"input": 5}, "cost": 0}, Usage(5), "0"),
        ({"usage": {"input": 5}, "cost": None}, Usage(5), None),
        ({"usage": None, "cost": "0.1"}, None, "0.1"),
    ],
)
async def test_scripted_reports_usage_and_cost(
    reply: dict[str, Any], usage: Usage | None, cost: str | None
) -> None:
    got = await playing({"text": "x", **reply}).complete(asked())
    assert got.usage == usage
    assert got.cost == (None if cost is None else parse_money(cost))


async def test_scripted_counts_for_itself_where_the_script_is_silent() -> None:
    reply = await playing({"text": "one two three"}).complete(asked())
    assert reply.usage is not None and reply.usage.input > 3 and reply.usage.output == 3
    assert reply.cost == cost_of(reply.usage, DEMO).cost and reply.cost


async def test_scripted_sends_tool_calls_as_written() -> None:
    calls = [
        {"name": "a", "arguments": {"x": 1}},
        {"name": "b", "arguments": '{"x'},
        {"name": "c", "id": "mine"},
    ]
    reply = await playing({"tool_calls": calls}).complete(asked())
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("a", '{"x":1}'), ("b", '{"x'), ("c", "{}")]
    assert reply.tool_calls[2].id == "mine" and len({c.id for c in reply.tool_calls}) == 3
    assert (reply.finish, reply.message.content) == ("tool_calls", None)


async def test_scripted_streams_words_over_its_latency() -> None:
    clock = VirtualClock()
    model = ScriptedModel.playing({"*": [{"text": "one two  three\nfour", "latency_s": 2}] * 2}, clock=clock)
    heard: list[tuple[str, float]] = []
    reply = await model.complete(asked(), lambda text: heard.append((text, clock.monotonic())))
    assert "".join(text for text, _ in heard) == reply.text == "one two  three\nfour"
    assert len(heard) > 2 and [at for _, at in heard] == sorted({at for _, at in heard})
    assert clock.monotonic() == pytest.approx(2)
    await model.complete(asked())
    assert clock.monotonic() == pytest.approx(4)


async def test_scripted_can_be_cancelled_while_it_waits() -> None:
    model = ScriptedModel.playing({"*": [{"text": "x", "latency_s": 3_600}]}, clock=_Stopped())
    task = asyncio.create_task(model.complete(asked()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class _Stopped(VirtualClock):
    """Time that never comes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("error", "retryable", "maybe_billed"),
    [
        ({"kind": "rate_limited", "retry_after": 2}, True, False),
        ({"kind": "stream_broken", "text": "Half an"}, False, True),
        ({"kind": "provider_down", "maybe_billed": True}, True, True),
        ({"kind": "context_overflow", "message": "Too long."}, False, False),
    ],
)
async def test_scripted_fails_as_told(error: dict[str, Any], retryable: bool, maybe_billed: bool) -> None:
    heard: list[str] = []
    with pytest.raises(ModelFailure) as caught:
        await playing({"error": error}).complete(asked(), heard.append)
    found = caught.value
    assert (found.kind, found.retryable, found.maybe_billed) == (error["kind"], retryable, maybe_billed)
    assert found.retry_after == error.get("retry_after")
    assert error.get("message", "The script says so") in found.message
    assert "".join(heard) == error.get("text", "")
    if "text" in error:
        assert isinstance(found.partial, Reply) and found.partial.text == error["text"]
        assert found.partial.usage is None


async def test_scripted_failure_keeps_the_usage_it_was_given() -> None:
    error = {"error": {"kind": "stream_broken"}, "usage": {"input": 9, "output": 2}, "cost": "0.1"}
    with pytest.raises(ModelFailure) as caught:
        await playing(error).complete(asked())
    partial = caught.value.partial
    assert isinstance(partial, Reply)
    assert (partial.usage, partial.cost) == (Usage(9, 0, 0, 2), parse_money("0.1"))


async def test_scripted_without_a_script_rehearses_and_streams() -> None:
    heard: list[str] = []
    tool = ToolSpec("calculator", "", {"type": "object", "properties": {"expression": {"type": "string"}}})
    model = ScriptedModel(clock=VirtualClock())
    reply = await model.complete(asked("What is 12*7?", tools=(tool,)), heard.append)
    assert json.loads(reply.tool_calls[0].arguments) == {"expression": "12*7"}
    assert reply.usage is not None and reply.usage.output > 8 and heard == []
    reply = await model.complete(asked("Good day."), heard.append)
    assert "".join(heard) == reply.text and len(heard) > 3


async def test_scripted_is_deterministic() -> None:
    async def once() -> list[Reply]:
        model = ScriptedModel(clock=VirtualClock())
        tool = ToolSpec("memory_write", "", {"type": "object"})
        return [await model.complete(asked(t, tools=(tool,))) for t in ("My name is Ada.", "Hello.")]

    assert await once() == await once()


async def test_opening_gives_the_model_of_the_provider(tmp_path: Path) -> None:
    scripted = next(p for p in BUILT_IN if p.name == "scripted")
    path = tmp_path / "f.script.json"
    path.write_text(json.dumps({"format": FORMAT, "replies": {"*": [{"text": "From the file."}]}}))
    clock = VirtualClock()
    assert (await open_model(scripted, clock, script=path).complete(asked())).text == "From the file."
    assert (await open_model(scripted, clock).complete(asked())).text.startswith("Offline rehearsal")
    assert isinstance(
        open_model(Provider(name="x", base_url="http://127.0.0.1:1/v1"), clock), OpenAICompatible
    )
    with pytest.raises(BadInput):
        open_model(scripted, clock, script=tmp_path / "missing.script.json")
