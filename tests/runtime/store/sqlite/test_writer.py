"""The writer thread: cancelled callers, failing verbs, many at a time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from runtime.clock import VirtualClock
from runtime.errors import Fenced
from runtime.events import NodeStarted
from runtime.record import CallIntent, CallOpened, LedgerFilter, Record
from tests.runtime.store.support import START, Scene, open_scene, rule


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    stage = await open_scene(tmp_path / "farthing.db")
    yield stage
    await stage.record.close()


@pytest.mark.promise("STO-7")
async def test_a_cancelled_verb_still_happens(scene: Scene) -> None:
    await scene.claim()
    saying = asyncio.create_task(scene.say("run-1", "a"))
    await asyncio.sleep(0)
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    await scene.say("run-1", "b")
    assert [event["node_id"] for event in (await scene.events())[2:]] == ["a", "b"]


async def test_cancelling_at_any_moment_leaves_no_hold_and_no_gap(scene: Scene) -> None:
    """Whatever await a run is cancelled at, ending it settles what its calls hold."""
    limit = rule("cap", 1_000_000, period="lifetime")
    chance = random.Random(7)
    await scene.claim("run-0")
    await scene.call("warm", limit, run_id="run-0", tokens=10)

    async def work(run_id: str) -> None:
        for step in range(5):
            call = await scene.open(f"k{step}", limit, run_id=run_id)
            assert isinstance(call, CallOpened)
            await scene.say(run_id, "between")
            await scene.close(call, 10, run_id=run_id)

    for number in range(1, 25):
        run_id = f"run-{number}"
        await scene.claim(run_id)
        task = asyncio.create_task(work(run_id))
        await asyncio.sleep(chance.random() * 0.004)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await scene.finish(run_id, "cancelled")
    events = await scene.events("run-0")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    (line,) = await scene.record.all_counters("real")
    settled = [event["tokens"] for event in events if event["type"] == "budget.settled"]
    assert (line.counter.used, line.counter.held) == (sum(settled), 0)


async def test_verbs_that_fail_leave_their_neighbours_standing(scene: Scene) -> None:
    await scene.claim()
    await scene.claim("run-2", "s2")
    await scene.finish("run-2")
    verbs = [scene.say("run-2" if number % 3 == 0 else "run-1", f"n{number}") for number in range(30)]
    answers = await asyncio.gather(*verbs, return_exceptions=True)
    for number, answer in enumerate(answers):
        assert isinstance(answer, Fenced if number % 3 == 0 else tuple)
    events = await scene.events()
    assert [event["seq"] for event in events] == list(range(1, 23))
    said = [event["node_id"] for event in events[2:]]
    assert said == [f"n{number}" for number in range(30) if number % 3]


async def test_a_verb_that_fails_half_way_is_taken_back_whole(scene: Scene) -> None:
    """It has written rows when its own code raises; the others of its transaction stay."""
    await scene.claim()
    limit = rule("cap", 1000)

    def fail(*_: object) -> list[NodeStarted]:
        raise LookupError("no event")

    def broken(key: str) -> Awaitable[object]:
        intent = CallIntent(run_id="run-1", key=key, model="m", rules=(limit,), at=scene.at)
        return scene.record.open_call(intent, [scene.event("run-1", "never")], fail)

    answers = await asyncio.gather(
        scene.say("run-1", "a"), broken("k0"), scene.say("run-1", "b"), broken("k1"), return_exceptions=True
    )
    assert [type(answer).__name__ for answer in answers] == ["tuple", "LookupError", "tuple", "LookupError"]
    assert [event["node_id"] for event in await scene.events()] == [None, None, "a", "b"]
    assert await scene.record.ledger(LedgerFilter()) == []
    assert await scene.record.all_counters("real") == []
    call = await scene.opened("k0", limit)
    assert call.counters[0].held == 1000


async def test_a_database_error_in_a_verb_is_told_and_the_writer_goes_on(scene: Scene) -> None:
    await scene.claim()
    record = scene.record

    def break_rules(rows: object) -> None:
        rows.execute("INSERT INTO pulse VALUES (1, 1)")  # type: ignore[attr-defined]

    broken = record._do(break_rules)  # type: ignore[attr-defined]
    answers = await asyncio.gather(
        scene.say("run-1", "a"), broken, scene.say("run-1", "b"), return_exceptions=True
    )
    assert [type(answer).__name__ for answer in answers] == ["tuple", "StoreError", "tuple"]
    assert [event["seq"] for event in await scene.events()] == [1, 2, 3, 4]


async def test_closing_finishes_what_was_handed_over(tmp_path: Path) -> None:
    scene = await open_scene(tmp_path / "farthing.db")
    await scene.claim()
    saying = [asyncio.create_task(scene.say("run-1", f"n{number}")) for number in range(50)]
    await asyncio.sleep(0)
    await scene.record.close()
    assert all(isinstance(answer, tuple) for answer in await asyncio.gather(*saying))


async def test_a_long_read_sees_one_snapshot_and_holds_nobody_up(scene: Scene) -> None:
    claimed = await scene.claim()
    await scene.say("run-1", *(f"n{number}" for number in range(5000)))
    record: Record = scene.record
    export = asyncio.create_task(record.events_json(claimed.session_uid))
    wrote = 0
    while not export.done():
        await scene.say("run-1", "meanwhile")
        wrote += 1
    assert wrote > 0
    assert len(await export) >= 5002


async def test_what_is_known_of_rows_is_forgotten_when_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    one, two = await open_scene(path), await open_scene(path, VirtualClock(START, seed=1))
    await one.claim("run-1", "s1")
    await two.claim("run-2", "s1")
    two.sessions["run-1"] = one.sessions["run-1"]
    limit = rule("cap", 10_000)
    for number in range(6):
        scene, run_id = ((one, "run-1"), (two, "run-2"))[number % 2]
        settled = await scene.call(f"k{number}", limit, run_id=run_id, tokens=10)
        assert settled.counters[0].used == 10 * (number + 1)
    events = await one.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    await one.record.close()
    await two.record.close()
