"""What comes along into a session whatever is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.memory import Priming as PrimingConfig
from runtime.facts import Fact, FactWrite, Shelf
from runtime.memory.priming import Priming
from runtime.memory_service.exchanges import Hidden
from runtime.memory_service.priming import Earlier, prime, rules_of, summaries_of
from runtime.testing import Bench, Ran
from tests.flows import agent_flow, says
from tests.runtime.memory_service.test_assembly import left_out, parts, with_window
from tests.runtime.memory_service.test_maintenance import COMPACTS, talk

NOW = datetime(2026, 1, 5, tzinfo=UTC)
SHELF = Shelf("rehearsal", "f", "user", "local")
PRIMES: dict[str, Any] = {"scope": "user", "injection": {"tokens": 90}, "priming": {"enabled": True}}


def primes(**priming: Any) -> dict[str, Any]:
    return agent_flow(memory={**PRIMES, "priming": {"enabled": True, **priming}})


async def write(bench: Bench, key: str, value: str, **more: Any) -> None:
    wish = FactWrite(key=key, value=value, **{"origin": "user", **more})
    await bench.record.write_fact(SHELF, wish, bench.clock.now(), lambda _written: [], run_id=None)


async def fill(bench: Bench) -> None:
    """More than fits; what stands out is the newest."""
    for n in range(8):
        await write(bench, f"lamp{n}", "a lamp of the old kind with a long story")
    bench.clock.advance(60)  # type: ignore[attr-defined]
    await write(bench, "name", "Ada")


def system(ran: Ran) -> str:
    message = ran.requests[0].messages[0]
    return message.content or "" if message.role == "system" else ""


@pytest.mark.promise("MEM-20")
async def test_what_stands_out_comes_along_whatever_is_asked_and_stays_where_it_is() -> None:
    async with Bench() as bench:
        await fill(bench)
        flow = primes(max_known_facts=1)
        systems = set()
        for text in ("Which lamp of the old kind?", "Hello"):
            ran = await bench.run(flow, text, script=[says("x")], session=text)
            systems.add(system(ran))
            assert "lamp" in (ran.requests[0].messages[-1].content or "") or text == "Hello"
        (one,) = systems
        assert 'name: "Ada"' in one
        assert "lamp" not in one
        assert sum(part.tokens for part in ran.of("context.assembled")[0].sections) > 0
        without = agent_flow(memory={**PRIMES, "priming": {}})
        ran = await bench.run(without, "Which lamp of the old kind?", script=[says("x")], session="z")
        assert "Ada" not in system(ran) + (ran.requests[0].messages[-1].content or "")


async def test_where_all_facts_fit_nothing_changes() -> None:
    sent = []
    for memory in ({"scope": "user"}, {"scope": "user", "priming": {"enabled": True}}):
        async with Bench() as bench:
            await write(bench, "a", "tea")
            await write(bench, "b", "milk", origin="derived")
            ran = await bench.run(agent_flow(memory=memory), "hi", script=[says("x")], session="one")
            sent.append([message.content for message in ran.requests[0].messages])
    assert sent[0] == sent[1]


async def test_in_sections_they_come_before_what_fits_the_question() -> None:
    memory = {**PRIMES, "supporting": {"section_priority": ["known_facts"], "max_items": {"known_facts": 1}}}
    async with Bench() as bench:
        await fill(bench)
        ran = await bench.run(agent_flow(memory=memory), "Which lamp?", script=[says("x")])
        assert [item.ref for item in parts(ran)["known_facts"].items] == ["fact/name"]


async def test_summaries_of_earlier_sessions_come_along(tmp_path: Path) -> None:
    agent = {"context": {"mode": "full"}, "max_output_tokens": 50}
    memory = {"scope": "user", **COMPACTS, "priming": {"enabled": True, "previous_sessions": 0}}
    flow = agent_flow(agent=agent, memory=memory)
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, flow, session="one")
        ran = await bench.run(flow, "hello", script=[says("x")], session="two")
        assert "Summaries of earlier sessions, oldest first:\n- They spoke of chain" in system(ran)
        assert parts(ran)["summaries"].tokens > 0
        none = agent_flow(agent=agent, memory={**memory, "priming": {"enabled": True, "max_summaries": 0}})
        ran = await bench.run(none, "hello", script=[says("x")], session="three")
        assert "Summaries" not in system(ran)
        ran = await bench.run(flow, "hello", script=[says("x")], session="four", user="eve")
        assert "Summaries" not in system(ran)


@pytest.mark.promise("MEM-20")
async def test_turns_and_summaries_without_room_are_on_the_bill_with_the_reason(tmp_path: Path) -> None:
    flow = agent_flow(agent={"max_output_tokens": 50}, memory={"scope": "user", "priming": {"enabled": True}})
    for window, kept, out in ((900, 0, 3), (1060, 1, 2), (9000, 3, 0)):
        async with Bench(settings=with_window(tmp_path, window)) as bench:
            for n in range(4):
                await bench.run(flow, f"The brake {n}.", script=[says("Clean it.")], session="a")
            ran = await bench.run(flow, "hello", script=[says("x")], session="b")
        assert len(parts(ran)["prior"].items if "prior" in parts(ran) else ()) == kept
        refs = [f"turn/{n}" for n in (2, 3, 4)][:out]
        assert left_out(ran) == dict.fromkeys(refs, "no room in its share of the window")
        items = ran.of("context.assembled")[-1].left_out
        assert all(item.tokens > 0 and item.source == "session a" for item in items)


@pytest.mark.promise("MEM-20")
async def test_turns_beyond_the_tokens_of_priming_are_on_the_bill_too() -> None:
    flow = agent_flow(memory={"scope": "user", "priming": {"enabled": True, "token_budget": 30}})
    async with Bench() as bench:
        for n in range(3):
            await bench.run(flow, f"The brake {n} squeals.", script=[says("Clean it.")], session="a")
        ran = await bench.run(flow, "hello", script=[says("x")], session="b")
    assert [item.ref for item in parts(ran)["prior"].items] == ["turn/3"]
    assert left_out(ran) == {"turn/1": "priming.token_budget", "turn/2": "priming.token_budget"}


def test_summaries_that_are_wished_for_and_have_no_room_are_named() -> None:
    earlier = [Earlier(f"s{n}", "text " * 10, NOW) for n in range(4)]

    def out(wished: int, **rules: Any) -> list[tuple[str, str | None]]:
        found = prime([], earlier, Priming(**rules), NOW, 0.6, len, wished)
        return [(item.ref, item.why) for item in found.left_out]

    assert out(3, max_summaries=2) == [("summary/s2", "no room in its share of the window")]
    assert out(2, max_summaries=2) == []
    assert out(2, max_summaries=2, token_budget=60) == [("summary/s1", "priming.token_budget")]


def test_a_summary_that_tells_what_was_forgotten_stays_away() -> None:
    value = {"parts": ["She likes marzipan."]}
    facts = [Fact(key=f"__compacted/a/{uid}", value=value, recorded_at=NOW) for uid in ("one", "mine")]
    facts.append(Fact(key="__compacted/other/one", value=value, recorded_at=NOW))
    nothing = Hidden(frozenset(), {})
    assert [each.session_uid for each in summaries_of(facts, "a", "mine", nothing)] == ["one"]
    assert summaries_of(facts, "a", "mine", Hidden(frozenset({"marzipan"}), {})) == []


def test_no_more_is_fetched_than_has_a_chance_to_fit() -> None:
    config = PrimingConfig(enabled=True, max_summaries=5, previous_session_turns=3)
    assert rules_of(config) == rules_of(config, 100_000) == Priming()
    small = rules_of(config, 1000)
    assert (small.max_summaries, small.max_insights, small.top_entities) == (2, 3, 1)
    assert (small.previous_session_turns, small.max_known_facts) == (1, 20)
    assert rules_of(config, 900).previous_session_turns == 0


subjects = st.none() | st.sampled_from(["ada", "bike"])
some = st.lists(
    st.builds(
        Fact,
        key=st.text("abcdef", min_size=1, max_size=3),
        value=st.text("xy ", max_size=80),
        origin=st.sampled_from(["user", "derived", "model"]),
        confidence=st.floats(0, 1),
        recorded_at=st.integers(0, 99).map(lambda hours: NOW + timedelta(hours=hours)),
        subject=subjects,
    ),
    max_size=12,
    unique_by=lambda fact: fact.key,
)


@given(some, st.integers(0, 120), st.integers(0, 4), st.integers(0, 3), st.randoms())
def test_numbers_and_tokens_are_never_passed_and_the_order_given_does_not_matter(
    facts: list[Fact], budget: int, most: int, entities: int, shuffled: Any
) -> None:
    rules = Priming(
        token_budget=budget, top_entities=entities, max_insights=most, max_known_facts=most, max_summaries=1
    )
    earlier = [Earlier("s2", "newer", NOW), Earlier("s1", "older", NOW)]

    def found(given: list[Fact]) -> Any:
        return prime(given, earlier, rules, NOW + timedelta(days=9), 0.6, lambda text: len(text) // 4 + 1)

    primed = found(facts)
    by_key = {fact.key: fact for fact in facts}
    chosen = [by_key[key] for key in primed.facts]
    assert 0 <= primed.left <= budget
    assert len({fact.key for fact in chosen}) == len(chosen)
    assert len({fact.subject for fact in chosen if fact.subject}) <= entities
    alone = [fact for fact in chosen if fact.subject is None]
    assert sum(fact.origin == "derived" for fact in alone) <= most
    assert sum(fact.origin != "derived" for fact in alone) <= most
    assert all(fact.origin == "user" or fact.confidence >= 0.6 for fact in chosen)
    assert primed.summaries in ((), ("newer",), ("older",))
    mixed = [*facts]
    shuffled.shuffle(mixed)
    assert found(mixed) == primed
