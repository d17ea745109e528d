"""Nothing that was said or stored reaches a model twice by two ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.facts import FactWrite, Shelf
from runtime.testing import Bench, Ran
from tests.flows import agent_flow, says
from tests.quick import examples
from tests.runtime.memory_service.test_assembly import COUNTER, left_out, parts, with_window

SHELF = Shelf("rehearsal", "f", "user", "local")
BOTH: dict[str, Any] = {
    "scope": "user",
    "episodes": 2,
    "priming": {"enabled": True, "previous_session_turns": 1},
}


def sent(ran: Ran) -> str:
    return "\n".join(message.content or "" for message in ran.requests[-1].messages)


@pytest.mark.promise("MEM-24")
async def test_an_exchange_that_comes_along_as_a_turn_is_not_recalled_too() -> None:
    flow = agent_flow(memory=BOTH)
    async with Bench() as bench:
        await bench.run(flow, "The brake squeals.", script=[says("Clean it.")], session="a")
        await bench.run(flow, "The brake is worn.", script=[says("Replace it.")], session="a")
        ran = await bench.run(flow, "The brake?", script=[says("x")], session="b")
        assert sent(ran).count("The brake is worn.") == sent(ran).count("The brake squeals.") == 1
        assert [item.ref for item in parts(ran)["prior"].items] == ["turn/2"]
        assert [item.ref for item in parts(ran)["passages"].items] == ["episode/1"]
        assert left_out(ran) == {"episode/2": "sent as prior turn"}


@pytest.mark.promise("MEM-24")
async def test_once_the_turn_gives_way_the_exchange_may_be_recalled(tmp_path: Path) -> None:
    flow = agent_flow(agent={"max_output_tokens": 50}, memory=BOTH)
    async with Bench(settings=with_window(tmp_path, 2100)) as bench:
        long = "Clean it. " + "And so on. " * 500
        await bench.run(flow, "The brake squeals.", script=[says(long)], session="a")
        ran = await bench.run(flow, "The brake? " + "word " * 600, script=[says("x")], session="b")
    assert left_out(ran) == {"turn/1": "stage 1: turns of earlier sessions"}
    assert [item.ref for item in parts(ran)["passages"].items] == ["episode/1"]
    assert sent(ran).count("The brake squeals.") == 1
    (gave,) = ran.of("context.assembled")[-1].gave_way
    assert (gave.stage, gave.items) == (1, 1)
    assert gave.before > 2050 >= gave.after == COUNTER.count("m", ran.requests[-1])


NAMES = [f"word{letter}" for letter in "abcdefghijkl"]


@pytest.mark.promise("MEM-24")
@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["full", "buffer", "recall", "summary"]),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([None, "plain", "json"]),
    st.sampled_from([30, 1500]),
    st.integers(0, 2),
)
async def test_whatever_the_settings_no_message_and_no_fact_is_sent_twice(
    mode: str, episodes: int, turns: int, style: str | None, tokens: int, most: int
) -> None:
    context: dict[str, Any] = {"mode": mode}
    context |= {"recall": {"keep_recent": 2}, "summary": {"threshold_chars": 100, "keep_last": 2}}.get(
        mode, {}
    )
    memory: dict[str, Any] = {
        "scope": "user", "episodes": episodes, "injection": {"tokens": tokens},
        "priming": {"enabled": turns > 0, "previous_session_turns": turns, "max_known_facts": most},
        "supporting": {} if style is None else {"style": style},
    }  # fmt: skip
    flow = agent_flow(agent={"context": context}, memory=memory)
    async with Bench() as bench:
        for number in range(3):
            wish = FactWrite(key=f"k{number}", value=f"fact{number} brake", origin="user")
            await bench.record.write_fact(SHELF, wish, bench.clock.now(), lambda _written: [], run_id=None)
        for number, name in enumerate(NAMES):
            reply = says(f"said{name[-1]} brake")
            script = [reply, says("They spoke.", purpose="summary")]
            session = "a" if number < 5 else "b"
            ran = await bench.run(flow, f"{name} brake", script=script, session=session, strict=False)
            text = sent(ran)
            told = [*NAMES, *(f"said{each[-1]}" for each in NAMES), *(f"fact{n}" for n in range(3))]
            assert {each: text.count(each) for each in told if text.count(each) > 1} == {}
