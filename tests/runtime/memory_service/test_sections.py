"""Memory laid out in sections by the Memory's settings: order, style, headings, most items, bounds."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.memory import Headings, InjectionLimits, MaxItems, MemoryConfig, Supporting
from runtime.errors import BadFlow
from runtime.facts import Fact, FactWrite, Shelf
from runtime.memory.candidates import Candidate
from runtime.memory.contents import SECTIONS
from runtime.memory.packing import measure
from runtime.memory_service.indexes import FactIndex
from runtime.memory_service.injecting import Wish
from runtime.memory_service.laying_out import lay_out
from runtime.memory_service.shared import Beside
from runtime.messages import ToolSpec
from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says
from tests.quick import examples
from tests.runtime.memory_service.test_assembly import COUNTER, left_out, parts, with_window

NOW = datetime(2026, 1, 5, tzinfo=UTC)
SHELF = Shelf("rehearsal", "f", "user", "local")


async def write(bench: Bench, **facts: tuple[str, str]) -> None:
    for key, (value, origin) in facts.items():
        wish = FactWrite(key=key, value=value, origin=origin)  # type: ignore[arg-type]
        await bench.record.write_fact(SHELF, wish, bench.clock.now(), lambda _written: [], run_id=None)


def sent(ran: Ran) -> tuple[str, str]:
    """The system message and the newest user message."""
    messages = ran.requests[-1].messages
    return messages[0].content or "", messages[-1].content or ""


def memory(**supporting: Any) -> dict[str, Any]:
    return {"scope": "user", "episodes": 2, "supporting": supporting}


@pytest.mark.promise("MEM-20")
async def test_sections_come_in_the_order_of_their_importance_and_nothing_else_does() -> None:
    flow = agent_flow(memory=memory(section_priority=["insights", "passages", "known_facts"]))
    async with Bench() as bench:
        await bench.run(flow, "The brake squeals.", script=[says("Clean it.")], session="a")
        await write(bench, city=("Ghent", "user"), guess=("rides far", "derived"))
        ran = await bench.run(flow, "The brake!", script=[says("x")], session="b")
        system, newest = sent(ran)
        assert re.findall("## (.*)", system) == ["Recent Insights", "Known Facts"]
        assert 'city: "Ghent" [user, 2026-01-05, 1.00]' in system
        assert "## Relevant Context\n### [session a] (2026-01-05)\nPast exchange" in newest
        assert newest.endswith("</memory>\n\nThe brake!")
        names = [part.name for part in ran.of("context.assembled")[0].sections]
        assert names == ["tools", "insights", "known_facts", "passages", "turn"]
        few = agent_flow(memory=memory(section_priority=["passages"]))
        ran = await bench.run(few, "The brake!", script=[says("x")], session="c")
        assert ran.requests[0].messages[0].role == "user"
        assert left_out(ran) == {"fact/city": "section_priority", "fact/guess": "section_priority"}


async def test_the_stable_part_stays_as_it_was_whatever_is_asked() -> None:
    flow = agent_flow(memory=memory(style="markdown", headings={"known_facts": "What <we> know"}))
    async with Bench() as bench:
        await write(bench, city=("Ghent", "user"))
        await bench.run(flow, "The brake squeals.", script=[says("Clean it.")], session="a")
        systems = {
            sent(await bench.run(flow, text, script=[says("x")], session="b"))[0]
            for text in ("brake?", "nothing", "the brake squeals again")
        }
    (system,) = systems
    assert "## What &lt;we&gt; know\n\n| Fact |\n|------|\n| city: " in system


@pytest.mark.parametrize("style", ["json", "xml"])
async def test_structured_styles_are_well_formed(style: str) -> None:
    flow = agent_flow(memory=memory(style=style))
    async with Bench() as bench:
        await write(bench, a=("x </memory> & y", "user"), b=("z", "derived"))
        system, _ = sent(await bench.run(flow, "hello", script=[says("x")], session="a"))
    body = system.removeprefix("<memory>\n").removesuffix("\n</memory>").partition("\n")[2]
    assert "</memory>" not in body
    if style == "json":
        found = json.loads(body)
        assert [*found] == ["known_facts", "insights"]
        assert "x </memory> & y" in found["known_facts"][0]["text"]
    else:
        assert body.count("<item>") == body.count("</item>") == 2
        assert "x &lt;/memory&gt; &amp; y" in body


async def test_plan_and_fitting_tools_stand_in_their_sections() -> None:
    flow = agent_flow(agent={"planning": True}, memory=memory(section_priority=["state", "tools"]))
    plan = calls("plan_update", {"items": [{"text": "look at the brake", "status": "in_progress"}]})
    async with Bench() as bench:
        ran = await bench.run(
            flow, "read a fact from memory", script=[plan, says("x"), says("x")], strict=False
        )
        assert "tool hints" in [part.name for part in ran.of("context.assembled")[0].sections]
        assert "- memory_read: " in (ran.requests[0].messages[-1].content or "")
        system = ran.requests[1].messages[0].content or ""
        assert "## Active Plan\n" in system
        assert system.count("look at the brake") == 1, "it stands in its section alone"


@pytest.mark.parametrize(
    ("supporting", "path"),
    [
        ({"section_priority": ["known_fact"]}, "supporting.section_priority"),
        ({"section_priority": ["state", "state"]}, "supporting.section_priority"),
        ({"headings": {"facts": "x"}}, "supporting.headings.facts"),
        ({"headings": {"state": "two\nlines"}}, "supporting.headings.state"),
        ({"style": "yaml"}, "supporting.style"),
        ({"max_items": {"insight": 1}}, "supporting.max_items.insight"),
    ],
)
async def test_what_is_misspelled_is_refused(supporting: dict[str, Any], path: str) -> None:
    with pytest.raises(BadFlow) as found:
        await run_flow(agent_flow(memory={"supporting": supporting}), "go")
    (problem,) = found.value.problems
    assert path in problem.path
    if "known_fact" in str(supporting):
        assert "known_facts" in str(problem)


async def test_each_section_has_its_most_items_and_the_best_come() -> None:
    flow = agent_flow(memory=memory(style="plain", max_items={"known_facts": 1, "insights": 0}))
    async with Bench() as bench:
        await write(bench, a=("tea", "user"), b=("the brake squeals", "user"), c=("lamp", "derived"))
        ran = await bench.run(flow, "my brake", script=[says("x")])
        assert [item.ref for item in parts(ran)["known_facts"].items] == ["fact/b"]
        assert left_out(ran) == {"fact/a": "max_items", "fact/c": "max_items"}


async def test_summaries_are_cut_by_their_section_like_the_rest(tmp_path: Path) -> None:
    kept = {"threshold_chars": 100, "keep_last": 2, "mode": "summary"}
    agent = {"context": kept, "max_output_tokens": 50}
    flow = agent_flow(agent=agent, memory=memory(section_priority=["summaries"]))
    async with Bench(settings=with_window(tmp_path, 2000)) as bench:
        note = says("They spoke of brakes.", purpose="summary")
        for turn in range(4):
            ran = await bench.run(
                flow, f"turn {turn} " + "word " * 30, script=[says("ok"), note], strict=False
            )
        assert "## Conversation Summaries\n- They spoke of brakes." in sent(ran)[0]
        assert [part.name for part in ran.of("context.assembled")[-1].sections].count("summaries") == 1


@pytest.mark.promise("MEM-20")
@pytest.mark.parametrize("style", ["plain", "json"])
async def test_recalled_messages_stand_in_the_section_of_passages(style: str) -> None:
    agent = {"context": {"mode": "recall", "keep_recent": 0, "k": 1}}
    order = ["passages", "known_facts"]
    flow = agent_flow(
        agent=agent, memory=memory(style=style, section_priority=order, headings={"passages": "Said before"})
    )
    async with Bench() as bench:
        await write(bench, city=("Ghent", "user"))
        await bench.run(flow, "The brake of another bike.", script=[says("Oh.")], session="a")
        await bench.run(flow, "The <brake> squeals.", script=[says("Clean it.")], session="b")
        ran = await bench.run(flow, "The brake?", script=[says("x")], session="b")
        newest = sent(ran)[1]
        refs = [item.ref for item in parts(ran)["passages"].items]
        assert refs == ["message/0", "episode/1"]
        assert parts(ran)["passages"].items[0].source == "this session"
        assert newest.count("squeals") == 1
        assert "<recalled>" not in newest
        if style == "plain":
            assert "## Said before\n### [this session]\nuser: The &lt;brake&gt; squeals.\n" in newest
        else:
            assert json.loads(newest.split("\n")[2])["passages"][0]["source"] == "this session"
        few = agent_flow(agent=agent, memory=memory(section_priority=["known_facts"]))
        ran = await bench.run(few, "The brake?", script=[says("x")], session="b")
        assert "squeals" not in sent(ran)[1]
        assert [why for ref, why in left_out(ran).items() if ref[:8] == "message/"] == ["section_priority"]


texts = st.text(st.sampled_from("ab <&\n\u4e2d\U0001f600"), max_size=60)
facts = st.lists(st.tuples(texts, st.sampled_from(["user", "derived", "tainted"])), max_size=6)
settings_ = st.builds(
    Supporting,
    section_priority=st.none() | st.lists(st.sampled_from(SECTIONS), unique=True).map(tuple),
    style=st.sampled_from(["plain", "markdown", "json", "xml"]),
    headings=st.builds(Headings, known_facts=st.none() | st.just("Facts"), passages=st.none() | st.just("P")),
    max_items=st.builds(
        MaxItems, known_facts=st.none() | st.integers(0, 4), passages=st.none() | st.integers(0, 3)
    ),
)
limits = st.builds(
    InjectionLimits, tokens=st.integers(0, 300), lines=st.integers(0, 60), bytes=st.integers(0, 900)
)


@settings(max_examples=examples(120))
@given(
    facts,
    st.lists(texts, max_size=4),
    st.lists(texts, max_size=3),
    texts,
    settings_,
    limits,
    st.none() | st.integers(0, 200),
)
def test_whatever_the_settings_no_limit_is_passed(
    said: list[tuple[str, str]],
    past: list[str],
    summaries: list[str],
    state: str,
    supporting: Supporting,
    injection: InjectionLimits,
    share: int | None,
) -> None:
    config = MemoryConfig(supporting=supporting, injection=injection, scope="user")
    known = [
        Fact(key=f"k{n}", value=value, origin=origin, recorded_at=NOW)  # type: ignore[arg-type]
        for n, (value, origin) in enumerate(said)
    ]
    episodes = [
        Candidate(ref=f"episode/{n}", text=text, kind="episode", at=NOW) for n, text in enumerate(past)
    ]
    tools = (ToolSpec(name="a_tool", description="Does a and b.", parameters={}),)
    beside = Beside(tuple(summaries), state, tools)

    def count(text: str) -> int:
        return max(1, len(text) // 4)

    wish = Wish("a b", share, NOW, count)
    found = asyncio.run(lay_out(config, known, episodes, FactIndex(), wish, beside))
    again = asyncio.run(lay_out(config, known, episodes, FactIndex(), wish, beside))
    assert found == again, "deterministic"
    context = found
    for text in (context.text, context.recall):
        assert text == "" or (text.startswith("<memory>\n") and text.endswith("\n</memory>"))
        assert text.count("</memory>") <= 1, "nothing leaves the fence"
    whole = [text for text in (context.text, context.recall) if text]
    size = measure("\n\n".join(whole), count)
    assert size.lines <= injection.lines and size.bytes <= injection.bytes
    tokens = max(size.tokens, sum(map(count, whole))) if whole else 0
    assert tokens <= min(injection.tokens, injection.tokens if share is None else share)
    sections = (*context.sections, *context.recalled)
    assert sum(section.tokens for section in sections) == sum(map(count, whole))
    shown = [item.ref for section in sections for item in section.items]
    left = [item.ref for item in context.left_out]
    assert sorted([*shown, *left]) == sorted(set(shown) | set(left)), "each once"
    assert {fact.key for fact in known} == {ref[5:] for ref in [*shown, *left] if ref.startswith("fact/")}
    order = supporting.section_priority if supporting.section_priority is not None else SECTIONS
    assert {section.name for section in sections} <= {*order, "tool hints"}


@pytest.mark.promise("MEM-13")
@pytest.mark.parametrize("style", ["plain", "json"])
async def test_sections_and_history_stay_within_the_window(tmp_path: Path, style: str) -> None:
    agent = {"context": {"mode": "full"}, "max_output_tokens": 50}
    flow = agent_flow(agent=agent, memory={**memory(style=style), "priming": {"enabled": True}})
    async with Bench(settings=with_window(tmp_path, 800)) as bench:
        for n in range(12):
            wish = FactWrite(key=f"k{n}", value=f"brake {n} " + "word " * 12, origin="user")
            shelf = SHELF._replace(partition="real")
            await bench.record.write_fact(shelf, wish, bench.clock.now(), lambda _written: [], run_id=None)
        for turn in range(16):
            session = "a" if turn < 5 else "b"
            script = [says("and so on " * 5)]
            ran = await bench.run(flow, f"turn {turn} brake " + "word " * 20, script=script, session=session)
            assert ran.outcome.state == "completed"
            (request,) = ran.requests
            assert COUNTER.count("m", request) <= 750
            names = {part.name for part in ran.of("context.assembled")[0].sections}
            assert "known_facts" in names
    assert {"prior", "history"} & {ref.partition("/")[0] for ref in left_out(ran)}, "what was said gave way"
