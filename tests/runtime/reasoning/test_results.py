"""Results of tools in the turn that is being answered, where the window is too small for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.messages import Message, ToolCall
from runtime.reasoning.results import cut, newest, note_for, results_of
from runtime.testing import Bench, Ran
from tests.flows import calls, flow, node, says
from tests.runtime.memory_service.test_assembly import COUNTER, left_out, with_window

TURN = (
    Message("user", "Result of a bet: none"),
    Message("assistant", None, (ToolCall("1", "look", "{}"), ToolCall("2", "count", "{}"))),
    Message("tool", "x" * 400, tool_call_id="1"),
    Message("tool", "y" * 400, tool_call_id="2"),
    Message("assistant", "act"),
    Message("user", "Result of look: " + "z" * 400),
)


def page(topic: str) -> str:
    """Looks a page up."""
    return f"{topic} " + "and so on " * 250


def test_results_are_told_by_their_calls_and_the_newest_came_together() -> None:
    found = results_of(TURN)
    assert [(each.ref, each.tool) for each in found] == [
        ("result/1", "look"), ("result/2", "count"), ("result/5", "look"),
    ]  # fmt: skip
    assert newest(found, TURN) == found[2:]
    assert newest(found[:2], TURN[:4]) == newest(found[:2], TURN[:5]) == found[:2]
    assert newest([], TURN[:1]) == []


def test_a_note_says_how_long_the_result_was_and_is_the_same_each_time() -> None:
    note = note_for(TURN[2])
    assert note == Message(
        "tool", "[left out to stay within the model's window; it had 400 characters]", tool_call_id="1"
    )
    assert note_for(TURN[2]) is note
    assert (note_for(TURN[5]).content or "").startswith("Result of look: [left out")


def test_a_result_is_cut_where_it_fits() -> None:
    shorter = cut(TURN[2], lambda message: len(message.content or "") <= 120).content or ""
    assert len(shorter) <= 120 and shorter.startswith("xxx") and shorter.endswith("it had 400 characters]")
    assert cut(TURN[2], lambda message: False) == note_for(TURN[2])


async def worked(tmp_path: Path, strategy: str, script: list[dict[str, object]]) -> Ran:
    document = flow(
        [
            node("start", "input"),
            node("a", "agent", strategy=strategy, max_output_tokens=50, max_iterations=6),
            node("book", "tool", function="page", effect="none"),
            node("end", "output"),
        ],
        [("start", "a"), ("a", "end"), ("book", "a", "tool")],
    )
    async with Bench(settings=with_window(tmp_path, 1000), tools=[page]) as bench:
        ran = await bench.run(document, "What of it?", script=script, real_tools=True)
    assert ran.outcome.state == "completed"
    assert all(COUNTER.count("m", request) <= 950 for request in ran.requests)
    return ran


@pytest.mark.promise("MEM-13")
async def test_earlier_results_of_the_turn_give_way_before_the_newest_is_cut(tmp_path: Path) -> None:
    asks = [calls("page", {"topic": topic}) for topic in ("one", "two")]
    ran = await worked(tmp_path, "tools", [*asks, says("Done.")])
    results = [message.content or "" for message in ran.requests[-1].messages if message.role == "tool"]
    assert results[0].startswith("[left out to stay within the model's window")
    assert results[1].startswith("two and so on") or '"two and so on' in results[1]
    assert set(left_out(ran).values()) == {"stage 10: hard bound"}
    bills = ran.of("context.assembled")
    assert [bool(bill.gave_way) for bill in bills] == [False, False, True]
    (warning,) = ran.of("agent.warning")
    assert warning.code == "context.emergency"
    assert "950 may be sent: results of tools are left out or cut." in warning.message
    assert "lower `max_result_tokens` of the tools, or use a model" in (warning.remedy or "")


@pytest.mark.promise("MEM-13")
async def test_results_that_come_as_messages_of_the_user_give_way_too(tmp_path: Path) -> None:
    actions = [{"action": "page", "arguments": {"topic": topic}} for topic in ("one", "two", "three")]
    actions.append({"action": "answer", "answer": "Done."})
    ran = await worked(tmp_path, "json", [says(json.dumps(action)) for action in actions])
    texts = [message.content or "" for message in ran.requests[-1].messages if message.role == "user"]
    assert [text[:33] for text in texts[1:3]] == ["Result of page: [left out to stay"] * 2
    assert "three" in texts[3]
    assert len(ran.requests[-1].messages) == 8, "no message is missing"
