"""Of all processes one at a time takes care of a session; what was not begun is said."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import msgspec
import pytest

from runtime.clock import SystemClock
from runtime.record import LedgerFilter, LedgerRow, Record
from runtime.run.leasing import Leased, care_of, until_free
from runtime.run.services import Services
from runtime.run.start import RunRequest, prepare, start
from runtime.store.opening import open_record
from runtime.testing import Bench
from runtime.testing.bench import FixedClients, scripted
from tests.flows import agent_flow, says
from tests.runtime.memory_service.test_maintenance import EXTRACTS, LONG, document, events_of, finds

TURNS = 12


async def talked(path: Path) -> None:
    """A session with turns to sum up."""
    clock = SystemClock()
    async with Bench(record=open_record(path, clock), clock=clock) as bench:
        for turn in range(TURNS):
            ran = await bench.run(document(), f"turn {turn} {LONG}", script=[says("fine")])
            assert ran.outcome.state == "completed"


async def caring(path: Path, seconds: float) -> Process:
    command = (sys.executable, "-m", "tests.runtime.memory_service.caring", str(path), str(seconds))
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)


async def said(process: Process) -> list[str]:
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().split()


async def summaries(record: Record) -> list[LedgerRow]:
    return await record.ledger(LedgerFilter("rehearsal", purpose="summary", kinds=("settle",)))


async def check_nothing_held(record: Record) -> None:
    rows = await record.ledger(LedgerFilter("rehearsal"))
    ended = {row.call_id for row in rows if row.kind in ("settle", "release")}
    assert [row for row in rows if row.kind == "hold" and row.call_id not in ended] == []
    assert all(line.counter.held == 0 for line in await record.all_counters("rehearsal"))


@pytest.mark.promise("MEM-16")
async def test_two_processes_pay_for_each_summary_once(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await talked(path)
    first, second = await asyncio.gather(caring(path, 0.3), caring(path, 0.3))
    told = await asyncio.gather(said(first), said(second))
    (asked, turns), (unasked, nothing) = sorted((words[:-1], words[-1]) for words in told)[::-1]
    assert (unasked, nothing) == ([], "0")
    assert int(turns) > 0
    record = open_record(path, SystemClock())
    await record.open()
    assert len(await summaries(record)) == len(asked)
    await check_nothing_held(record)
    await record.close()


@pytest.mark.promise("MEM-16")
async def test_another_takes_over_at_once_when_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await talked(path)
    first = await caring(path, 60)
    assert first.stdout is not None
    assert await first.stdout.readline() == b"asking\n"
    second = await caring(path, 0)
    await asyncio.sleep(1)
    assert second.returncode is None, "it waits"
    first.kill()
    await first.communicate()
    async with asyncio.timeout(15):  # well below the time for which the lease was taken
        words = await said(second)
    assert int(words[-1]) > 0
    record = open_record(path, SystemClock())
    await record.open()
    orphans = [row for row in await summaries(record) if row.status == "orphaned"]
    assert len(orphans) == 1
    assert len(await summaries(record)) == 1 + words.count("asking")
    await check_nothing_held(record)
    await record.close()


async def test_what_was_not_begun_when_the_process_ends_is_said() -> None:
    clock = SystemClock()
    async with Bench(clock=clock) as bench:
        script = [says("one"), says("two"), {**finds({"key": "late", "value": "a"}), "latency_s": 60}]
        clients = FixedClients(clock, scripted(script, clock))
        services = Services(bench.record, bench.settings, clock, clients=clients)
        budgets = [{"name": "daily", "metric": "tokens", "period": "daily", "limit": 1_000_000}]
        flow = msgspec.json.encode(agent_flow(memory=EXTRACTS, budgets=budgets))
        request = RunRequest(flow_bytes=flow, input="go", session="s", user="ann", trusted=True)
        runs = [start(prepare(request, services), services) for _ in range(2)]
        assert [(await run.outcome()).state for run in runs] == ["completed"] * 2
        resting = asyncio.create_task(services.rest())
        await asyncio.sleep(0.05)
        assert len(await events_of(bench, kind="model.called")) == 1
        resting.cancel()
        async with asyncio.timeout(5):
            await asyncio.wait([resting])
        ended = await events_of(bench, kind="run.finished")
        await check_nothing_held(bench.record)
        assert not await bench.record.lease_held(care_of(prepare(request, services).session), clock.now())
    begun, skipped = ended
    assert (begun["state"], begun["error"]) == ("cancelled", None)
    assert (skipped["state"], skipped["error"]["code"]) == ("cancelled", "maintenance.skipped")
    assert begun["usage"]["input"] > 0
    assert skipped["usage"] == {}


async def test_one_that_waits_for_another_process_is_skipped_too() -> None:
    clock = SystemClock()
    async with Bench(clock=clock) as bench:
        clients = FixedClients(clock, scripted([says("one"), finds()], clock))
        services = Services(bench.record, bench.settings, clock, clients=clients)
        flow = msgspec.json.encode(agent_flow(memory=EXTRACTS))
        request = RunRequest(flow_bytes=flow, input="go", session="s", user="ann", trusted=True)
        prepared = prepare(request, services)
        run = start(prepared, services)
        name = care_of(prepared.session)
        async with Leased(bench.record, clock, name):
            await asyncio.sleep(0.2)
            assert not run.claimed.done(), "its prompt waits as well"
        assert (await run.outcome()).state == "completed"
        await services.maintenance.idle()
        async with Leased(bench.record, clock, name):
            run = start(prepared, services)
            run.cancel()
            assert (await run.outcome()).state == "cancelled"


async def test_a_lease_is_let_go_of_whatever_happens() -> None:
    clock = SystemClock()
    async with Bench(clock=clock) as bench:
        with pytest.raises(ZeroDivisionError):
            async with Leased(bench.record, clock, "x"):
                raise ZeroDivisionError
        async with Leased(bench.record, clock, "x"):
            waiting = asyncio.create_task(until_free(bench.record, clock, "x"))
            second = asyncio.create_task(Leased(bench.record, clock, "x").__aenter__())
            await asyncio.sleep(0.15)
            assert not waiting.done()
            second.cancel()
            await asyncio.wait([second])
        await asyncio.wait_for(waiting, 2)
