"""Kept timelines: what is the same passes, and what is not is told by event and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.testing import KEEP, Bench, Ran, assert_timeline, difference, run_flow
from tests.flows import agent_flow, calls, flow, node, says


async def ran_of(text: str = "Fine.", tokens: int = 10) -> Ran:
    return await run_flow(agent_flow(), "Hello", script=[says(text, tokens)], strict=True)


async def test_same_run_has_the_kept_timeline(tmp_path: Path) -> None:
    kept = tmp_path / "timelines" / "hello.json"
    assert_timeline(await ran_of(), kept, keep=True)
    assert_timeline(await ran_of(), kept)
    assert_timeline(await ran_of(), str(kept))
    assert_timeline(await ran_of(), (await ran_of()).timeline())
    assert kept.read_text(encoding="utf-8").endswith("]\n")


async def test_other_answer_is_told_by_event_and_field(tmp_path: Path) -> None:
    kept = tmp_path / "hello.json"
    assert_timeline(await ran_of(), kept, keep=True)
    with pytest.raises(AssertionError) as told:
        assert_timeline(await ran_of("Poor.", 12), kept)
    lines = str(told.value).splitlines()
    assert lines[0] == f"The timeline is not that of {kept}:"
    at = lines.index("  a · 1 · agent.response")
    assert lines[at + 1 : at + 3] == ['-     text: "Fine."', '+     text: "Poor."']
    at = lines.index("  a · 1 · agent.usage")
    assert lines[at + 1 : at + 3] == ["-     usage.input: 10", "+     usage.input: 12"]
    assert KEEP in lines[-1]


async def test_lost_and_new_events_are_told_whole(tmp_path: Path) -> None:
    script = [calls("memory_write", {"key": "k", "value": "v"}), says("Fine.")]
    with_tool = await run_flow(agent_flow(memory={}), "Hello", script=script, strict=True)
    without = await run_flow(agent_flow(memory={}), "Hello", script=[says("Fine.")], strict=True)
    lines = difference(with_tool.timeline(), without.timeline())
    lost = [line for line in lines if line.startswith("- a · 1 · tool.request · memory_write")]
    assert len(lost) == 1 and '"key":"k"' in lost[0]
    back = difference(without.timeline(), with_tool.timeline())
    assert any(line.startswith("+ a · 1 · tool.request · memory_write") for line in back)


async def test_missing_timeline_says_how_to_keep_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = await ran_of()
    with pytest.raises(AssertionError, match=f"{KEEP}=1"):
        assert_timeline(ran, tmp_path / "none.json")
    monkeypatch.setenv(KEEP, "1")
    assert_timeline(ran, tmp_path / "none.json")
    monkeypatch.delenv(KEEP)
    assert_timeline(ran, tmp_path / "none.json")


def test_difference_is_empty_only_for_equal_timelines() -> None:
    one: list[dict[str, Any]] = [{"type": "a", "x": [1, {"y": 2}]}, {"type": "b"}]
    assert difference(one, [{"type": "a", "x": [1, {"y": 2}]}, {"type": "b"}]) == []
    assert difference(one, [{"type": "a", "x": [1, {"y": 3}]}, {"type": "b"}]) == [
        "  a", "-     x[1].y: 2", "+     x[1].y: 3",
    ]  # fmt: skip
    assert difference(one, [{"type": "a", "x": [1]}, {"type": "b"}]) == [
        "  a", '-     x: [1,{"y":2}]', "+     x: [1]",
    ]  # fmt: skip
    assert difference(one, [{"type": "a"}, {"type": "b"}])[2] == "+     x: (absent)"
    assert difference(one, [{"type": "b"}, one[0]]) != []
    assert difference([], one) == ['+ a  {"x":[1,{"y":2}]}', "+ b"]


async def test_long_difference_is_cut_with_a_count(tmp_path: Path) -> None:
    many = flow([node(f"t{i}", "template", text="x") for i in range(40)] + [node("end", "output")],
                [(f"t{i}", "end") for i in range(40)])  # fmt: skip
    ran = await run_flow(many)
    with pytest.raises(AssertionError, match=r"… and \d+ more lines"):
        assert_timeline(ran, [])


async def test_parallel_tool_calls_stand_in_one_order_whatever_the_store(tmp_path: Path) -> None:
    """A store that takes its time lets the calls of a step overlap; one in memory does not."""
    from runtime.clock import VirtualClock
    from runtime.store.opening import open_record

    both = says(
        "",
        tool_calls=[
            {"name": "memory_write", "arguments": {"key": "a", "value": 1}},
            {"name": "memory_read", "arguments": {"keys": ["b"]}},
        ],
    )
    kept = []
    for path in (None, tmp_path / "f.db"):
        clock = VirtualClock()
        async with Bench(record=open_record(path, clock), clock=clock) as bench:
            ran = await bench.run(agent_flow(memory={}), "x", script=[both, says("done")], strict=True)
            kept.append(ran.timeline())
    assert difference(kept[0], kept[1]) == []
    types = [event["type"] for event in kept[0]]
    first = types.index("tool.request")
    assert types[first : first + 2] == ["tool.request", "tool.request"]
