"""Several processes on one file: nobody is locked out, nothing is lost, the dead are cleared away."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from runtime.clock import SystemClock
from runtime.errors import Fenced
from runtime.ledger import Blocked, Counter
from runtime.record import LedgerFilter, SessionFilter
from tests.runtime.store.support import Scene, dollars, open_scene, rule


async def start(path: Path, name: str, what: str, argument: str = "") -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.runtime.store.sqlite.worker", str(path), name, what, argument),
        stdout=PIPE,
        stderr=PIPE,
    )


async def output(process: Process) -> str:
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert b"locked" not in err, err.decode()
    return out.decode()


async def check_laws(scene: Scene) -> None:
    """Seq has no gap, nothing is held, counters are what ledger and events say."""
    settled = 0
    for line in await scene.record.sessions(SessionFilter(limit=10_000)):
        events = [json.loads(body) for body in await scene.record.events_json(line.uid)]
        assert [event["seq"] for event in events] == list(range(1, line.events + 1))
        settled += sum(event["tokens"] for event in events if event["type"] == "budget.settled")
    rows = await scene.record.ledger(LedgerFilter())
    assert sum(row.usage.tokens for row in rows if row.kind in ("settle", "correct")) == settled
    for counter in await scene.record.all_counters("real"):
        assert counter.counter.held == 0


@pytest.mark.promise("EVT-2", "STO-2")
@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
async def test_processes_with_fifty_sessions_each_share_one_file(tmp_path: Path, count: int) -> None:
    path = tmp_path / "farthing.db"
    working = [await start(path, f"p{number}", "sessions", "50") for number in range(count)]
    await asyncio.gather(*map(output, working))
    scene = await open_scene(path, SystemClock())
    lines = await scene.record.sessions(SessionFilter(limit=1000))
    assert len(lines) == 50
    assert {line.runs for line in lines} == {count}
    # a session's first event; a run's first and last; three calls of three events; what waited said so
    assert all(line.events >= 1 + count * (2 + 3 * 3) for line in lines)
    await check_laws(scene)
    (counter,) = await scene.record.all_counters("real")
    assert counter.counter == Counter(count * 50 * 3 * 10)
    await scene.record.close()


@pytest.mark.slow
async def test_runs_lists_and_exports_do_not_lock_each_other_out(tmp_path: Path) -> None:
    """Twenty runs of two hundred events, a second process, a list read again and again, a long export."""
    path = tmp_path / "farthing.db"
    scene = await open_scene(path, SystemClock())
    other = await start(path, "other", "tell", "5")

    async def run(number: int) -> None:
        run_id = f"run-{number}"
        await scene.claim(run_id, f"session-{number % 5}")
        for step in range(200):
            await scene.say(run_id, f"n{step}")
        await scene.finish(run_id)

    running = asyncio.gather(*(run(number) for number in range(20)))
    exports: list[list[bytes]] = []
    while not running.done():
        await scene.record.sessions(SessionFilter())
        if scene.sessions:
            exports.append(await scene.record.events_json(scene.sessions["run-0"]))
        await asyncio.sleep(0.05)
    await running
    await output(other)
    for export in exports:
        assert [json.loads(body)["seq"] for body in export] == list(range(1, len(export) + 1))
    lines = await scene.record.sessions(SessionFilter())
    assert sum(line.events for line in lines) == 5 + 25 * 202
    await check_laws(scene)
    await scene.record.close()


@pytest.mark.promise("STO-4")
async def test_processes_that_start_at_once_make_the_schema_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "farthing.db"
    starting = [await start(path, f"p{number}", "start") for number in range(4)]
    await asyncio.gather(*map(output, starting))
    assert [file.name for file in path.parent.iterdir()] == ["farthing.db"]


@pytest.mark.promise("BUD-8")
@pytest.mark.slow
async def test_two_processes_overspend_a_session_by_one_call_at_most(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    spending = [await start(path, f"p{number}", "spend", "4") for number in range(2)]
    calls = sum([int(out) for out in await asyncio.gather(*map(output, spending))])
    assert 1 <= calls <= 3
    scene = await open_scene(path, SystemClock())
    (counter,) = await scene.record.all_counters("real")
    assert counter.counter == Counter(calls * dollars("0.40"))
    await check_laws(scene)
    await scene.record.close()


async def killed(path: Path) -> None:
    """A process that died in the middle of a call."""
    process = await start(path, "doomed", "hang")
    assert process.stdout is not None
    assert await process.stdout.readline() == b"open\n"
    process.kill()
    await process.communicate()


async def check_interrupted(scene: Scene) -> None:
    (line,) = await scene.record.sessions(SessionFilter(name="doomed"))
    assert line.state == "interrupted"
    events = [json.loads(body) for body in await scene.record.events_json(line.uid)]
    settled, finished = events[-2:]
    assert (settled["type"], settled["status"], settled["tokens"], settled["cost"]) == (
        "budget.settled",
        "orphaned",
        40,
        7,
    )
    assert (finished["type"], finished["state"]) == ("run.finished", "interrupted")
    assert finished["error"]["code"] == "run.interrupted"
    assert (finished["cost"], finished["usage"]["input"]) == (10, 48)
    run = await scene.record.run("doomed")
    assert run is not None
    assert run.error is not None
    assert run.error["code"] == "run.interrupted"
    (counter,) = await scene.record.all_counters("real")
    assert counter.counter == Counter(50)
    (row,) = [row for row in await scene.record.ledger(LedgerFilter()) if row.status == "orphaned"]
    assert (row.estimated, row.usage.tokens, row.cost) == (True, 40, 7)
    await check_laws(scene)


@pytest.mark.promise("RUN-10", "LED-4", "STO-3")
async def test_a_run_whose_process_was_killed_is_ended_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await killed(path)
    assert len(list(tmp_path.glob("*.lock"))) == 1
    scene = await open_scene(path, SystemClock())
    await check_interrupted(scene)
    assert len(list(tmp_path.glob("*.lock"))) == 1, "only its own lock is left"
    assert await scene.record.reap() == []
    with pytest.raises(Fenced):
        await scene.say("doomed", "from the grave")
    await scene.record.close()
    assert list(tmp_path.glob("*.lock")) == []


async def test_two_that_clear_away_at_once_do_it_once(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await killed(path)
    scenes = await asyncio.gather(*(open_scene(path, SystemClock()) for _ in range(3)))
    await asyncio.gather(*(scene.record.reap() for scene in scenes))
    await check_interrupted(scenes[0])
    for scene in scenes:
        await scene.record.close()


async def test_a_dead_holder_does_not_keep_others_waiting(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    scene = await open_scene(path, SystemClock())
    limit = rule("cap", 1000, period="lifetime")
    process = await start(path, "doomed", "hang")
    assert process.stdout is not None
    assert await process.stdout.readline() == b"open\n"
    await scene.claim()
    strict = rule("cap", 1000, period="lifetime", strict=True)
    held = await scene.held("k", strict, tokens=960)
    assert isinstance(held.admission, Blocked)
    assert not await scene.record.wait_settled(0.05)
    process.kill()
    await process.communicate()
    assert await asyncio.wait_for(scene.record.wait_settled(10.0), 12)
    await scene.held("k", strict, tokens=960, ticket=held.ticket)
    call = await scene.opened("k", limit, tokens=10, ticket=held.ticket)
    assert call.counters[0].used == 50
    await scene.record.close()


async def test_runs_left_by_a_clean_close_are_ended_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    scene = await open_scene(path, SystemClock())
    await scene.claim()
    await scene.opened("k", rule())
    await scene.record.close()
    again = await open_scene(path, SystemClock())
    run = await again.record.run("run-1")
    assert run is not None
    assert run.state == "interrupted"
    await again.record.close()
    assert list(tmp_path.glob("*.lock")) == []


async def test_a_living_process_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    one, two = await open_scene(path, SystemClock()), await open_scene(path, SystemClock())
    await one.claim()
    assert await two.record.reap() == []
    await one.say("run-1", "alive")
    with pytest.raises(Fenced, match="another process"):
        await two.say("run-1", "not mine")
    await two.record.close()
    await one.record.close()


async def test_settling_in_another_process_wakes_a_waiting_call(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    one, two = await open_scene(path, SystemClock()), await open_scene(path, SystemClock())
    await one.claim("run-1")
    await two.claim("run-2")
    call = await one.opened("k", rule(period="lifetime"))
    held = await two.held("k", rule(period="lifetime"), run_id="run-2")
    waiting = asyncio.create_task(two.record.wait_settled(5.0))
    await asyncio.sleep(0.03)
    await one.say("run-1", "only an event")
    await asyncio.sleep(0.1)
    assert not waiting.done(), "an event is not a settled hold"
    await one.close(call, 10)
    assert await asyncio.wait_for(waiting, 2)
    await two.opened("k", rule(period="lifetime"), run_id="run-2", ticket=held.ticket)
    await one.record.close()
    await two.record.close()


@pytest.mark.promise("EVT-6")
async def test_following_sees_what_another_process_commits(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    one, two = await open_scene(path, SystemClock()), await open_scene(path, SystemClock())
    claimed = await one.claim("run-1", "shared")
    await two.claim("run-2", "shared")
    seen: list[int] = []

    async def follow() -> None:
        async for body in two.record.follow(claimed.session_uid):
            seen.append(json.loads(body)["seq"])
            if seen[-1] == 43:
                return

    following = asyncio.create_task(follow())
    for number in range(20):
        await one.say("run-1", f"a{number}")
        await two.say("run-2", f"b{number}")
        await asyncio.sleep(0.003 if number % 4 == 0 else 0)
    await asyncio.wait_for(following, 5)
    assert seen == list(range(1, 44))
    await one.record.close()
    await two.record.close()


@pytest.mark.promise("BUD-5")
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York", "UTC"])
async def test_windows_are_utc_wherever_the_process_runs(tmp_path: Path, zone: str) -> None:
    code = """
import asyncio, sys
from datetime import datetime
from pathlib import Path
from runtime.clock import VirtualClock
from runtime.ledger import Refused
from tests.runtime.store.support import dollars, open_scene, rule

async def main(path, before, spent, after):
    scene = await open_scene(Path(path), VirtualClock(datetime.fromisoformat(before)))
    await scene.claim()
    rules = rule("day", "1.00"), rule("week", "1.00", period="weekly")
    await scene.call("k0", *rules, cost=dollars("1.00"))
    scene.clock.set(datetime.fromisoformat(spent))
    held = await scene.held("k1", *rules)
    assert isinstance(held.admission, Refused)
    scene.clock.set(datetime.fromisoformat(after))
    call = await scene.opened("k1", *rules)
    print([counter.used for counter in call.counters])
    await scene.close(call, 1)
    await scene.finish()
    await scene.record.close()

for number in range(1, len(sys.argv), 4):
    asyncio.run(main(*sys.argv[number : number + 4]))
"""
    times = (
        ("2026-11-02T07:59:50+08:00", "2026-11-01T23:59:59+00:00", "2026-11-02T00:00:00+00:00"),
        ("2026-03-08T23:59:50+00:00", "2026-03-08T23:59:59+00:00", "2026-03-09T00:00:00+00:00"),
    )
    given = [word for number, each in enumerate(times) for word in (str(tmp_path / f"{number}.db"), *each)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, *given, stdout=PIPE, stderr=PIPE, env={**os.environ, "TZ": zone}
    )
    assert (await output(process)).split("\n") == ["[0, 0]", "[0, 0]", ""]
