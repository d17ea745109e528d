"""What of the history is sent by each context mode, and plans that an agent keeps."""

from __future__ import annotations

import pytest

from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says

LONG = "The bicycle has a worn chain and a bent wheel that must be trued. " * 4


def texts(ran: Ran, call: int = -1) -> list[str]:
    return [f"{m.role}: {m.content}" for m in ran.requests[call].messages]


async def test_summary_replaces_older_messages_once_and_is_kept() -> None:
    document = agent_flow(agent={"context": {"mode": "summary", "threshold_chars": 500, "keep_last": 2}})
    async with Bench() as bench:
        for i in range(3):
            await bench.run(document, f"{i} {LONG}", script=[says(f"answer {i}")])
        summed = {"text": "They spoke of a chain.", "purpose": "summary", "usage": {"input": 70, "output": 5}}
        ran = await bench.run(document, "next", script=[summed, says("fourth", 20)], strict=True)
        assert [event.purpose for event in ran.of("model.called")] == ["summary", "main"]
        assert ran.outcome.usage.tokens == 95
        system, *rest = texts(ran)
        assert "Summary of the earlier conversation: They spoke of a chain." in system
        assert rest[0].startswith("user: 2 The bicycle")
        assert rest[-1] == "user: next"
        assert LONG not in system
        after = await bench.run(document, "and now", script=[says("fifth")], strict=True)
        assert "They spoke of a chain." in texts(after)[0]
        assert [event.purpose for event in after.of("model.called")] == ["main"]


async def test_a_summary_that_fails_changes_nothing_and_the_turn_goes_on() -> None:
    document = agent_flow(agent={"context": {"mode": "summary", "threshold_chars": 100, "keep_last": 2}})
    async with Bench() as bench:
        for i in range(2):
            await bench.run(document, f"{i} {LONG}", script=[says("ok")])
        broken = {"purpose": "summary", "error": {"kind": "auth", "message": "no"}}
        ran = await bench.run(document, "next", script=[broken, says("fine")], strict=True)
    assert ran.text == "fine"
    assert ran.of("policy.failed")[0].policy == "summary"
    assert sum(LONG in text for text in texts(ran)) == 2


@pytest.mark.promise("BUD-18")
async def test_hidden_calls_count_and_none_is_made_beyond_the_limit() -> None:
    document = agent_flow(
        agent={"context": {"mode": "summary", "threshold_chars": 100, "keep_last": 2}},
        budgets=[{"metric": "tokens", "period": "session", "limit": 5000}],
    )
    used = 0
    async with Bench() as bench:
        for turn in range(6):
            script = [
                {"text": "sum", "purpose": "summary", "usage": {"input": 1500, "output": 0}},
                says(LONG, 500),
            ]
            ran = await bench.run(document, LONG, script=script, strict=True)
            gauge = ran.outcome.gauges[0]
            assert gauge.used >= used
            if used >= 5000:
                assert ran.requests == (), turn
                assert ran.outcome.exit_code == 3
            used = gauge.used
    assert used >= 5000


async def test_recall_brings_what_fits_the_question() -> None:
    document = agent_flow(agent={"context": {"mode": "recall", "keep_recent": 2, "k": 2}})
    async with Bench() as bench:
        await bench.run(document, "My dog Rex is afraid of thunder.", script=[says("Poor Rex.")])
        for i in range(4):
            await bench.run(
                document, f"Tell me about planet number {i}.", script=[says(f"It is planet {i}.")]
            )
        ran = await bench.run(document, "What is my dog afraid of?", script=[says("Thunder.")])
        newest = texts(ran)[-1]
        assert "<recalled>" in newest
        assert "My dog Rex is afraid of thunder." in newest
        assert newest.endswith("What is my dog afraid of?")
        later = await bench.run(document, "x", script=[says("y")])
        assert not any("<recalled>" in text and "afraid of?" in text for text in texts(later)[:-1])


async def test_a_plan_is_kept_shown_and_done() -> None:
    document = agent_flow(agent={"planning": True})
    first = {"items": [{"text": "look", "done": False}, {"text": "write", "done": False}]}
    last = {"items": [{"text": "look", "done": True}, {"text": "write", "done": True}]}
    script = [calls("plan_update", first), calls("plan_update", last), says("done")]
    ran = await run_flow(document, "go", script=script, strict=True)
    assert [(event.done, len(event.items)) for event in ran.of("plan.updated")] == [(0, 2), (2, 2)]
    assert "1. [ ] look" in texts(ran, 1)[0]
    assert "Your active plan" not in texts(ran, 2)[0]
    assert ran.text == "done"
