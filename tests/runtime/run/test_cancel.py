"""Cancelling at any moment: no call after it, every hold settled, every run ended, no event lost."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.clock import SystemClock
from runtime.events import Entry
from runtime.models.scripted import ScriptedModel
from runtime.record import LedgerFilter, Record
from runtime.run.services import Services
from runtime.run.start import RunRequest, prepare, start
from runtime.settings import load_settings
from runtime.store.opening import open_record
from runtime.testing import FixedClients
from tests.flows import agent_flow, calls, says

BUDGETS: list[dict[str, Any]] = [
    {"metric": "tokens", "limit": 10_000_000},
    {"metric": "spend", "period": "daily", "limit": "500"},
]
SCRIPT = {
    "*": [
        calls("memory_write", {"key": "k", "value": "v"}, latency_s=0.004),
        calls("memory_read", {}, latency_s=0.004),
        says("done", latency_s=0.004),
    ]
}


MOMENTS = [*((0.0, turns) for turns in range(3, 260, 6)), *((0.0002, turns) for turns in range(0, 260, 2))]
"""Every few turns of the loop within the first call, then so late that the run has ended."""


async def services_on(path: Path | None) -> tuple[Services, ScriptedModel]:
    clock = SystemClock()
    record = open_record(path, clock)
    await record.open()
    model = ScriptedModel.playing(SCRIPT, clock=clock)
    settings = load_settings({"FARTHING_CONFIG": os.devnull}, folder=None)
    return Services(record, settings, clock, clients=FixedClients(clock, model)), model


async def check_sound(record: Record, session_uid: str, run_id: str) -> None:
    """Nothing is held, nothing runs, events have no gap, and counters, ledger and events agree."""
    run = await record.run(run_id)
    assert run is not None
    assert run.state in ("completed", "cancelled"), run.error
    events = [msgspec.json.decode(raw) for raw in await record.events_json(session_uid)]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    mine = [event for event in events if event["run_id"] == run_id]
    assert mine[-1]["type"] == "run.finished"
    assert mine[-1]["state"] == run.state
    rows = await record.ledger(LedgerFilter(partition="rehearsal", run_id=run_id))
    kinds = [row.kind for row in rows]
    assert kinds.count("hold") == kinds.count("settle") + kinds.count("release")
    settled = [row for row in rows if row.kind == "settle"]
    said = [event for event in mine if event["type"] == "agent.usage" and not is_released(event)]
    assert sum(row.usage.tokens for row in settled) == sum(tokens(event) for event in said)
    for line in await record.all_counters("rehearsal"):
        assert line.counter.held == 0
    started = {event["node_id"] for event in mine if event["type"] == "node.started"}
    ended = {event["node_id"] for event in mine if event["type"] in ("node.finished", "node.failed")}
    assert started == ended


def is_released(event: dict[str, Any]) -> bool:
    return bool(event["error"]) and not event["usage"]


def tokens(event: dict[str, Any]) -> int:
    return int(event["usage"].get("input", 0)) + int(event["usage"].get("output", 0))


@pytest.mark.promise("LED-2")
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "sqlite"])
async def test_cancel_after_any_number_of_turns_of_the_loop(stored: bool, tmp_path: Path) -> None:
    services, model = await services_on(tmp_path / "f.db" if stored else None)
    request = RunRequest(
        flow_bytes=msgspec.json.encode(agent_flow(memory={"scope": "user"}, budgets=BUDGETS)),
        input="go",
        user="u",
        session="s",
        trusted=True,
    )
    states: list[str] = []
    for pause_s, turns in MOMENTS:
        if states[-3:] == ["completed"] * 3:
            break  # a later moment is after the end as well
        model._replies = {"*": list(ScriptedModel.playing(SCRIPT, clock=services.clock)._replies["*"])}
        entries: list[Entry] = []
        active = start(prepare(request, services), services, entries.append)
        for _ in range(turns):
            await asyncio.sleep(pause_s)
        made = model.calls
        active.cancel()
        active.cancel()
        outcome = await active.outcome()
        states.append(outcome.state)
        assert model.calls - made <= 1 or outcome.state == "completed"
        await check_sound(services.record, outcome.session_uid, outcome.run_id)
        if outcome.state == "cancelled":
            assert outcome.exit_code == 130
    assert {"cancelled", "completed"} <= set(states)
    await services.close()


async def test_cancelling_the_awaiting_task_ends_the_run_and_goes_on() -> None:
    services, _ = await services_on(None)
    request = RunRequest(
        flow_bytes=msgspec.json.encode(agent_flow(memory={})), input="go", user="u", trusted=True
    )
    active = start(prepare(request, services), services)
    waiting = asyncio.create_task(active.outcome())
    claimed = await active.claimed
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    run = await services.record.run(claimed.run_id)
    assert run is not None
    assert run.state == "cancelled"
    await services.close()


@pytest.mark.promise("RUN-3")
async def test_a_run_is_cancelled_from_another_process_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "f.db"
    services, model = await services_on(path)
    late = {"*": [says("too late", latency_s=60)] * 2}
    model._replies = {"*": list(ScriptedModel.playing(late, clock=services.clock)._replies["*"])}
    other = open_record(path, SystemClock())
    await other.open()
    flow = msgspec.json.encode(agent_flow(memory={}, budgets=BUDGETS))
    request = RunRequest(flow_bytes=flow, input="go", user="u", session="s", trusted=True)
    runs = [start(prepare(request, services), services) for _ in range(2)]
    ids = [(await run.claimed).run_id for run in runs]
    while not await holds(services.record, ids[0]):
        await asyncio.sleep(0.01)
    assert await other.ask_cancel(ids[0], "mia")
    assert not await other.ask_cancel(ids[0], "eve"), "it was asked already"
    async with asyncio.timeout(1):
        outcome = await runs[0].outcome()
    assert (outcome.state, outcome.exit_code) == ("cancelled", 130)
    assert outcome.error is not None
    assert outcome.error.message == "Cancelled by mia."
    assert not await other.ask_cancel(ids[0], "mia"), "it has ended"
    ended = await other.run(ids[0])
    assert ended is not None
    assert (ended.state, (ended.error or {})["code"]) == ("cancelled", "run.cancelled")
    going = await other.run(ids[1])
    assert going is not None
    assert going.state == "running", "only the one that was named"
    runs[1].cancel()
    assert (await runs[1].outcome()).error is None
    for run_id in ids:
        await check_sound(services.record, outcome.session_uid, run_id)
    await services.close()
    await other.close()


async def holds(record: Record, run_id: str) -> bool:
    """Whether a call of the run is in flight."""
    return bool(await record.ledger(LedgerFilter("rehearsal", run_id=run_id, kinds=("hold",))))
