"""Lifecycle in use: what fades, what stays for good, what a person said, and the way back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from runtime.clock import VirtualClock
from runtime.errors import BadFlow
from runtime.facts import FactWrite, Shelf
from runtime.memory_service.consolidated import undo
from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says
from tests.runtime.memory_service.test_maintenance import events_of

ON = {"scope": "user", "lifecycle": {"enabled": True}}
ANN = Shelf("rehearsal", "f", "user", "local")


def hours(bench: Bench, number: float) -> None:
    clock = bench.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(number * 3600)


async def write(bench: Bench, key: str, value: Any = "v", origin: str = "derived", **more: Any) -> None:
    wish = FactWrite(key=key, value=value, origin=origin, confidence=0.7, **more)  # type: ignore[arg-type]
    await bench.record.write_fact(ANN, wish, bench.clock.now(), lambda _written: [], run_id=None)


async def say(
    bench: Bench, text: str = "hello", *, memory: dict[str, Any] | None = None, session: str
) -> Ran:
    return await bench.run(agent_flow(memory=memory or ON), text, script=[says("ok")], session=session)


async def current(bench: Bench) -> dict[str, str]:
    return {fact.key: fact.origin for fact in await bench.record.facts(ANN) if not fact.internal}


@pytest.mark.promise("MEM-19")
async def test_derived_facts_fade_and_what_anybody_said_or_wrote_does_not() -> None:
    async with Bench() as bench:
        for origin in ("derived", "model", "user", "operator"):
            await write(bench, origin, origin=origin)
        hours(bench, 24 * 90)
        ran = await say(bench, session="a")
        assert "derived:" in (ran.requests[0].messages[0].content or ""), "it fades after the turn"
        assert set(await current(bench)) == {"derived", "model", "user", "operator"}, "it was just used"
        hours(bench, 24 * 90)
        await say(bench, session="b", memory={**ON, "injection": {"tokens": 0}})
        assert await current(bench) == {"model": "model", "user": "user", "operator": "operator"}
        (event,) = await events_of(bench, kind="memory.consolidated")
        assert (event["faded"], event["keys"]) == (1, ["derived"])
        assert event["changes"][0]["action"] == "fade"
        finished = await events_of(bench, kind="run.finished")
        assert [each["state"] for each in finished] == ["completed"]


async def test_nothing_fades_unless_it_is_asked_for() -> None:
    async with Bench() as bench:
        await write(bench, "derived")
        hours(bench, 24 * 400)
        await say(bench, session="a", memory={"scope": "user", "injection": {"tokens": 0}})
        assert await current(bench) == {"derived": "derived"}
        assert await events_of(bench, kind="run.started") == []
        assert await bench.record.accesses(ANN) == {}


@pytest.mark.promise("MEM-19")
async def test_what_is_used_often_stays_for_good_and_the_way_back() -> None:
    async with Bench() as bench:
        await write(bench, "drink", "tea")
        for turn in range(5):
            hours(bench, 24)
            await say(bench, session=f"s{turn}")
        hours(bench, 24)
        await say(bench, session="last")
        assert await current(bench) == {"drink": "model"}
        (event,) = await events_of(bench, kind="memory.consolidated")
        assert (event["promoted"], event["faded"]) == (1, 0)
        versions = await bench.record.fact_versions(ANN, "drink")
        assert [(f.state, f.origin, f.source) for f in versions] == [
            ("superseded", "derived", None),
            ("current", "model", "promoted/1"),
        ]
        hours(bench, 24 * 365)
        await say(bench, session="much later", memory={**ON, "injection": {"tokens": 0}})
        assert await current(bench) == {"drink": "model"}
        done = await undo(bench.record, "rehearsal", "local", "ada", bench.clock.now())
        assert (done.keys, done.left) == (("drink",), ())
        assert await current(bench) == {"drink": "derived"}


async def test_a_look_comes_once_in_its_interval_and_many_do_what_one_does() -> None:
    """The score is only changed by uses, so that looks do not wear it down."""
    outcomes = []
    for interval in (1, 24 * 20):
        memory = {**ON, "lifecycle": {"enabled": True, "decay_check_interval_hours": interval}}
        memory["injection"] = {"tokens": 0}
        async with Bench() as bench:
            await write(bench, "derived")
            for turn in range(7):
                hours(bench, 22)
                await say(bench, session=f"s{turn}", memory=memory)
            looks = len(await bench.record.fact_versions(ANN, "__lifecycle"))
            outcomes.append((looks, await current(bench)))
            hours(bench, 24 * 21)
            await say(bench, session="end", memory=memory)
            assert await current(bench) == {}
    assert outcomes == [(7, {"derived": "derived"}), (1, {"derived": "derived"})]


async def test_what_faded_long_ago_loses_its_value_and_until_then_can_be_taken_back() -> None:
    memory = {**ON, "injection": {"tokens": 0}}
    memory["lifecycle"] = {"enabled": True, "decayed_retention_days": 10}
    async with Bench() as bench:
        await write(bench, "taste", "likes marzipan")
        await write(bench, "back", "likes nougat", valid_to=bench.clock.now() + timedelta(days=900))
        hours(bench, 24 * 8)
        await say(bench, session="a", memory=memory)
        assert await current(bench) == {}
        await undo(bench.record, "rehearsal", "local", "ada", bench.clock.now())
        assert await current(bench) == {"back": "derived", "taste": "derived"}
        (back,) = await bench.record.facts(ANN, keys=["back"])
        assert back.valid_to is not None
        hours(bench, 24 * 8)
        await say(bench, session="b", memory=memory)
        hours(bench, 24 * 9)
        await say(bench, session="c", memory=memory)
        versions = await bench.record.fact_versions(ANN, "taste")
        assert [f.value for f in versions] == ["likes marzipan", "likes marzipan"]
        hours(bench, 24 * 2)
        await say(bench, session="d", memory=memory)
        versions = await bench.record.fact_versions(ANN, "taste")
        assert versions[-1].state == "erased"
        assert versions[-1].value.startswith("[erased ")
        events = await events_of(bench, kind="memory.consolidated")
        assert [event.get("emptied", 0) for event in events] == [0, 0, 2]


@pytest.mark.promise("MEM-19")
async def test_past_exchanges_fade_unless_they_are_recalled_and_the_bill_says_so() -> None:
    memory = {**ON, "episodes": 1}
    async with Bench() as bench:
        await say(bench, "The brake of my tandem squeals.", session="a", memory=memory)
        hours(bench, 150)
        ran = await say(bench, "brake?", session="b", memory=memory)
        assert "tandem squeals" in (ran.requests[0].messages[-1].content or "")
        hours(bench, 50)
        ran = await say(bench, "tandem", session="c", memory=memory)
        assert "tandem squeals" in (ran.requests[0].messages[-1].content or ""), "its use kept it"
        hours(bench, 400)
        ran = await say(bench, "squeals", session="d", memory=memory)
        assert "Past exchange" not in (ran.requests[0].messages[-1].content or "")
        (left,) = ran.of("context.assembled")[0].left_out
        assert (left.ref, left.why) == ("episode/1", "faded")
        ran = await say(bench, "squeals", session="e", memory={**memory, "episodes": 3, "lifecycle": {}})
        assert "tandem squeals" in (ran.requests[0].messages[-1].content or ""), "the timeline never fades"


async def test_an_exchange_that_is_often_recalled_stays_for_good() -> None:
    memory = {**ON, "episodes": 9}
    async with Bench() as bench:
        await say(bench, "The brake of my tandem squeals.", session="a", memory=memory)
        for turn in range(5):
            hours(bench, 20)
            await say(bench, "tandem", session=f"s{turn}", memory=memory)
        hours(bench, 24 * 300)
        ran = await say(bench, "tandem squeals", session="z", memory=memory)
        assert "tandem squeals." in (ran.requests[0].messages[-1].content or "")


async def test_inclusion_asks_for_likeness_and_youth() -> None:
    memory: dict[str, Any] = {**ON, "episodes": 3}
    strict = {**memory, "lifecycle": {"enabled": True, "inclusion": {"enabled": True}}}
    async with Bench() as bench:
        await say(bench, "The brake of my tandem squeals.", session="a", memory=memory)
        whole = await say(bench, "tandem brake squeals", session="b", memory=strict)
        assert "Past exchange" in (whole.requests[0].messages[-1].content or "")
        part = await say(bench, "brake cable lamp pump chain", session="c", memory=strict)
        assert "of my tandem" not in (part.requests[0].messages[-1].content or "")
        hours(bench, 130)
        old = await say(bench, "tandem brake squeals", session="d", memory=strict)
        assert "of my tandem" not in (old.requests[0].messages[-1].content or "")


@pytest.mark.parametrize(
    ("lifecycle", "path"),
    [
        ({"decay_rate": 0}, "lifecycle.decay_rate"),
        ({"access_boost": 0.6}, "lifecycle.access_boost"),
        ({"promotion_weight_age": 0.9}, "lifecycle"),
        ({"decay": 1}, "lifecycle.decay"),
    ],
)
async def test_settings_outside_their_range_are_refused_by_name(lifecycle: dict[str, Any], path: str) -> None:
    with pytest.raises(BadFlow) as found:
        await run_flow(agent_flow(memory={"lifecycle": lifecycle}), "go")
    (problem,) = found.value.problems
    assert problem.path.endswith(path)


async def test_a_fact_that_the_model_reads_is_used_too() -> None:
    document = agent_flow(memory={**ON, "injection": {"tokens": 0}})
    async with Bench() as bench:
        await write(bench, "drink", "tea")
        hours(bench, 100)
        await bench.run(document, "go", script=[calls("memory_read", {"keys": ["drink"]}), says("x")])
        used = await bench.record.accesses(ANN)
        assert used["drink"].score == pytest.approx(0.5678794, abs=1e-6)
        assert msgspec.to_builtins(used["drink"].hits) == 1
