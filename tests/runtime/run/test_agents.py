"""Agents: steps, tools, strategies, shapes of answers, fallbacks, errors."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, calls, flow, node, says

SHAPE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def test_each_memory_tool_call_leads_to_another_step() -> None:
    script = [
        calls("memory_write", {"key": "name", "value": "Ada"}),
        calls("memory_read", {"keys": ["name"]}),
        says("Ada."),
    ]
    ran = await run_flow(agent_flow(memory={}), "I am Ada", script=script, strict=True)
    assert ran.text == "Ada."
    assert [event.step for event in ran.of("model.called")] == [1, 2, 3]
    assert [event.result for event in ran.of("tool.response")] == [
        {"stored": "name", "outcome": "created", "version": 1},
        {"facts": {"name": "Ada"}},
    ]


@pytest.mark.promise("RUN-4")
async def test_max_iterations_is_an_error_that_names_it() -> None:
    again = [calls("memory_read", {}) for _ in range(5)]
    ran = await run_flow(agent_flow(agent={"max_iterations": 3}, memory={}), "x", script=again, strict=True)
    assert len(ran.requests) == 3
    assert ran.of("agent.error")[0].code == "agent.max_iterations"
    assert ran.outcome.exit_code == 1
    assert ran.of("node.failed")[0].node_id == "a"


BROKEN = ["", '{"city": "San Fra', "[]", "null", '{"n": NaN}', "x" * 200_000, '{"a":' * 5000]


@pytest.mark.parametrize("arguments", BROKEN, ids=range(len(BROKEN)))
async def test_broken_tool_arguments_become_a_result_and_the_session_goes_on(arguments: str) -> None:
    document = agent_flow(memory={})
    async with Bench() as bench:
        both = says(
            "",
            tool_calls=[
                {"name": "memory_write", "arguments": arguments},
                {"name": "memory_write", "arguments": {"key": "k", "value": 1}},
            ],
        )
        ran = await bench.run(document, "x", script=[both, says("done")], strict=True)
        bad, good = ran.of("tool.response")
        assert bad.error.code == "tool.bad_arguments"
        assert len(bad.error.message) < 300
        assert good.result["outcome"] == "created"
        assert ran.text == "done"
        tools = [m for m in ran.requests[1].messages if m.role == "tool"]
        assert len(tools) == 2
        assert (await bench.run(document, "y", script=[says("fine")], strict=True)).text == "fine"


@pytest.mark.promise("RUN-7")
async def test_an_unknown_tool_and_two_calls_with_one_id() -> None:
    twice = says("", tool_calls=[{"name": "fly", "arguments": {}}, {"name": "memory_read", "arguments": {}}])
    ran = await run_flow(agent_flow(memory={}), "x", script=[twice, says("ok")], strict=True)
    assert [event.error.code if event.error else None for event in ran.of("tool.response")] == [
        "tool.unknown",
        None,
    ]
    sent = ran.requests[1].messages
    asked = [call.id for message in sent for call in message.tool_calls]
    answered = [message.tool_call_id for message in sent if message.role == "tool"]
    assert asked == answered
    assert len(set(asked)) == 2


@pytest.mark.parametrize("strategy", ["json", "thinker"])
async def test_actions_as_json_call_tools_and_answer(strategy: str) -> None:
    thought = [says("I should store it.")] if strategy == "thinker" else []
    script = [
        *thought,
        says('{"action": "memory_write", "arguments": {"key": "name", "value": "Ada"}}'),
        *thought,
        says('```json\n{"action": "answer", "answer": "Hello Ada"}\n```'),
    ]
    ran = await run_flow(
        agent_flow(agent={"strategy": strategy}, memory={}), "I am Ada", script=script, strict=True
    )
    assert ran.text == "Hello Ada"
    assert ran.of("memory.write")[0].value == "Ada"
    purposes = [event.purpose for event in ran.of("model.called")]
    assert purposes == (["thought", "action"] * 2 if strategy == "thinker" else ["main", "main"])


async def test_a_broken_action_is_told_to_the_model() -> None:
    script = [says('{"action": '), says('{"action": "answer", "answer": "x"}')]
    ran = await run_flow(agent_flow(agent={"strategy": "json"}), "q", script=script, strict=True)
    assert ran.text == "x"
    assert "not one JSON object" in (ran.requests[1].messages[-1].content or "")


async def test_an_answer_of_the_wrong_shape_is_repaired_once() -> None:
    document = agent_flow(agent={"output_schema": SHAPE})
    ran = await run_flow(document, "q", script=[says('{"n": "x"}', 5), says('{"n": 3}', 7)], strict=True)
    assert ran.outcome.outputs == {"end": {"n": 3}}
    assert [event.purpose for event in ran.of("agent.usage")] == ["main", "repair"]
    assert ran.outcome.usage.tokens == 12
    failed = await run_flow(document, "q", script=[says("no"), says("no")], strict=True)
    assert failed.outcome.error is not None
    assert failed.outcome.error.code == "agent.bad_output"


async def test_a_retry_is_one_more_attempt_and_frees_what_it_held() -> None:
    budget = {"metric": "tokens", "period": "session", "limit": 1000}
    script = [
        {"error": {"kind": "rate_limited", "message": "slow down", "retry_after": 2}},
        {"error": {"kind": "provider_down", "message": "oops"}},
        says("ok", 10),
    ]
    ran = await run_flow(agent_flow(budgets=[budget]), "x", script=script, strict=True)
    assert ran.text == "ok"
    assert [event.attempt for event in ran.of("model.called")] == [1, 2, 3]
    assert len(ran.of("budget.released")) == 2
    assert (ran.outcome.gauges[0].used, ran.outcome.gauges[0].held) == (10, 0)
    times = [event.at for event in ran.of("model.called")]
    assert (times[1] - times[0]).total_seconds() >= 2


async def test_what_may_have_been_billed_is_charged_as_an_estimate_and_not_repeated() -> None:
    script = [{"error": {"kind": "timeout", "message": "too slow", "maybe_billed": True}}, says("never")]
    ran = await run_flow(agent_flow(budgets=[{"limit": 100_000}]), "x", script=script, strict=True)
    assert ran.outcome.exit_code == 1
    assert len(ran.requests) == 1
    (usage,) = ran.of("agent.usage")
    assert usage.estimated
    assert usage.usage.tokens > 4000  # nothing was seen of the answer, so the whole estimate
    assert ran.outcome.gauges[0].used == usage.usage.tokens
    again = await run_flow(agent_flow(agent={"retry_maybe_billed": True}), "x", script=script, strict=True)
    assert again.text == "never"


async def test_failures_for_good_are_not_retried() -> None:
    for kind in ("auth", "quota", "model_not_found", "context_overflow", "content_filter", "bad_request"):
        script = [{"error": {"kind": kind, "message": "no"}}, says("never")]
        ran = await run_flow(agent_flow(), "x", script=script, strict=True)
        assert len(ran.requests) == 1, kind
        assert ran.outcome.error is not None
        assert ran.outcome.error.code == f"model.{kind}"


@pytest.mark.parametrize("wish", ["continue", "branch"])
async def test_on_error_lets_the_run_go_on(wish: str) -> None:
    document = flow(
        [
            node("start", "input"),
            node("a", "agent", on_error=wish),
            node("end", "output"),
            node("oops", "output"),
        ],
        [("start", "a"), ("a", "end"), *([("a.error", "oops")] if wish == "branch" else [("start", "oops")])],
    )
    ran = await run_flow(
        document, "x", script=[{"error": {"kind": "auth", "message": "no key"}}], strict=True
    )
    assert ran.outcome.state == "completed"
    (failed,) = ran.of("node.failed")
    assert failed.handled
    if wish == "branch":
        assert ran.outcome.outputs["oops"]["code"] == "model.auth"
        assert "end" not in ran.outcome.outputs
    else:
        assert ran.outcome.outputs["end"] is None


async def test_a_budget_stop_can_be_caught_by_a_branch() -> None:
    document = flow(
        [
            node("start", "input"),
            node("a", "agent", on_error="branch"),
            node("b", "budget", metric="tokens", limit=0),
            node("end", "output"),
            node("sorry", "template", text="Too much for today: {{ input.code }}"),
        ],
        [("start", "a"), ("b", "a", "budget"), ("a", "end"), ("a.error", "sorry"), ("sorry", "end")],
    )
    ran = await run_flow(document, "x", script=[], strict=True)
    assert ran.outcome.exit_code == 0
    assert ran.text == "Too much for today: budget.exceeded"


async def test_a_node_with_a_bug_fails_the_run_and_not_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    from nodes.template import node as template
    from runtime.node import Inputs, NodeContext, NodeResult, NodeType
    from runtime.registry import Registry, installed

    async def buggy(config: Any, inputs: Inputs, ctx: NodeContext) -> NodeResult:
        raise ZeroDivisionError("oops")

    broken = NodeType(
        name="broken", config=template.config, title="B", category="Text", help="h", icon="i",
        inputs=template.inputs, outputs=template.outputs, run=buggy,
    )  # fmt: skip
    registry = Registry(list, {**{t.name: t for t in installed().all()}, "broken": broken})
    async with Bench(registry=registry) as bench:
        ran = await bench.run(flow([node("b", "broken", text="x"), node("end", "output")], [("b", "end")]))
    assert ran.outcome.state == "failed"
    assert ran.outcome.error is not None
    assert "ZeroDivisionError" in ran.outcome.error.message
    assert ran.of("run.finished")[0].state == "failed"
