"""Broken tool arguments, and what a strict budget says of a call that does not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.messages import Message, ToolCall
from runtime.reasoning.arguments import without_broken
from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, says

BROKEN = ["", '{"city": "San Fra', "[]", "null", '{"n": NaN}', "x" * 200_000]
SOUND = '{"key": "k", "value": "v"}'


def asks(*arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "memory_write", "arguments": text} for text in arguments]}


@pytest.mark.promise("RUN-6", "RUN-7")
async def test_broken_arguments_do_not_go_back_to_the_model() -> None:
    async with Bench() as bench:
        script = [asks(*BROKEN, SOUND), says("done")]
        first = await bench.run(agent_flow(memory={}), "Hello", script=script, strict=True)
        later = await bench.run(agent_flow(memory={}), "Again", script=[says("fine")], strict=True)
    for request in (first.requests[-1], later.requests[-1]):
        sent = [call.arguments for message in request.messages for call in message.tool_calls]
        assert sent == ["{}"] * len(BROKEN) + [SOUND]
        assert sum(len(message.wire) for message in request.messages) < 5_000
    failed = [event for event in first.of("tool.response") if event.error is not None]
    assert len(failed) == len(BROKEN)


def test_what_a_provider_wants_back_is_kept_beside_the_arguments() -> None:
    replayed = [
        {"id": "a", "type": "function", "signature": "s", "function": {"name": "t", "arguments": "{"}}
    ]
    message = Message("assistant", None, (ToolCall("a", "t", "{"),), extra={"tool_calls": replayed})
    (sent,) = json.loads(without_broken(message).wire)["tool_calls"]
    assert (sent["signature"], sent["function"]) == ("s", {"name": "t", "arguments": "{}"})
    assert message.extra["tool_calls"] == replayed


@pytest.mark.promise("BUD-1", "BUD-11")
@pytest.mark.parametrize(("metric", "unit"), [("tokens", "tokens"), ("spend", "$")])
async def test_strict_stop_names_what_the_call_may_use(metric: str, unit: str) -> None:
    budget = {
        "metric": metric,
        "period": "daily",
        "limit": "0.001" if metric == "spend" else 100,
        "strict": True,
    }
    ran = await run_flow(agent_flow(budgets=[budget]), "Hello", script=[says("never")])
    (error,) = ran.of("agent.error")
    estimate = error.message.partition("may use ")[2].partition(":")[0]
    assert unit in estimate and estimate not in ("0 tokens", "$0.00")
    assert "max_output_tokens" in error.remedy
