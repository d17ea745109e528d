"""A whole context within a model's window: what gives way, in which order, and what the bill says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.errors import BadConfig, BadFlow
from runtime.models.counter import HeuristicCounter
from runtime.settings import Settings, load_settings
from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says

COUNTER = HeuristicCounter()
LONG = " and more" * 50


def with_window(folder: Path, window: int, max_output: int = 0) -> Settings:
    """Settings in which the default model, whose part the scripted one takes, has a window."""
    more = f"\nmax_output = {max_output}" if max_output else ""
    path = folder / "config.toml"
    path.write_text(f"[providers.local]\nwindow = {window}{more}\n")
    path.chmod(0o600)
    return load_settings({"FARTHING_CONFIG": str(path), "FARTHING_MODEL": "local:m"}, folder=None)


def parts(ran: Ran, call: int = -1) -> dict[str, Any]:
    return {section.name: section for section in ran.of("context.assembled")[call].sections}


def left_out(ran: Ran) -> dict[str, str | None]:
    return {item.ref: item.why for item in ran.of("context.assembled")[-1].left_out}


@pytest.mark.promise("MEM-13")
async def test_the_oldest_history_gives_way_before_the_window_does(tmp_path: Path) -> None:
    document = agent_flow(agent={"context": {"mode": "full"}, "max_output_tokens": 50})
    async with Bench(settings=with_window(tmp_path, 400)) as bench:
        for turn in range(12):
            text = f"turn {turn} " + "word " * 30
            ran = await bench.run(document, text, script=[says("and so on " * 3)])
            (request,) = ran.requests
            assert COUNTER.count("m", request) <= 350
            assert request.messages[-1].content == text
    assert [m.role for m in request.messages][:2] == ["user", "assistant"]
    assert (request.messages[-3].content or "").startswith("turn 10 ")
    history, turn_ = parts(ran)["history"], parts(ran)["turn"]
    assert (history.first + history.count, turn_.first) == (22, 22)
    reasons = ["stage 2: old turns", "stage 5: all but the latest turns"]
    assert list(left_out(ran).values()) == reasons
    assert list(left_out(ran)) == ["history/0-1", f"history/2-{history.first - 1}"]
    gave = ran.of("context.assembled")[-1].gave_way
    assert [(each.stage, each.name, each.items) for each in gave] == [
        (2, "old turns", 1),
        (5, "all but the latest turns", 4),
    ]
    assert gave[0].before > gave[0].after == gave[1].before > 350 >= gave[1].after
    assert sum(item.tokens for item in ran.of("context.assembled")[-1].left_out) > 0


@pytest.mark.promise("MEM-13")
async def test_what_cannot_be_left_out_and_does_not_fit_is_named(tmp_path: Path) -> None:
    document = agent_flow(agent={"instructions": "be brief " * 200, "max_output_tokens": 50})
    async with Bench(settings=with_window(tmp_path, 300)) as bench:
        ran = await bench.run(document, "hello", script=[says("x")])
    assert ran.requests == ()
    error = ran.outcome.error
    assert error is not None
    assert error.code == "context.too_large"
    assert "tokens and 250 are available: system" in error.message
    assert error.remedy is not None
    assert "Shorten system" in error.remedy
    assert ran.of("budget.reserved", "model.called") == []


async def test_memory_takes_no_more_than_its_share_of_what_the_window_leaves(tmp_path: Path) -> None:
    memory = {"scope": "user"}
    write = [calls("memory_write", {"key": f"k{n:02}", "value": "word " * 25}) for n in range(8)]
    agent = {"max_output_tokens": 100, "max_iterations": 30}
    async with Bench(settings=with_window(tmp_path, 1500)) as bench:
        await bench.run(agent_flow(agent=agent, memory=memory), "go", script=[*write, says("x")], session="a")
        ran = await bench.run(agent_flow(agent=agent, memory=memory), "hi", script=[says("x")], session="b")
        found = parts(ran)
        share = int((1500 - 100 - found["tools"].tokens) * 0.30)
        assert 0 < found["known_facts"].tokens <= share
        assert set(left_out(ran).values()) == {"tokens"}
        none = agent_flow(agent=agent, memory={**memory, "supporting": {"ratio": 0}})
        ran = await bench.run(none, "hi", script=[says("x")], session="c")
        assert "known_facts" not in parts(ran)
        assert len(left_out(ran)) == 8


async def test_a_window_that_the_answer_fills_is_refused_before_the_run(tmp_path: Path) -> None:
    document = agent_flow(agent={"max_output_tokens": 300})
    async with Bench(settings=with_window(tmp_path, 300)) as bench:
        with pytest.raises(BadConfig) as found:
            await bench.run(document, "hello", script=[says("x")])
    assert found.value.node_id == "a"
    assert "300 tokens leaves nothing" in found.value.message


@pytest.mark.parametrize("field", ["known_fact", "passage", "Passages"])
async def test_a_misspelled_section_is_refused(field: str) -> None:
    document = agent_flow(memory={"supporting": {"max_items": {field: 3}}})
    with pytest.raises(BadFlow) as found:
        await run_flow(document, "go")
    (problem,) = found.value.problems
    assert problem.path.endswith(f"supporting.max_items.{field}")


async def test_no_more_facts_than_the_section_may_have_and_the_best_of_them() -> None:
    document = agent_flow(memory={"supporting": {"max_items": {"known_facts": 2}}})
    facts = {"a": "tea", "b": "the brake squeals", "c": "lamps", "d": "a brake cable"}
    async with Bench() as bench:
        write = [calls("memory_write", {"key": key, "value": value}) for key, value in facts.items()]
        await bench.run(document, "go", script=[*write, says("x")])
        ran = await bench.run(document, "The brake?", script=[says("x")])
    items = {item.ref for item in parts(ran)["known_facts"].items}
    assert items == {"fact/b", "fact/d"}
    assert left_out(ran) == {"fact/a": "max_items", "fact/c": "max_items"}
    assert "brake squeals" in (ran.requests[0].messages[-1].content or "")
    assert ran.requests[0].messages[0].role != "system"


async def test_the_last_turns_of_the_last_session_come_along_and_go_first(tmp_path: Path) -> None:
    memory = {"scope": "user", "priming": {"enabled": True, "previous_session_turns": 2}}
    document = agent_flow(agent={"max_output_tokens": 50}, memory=memory)
    async with Bench(settings=with_window(tmp_path, 2100)) as bench:
        for turn in range(3):
            await bench.run(document, f"turn {turn}", script=[says(f"answer {turn}" + LONG)], session="a")
        await bench.run(document, "other", script=[says("x")], session="b", user="eve")
        first = await bench.run(document, "hello", script=[says("hi")], session="b")
        sent = [m.content for m in first.requests[0].messages]
        assert sent == ["turn 1", "answer 1" + LONG, "turn 2", "answer 2" + LONG, "hello"]
        prior = parts(first)["prior"]
        assert [item.ref for item in prior.items] == ["turn/2", "turn/3"]
        assert prior.items[0].source == "session a"
        assert len(first.of("model.called")[0].messages) == 5, "they stand on this timeline too"
        second = await bench.run(document, "again", script=[says("ho")], session="b")
        assert [m.content for m in second.requests[0].messages][4:] == ["hello", "hi", "again"]
        long = await bench.run(document, "word " * 2000, script=[says("y")], session="b")
        assert "prior" not in parts(long)
        assert left_out(long) == {
            "turn/2": "stage 1: turns of earlier sessions",
            "turn/3": "stage 1: turns of earlier sessions",
        }
        assert long.requests[0].messages[0].content == "hello"


async def test_what_comes_along_has_a_budget_of_its_own_and_its_taint_with_it() -> None:
    memory = {"scope": "user", "priming": {"enabled": True, "token_budget": 40}}
    document = agent_flow(memory=memory)
    async with Bench() as bench:
        await bench.run(document, "word " * 50, script=[says("x")], session="a")
        await bench.run(document, "short", script=[says("y")], session="a")
        ran = await bench.run(document, "hello", script=[says("x")], session="b")
        assert [m.content for m in ran.requests[0].messages] == ["short", "y", "hello"]
        none = agent_flow(agent={"context": {"mode": "none"}}, memory=memory)
        ran = await bench.run(none, "hello", script=[says("x")], session="c")
        assert [m.content for m in ran.requests[0].messages] == ["hello"]
