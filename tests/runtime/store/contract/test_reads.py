"""Reads: lists, sums, pages and what follows a session."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from runtime.errors import BadInput
from runtime.record import LedgerFilter, SessionFilter
from runtime.usage import Usage
from tests.runtime.store.support import Scene, rule


async def test_pages_of_events(scene: Scene) -> None:
    claimed = await scene.claim("run-1")
    await scene.claim("run-2")
    await scene.say("run-1", *(f"n{number}" for number in range(10)))
    uid, record = claimed.session_uid, scene.record
    everything = await record.events_json(uid)
    assert len(everything) == 13
    assert await record.events_json(uid, after=3, limit=4) == everything[3:7]
    assert await record.events_json(uid, after=13) == []
    assert await record.events_json(uid, after=-5, limit=2) == everything[:2]
    assert await record.events_json(uid, after=10**12) == []
    of_two = [json.loads(body) for body in await record.events_json(uid, run_id="run-2")]
    assert [event["seq"] for event in of_two] == [3]
    assert await record.events_json(uid, run_id="nobody") == []
    assert await record.events_json("no session") == []
    assert await record.first_seq(uid) == 1


@pytest.mark.promise("EVT-6")
async def test_follow_gives_each_event_once_and_in_order(scene: Scene) -> None:
    claimed = await scene.claim()
    seen: list[int] = []

    async def follow(after: int, until: int, into: list[int]) -> None:
        async for body in scene.record.follow(claimed.session_uid, after=after):
            into.append(json.loads(body)["seq"])
            if into[-1] == until:
                return

    task = asyncio.create_task(follow(0, 27, seen))
    await asyncio.sleep(0.01)
    for _ in range(5):
        await scene.say("run-1", *"abcde")
        await asyncio.sleep(0)
    await asyncio.wait_for(task, 5)
    assert seen == list(range(1, 28))
    resumed: list[int] = []
    await asyncio.wait_for(follow(10, 27, resumed), 5)
    assert resumed == list(range(11, 28))


async def test_follow_ends_when_the_record_is_closed(scene: Scene) -> None:
    claimed = await scene.claim()

    async def follow() -> int:
        return len([body async for body in scene.record.follow(claimed.session_uid)])

    task = asyncio.create_task(follow())
    await asyncio.sleep(0.02)
    await scene.record.close()
    assert await asyncio.wait_for(task, 5) == 2


async def test_sums_of_spending(scene: Scene) -> None:
    await scene.claim("run-1", "s1")
    await scene.claim("run-2", "s2", user=None, flow="other")
    await scene.claim("run-3", "s3", partition="rehearsal")
    daily = rule("day", 10_000)
    await scene.call("a", daily, tokens=8, cost=100)
    await scene.call("b", daily, tokens=12, cost=None, model="n", purpose="summary")
    await scene.call("c", tokens=20, cost=50, run_id="run-2", model="n")
    await scene.call("d", tokens=1000, cost=9999, run_id="run-3")
    # nobody closes this one: it is charged at the dearest call of its model
    await scene.opened("e", daily, tokens=30, cost=5, model="n")
    await scene.finish("run-1", "failed")
    record = scene.record
    (all_in_all,) = await record.spend(LedgerFilter(), [])
    assert (all_in_all.group, all_in_all.calls, all_in_all.cost) == ((), 4, 200)
    assert (all_in_all.usage, all_in_all.unknown, all_in_all.estimated) == (Usage(input=60, output=10), 1, 1)
    by_user = await record.spend(LedgerFilter(), ["user"])
    assert [(line.group, line.cost) for line in by_user] == [(("ann",), 150), ((None,), 50)]
    by_model = await record.spend(LedgerFilter(), ["model", "purpose"])
    assert [(line.group, line.calls, line.usage.tokens) for line in by_model] == [
        (("n", "main"), 2, 50),
        (("m", "main"), 1, 8),
        (("n", "summary"), 1, 12),
    ]
    for group in ("flow", "session", "run", "day", "node"):
        lines = await record.spend(LedgerFilter(), [group])
        assert sum(line.cost for line in lines) == 200
    (pot,) = await record.spend(LedgerFilter(pot="flow/day"), ["day"])
    assert (pot.group, pot.cost) == (("2026-03-04",), 150)
    assert await record.spend(LedgerFilter(user_id="nobody"), []) == []
    with pytest.raises(BadInput):
        await record.spend(LedgerFilter(), ["colour"])


async def test_ledger_rows_by_filter(scene: Scene) -> None:
    await scene.claim("run-1")
    daily = rule("day", 10_000)
    price = {"input": "1.00", "version": "v1"}
    call = await scene.opened("a", daily, step=4, purpose="plan", attempt=1)
    await scene.close(call, 8, 100, cost_source="settings", price=price, request_id="req-1")
    scene.clock.advance(60)
    await scene.call("b", tokens=1, model="n")
    rows = await scene.record.ledger(LedgerFilter())
    assert [row.id for row in rows] == [1, 2, 3, 4]
    settled = rows[1]
    assert (settled.kind, settled.status, settled.cost, settled.cost_source) == (
        "settle",
        "settled",
        100,
        "settings",
    )
    assert (settled.price, settled.request_id, settled.purpose, settled.step) == (price, "req-1", "plan", 4)
    assert (settled.model, settled.provider, settled.node_id, settled.flow_id) == ("m", "p", "agent", "flow")
    assert settled.pots == ("flow/day",)
    assert settled.reserved_at == rows[0].at
    assert (rows[0].kind, rows[0].status, rows[0].amount, rows[0].estimated) == ("hold", "open", 10, True)
    assert await scene.record.ledger(LedgerFilter(), after=2, limit=1) == rows[2:3]
    assert await scene.record.ledger(LedgerFilter(), before=10**15) == rows[::-1]
    assert await scene.record.ledger(LedgerFilter(), before=4, limit=2) == [rows[2], rows[1]]
    assert await scene.record.ledger(LedgerFilter(model="m"), before=3, after=1) == [rows[1]]
    assert await scene.record.ledger(LedgerFilter(), before=1) == []
    assert await scene.record.ledger(LedgerFilter(model="n")) == rows[2:]
    assert await scene.record.ledger(LedgerFilter(pot="flow/day")) == rows[:2]
    assert await scene.record.ledger(LedgerFilter(since=scene.at)) == rows[2:]
    assert await scene.record.ledger(LedgerFilter(until=scene.at)) == rows[:2]
    assert await scene.record.ledger(LedgerFilter(partition="rehearsal")) == []


async def test_own_sessions_are_not_counted_as_hidden_rehearsals(scene: Scene) -> None:
    await scene.claim("run-1", "talk", partition="rehearsal")
    await scene.claim("run-2", "@maintenance", partition="rehearsal")
    await scene.claim("run-3", "probe", flow="@test", partition="rehearsal")
    assert await scene.record.hidden_rehearsals() == 1


async def test_sessions_are_listed_latest_first_and_filtered(scene: Scene) -> None:
    await scene.claim("run-1", "first")
    await scene.call("k", tokens=8, cost=None)
    await scene.finish("run-1", "failed")
    scene.clock.advance(60)
    await scene.claim("run-2", "Second 50%", user="bob", flow="other")
    await scene.claim("run-3", "third", partition="rehearsal")
    record = scene.record
    lines = await record.sessions(SessionFilter())
    assert [line.name for line in lines] == ["Second 50%", "first"]
    first = lines[1]
    assert (first.runs, first.state, first.events, first.flow_name) == (1, "failed", 5, "The flow")
    assert (first.usage.tokens, first.cost, first.unknown) == (8, 0, 1)
    assert await record.session(first.uid) == first
    assert await record.session("none") is None
    assert await record.hidden_rehearsals() == 1
    assert await record.hidden_rehearsals("bob") == 0
    third = (await record.sessions(SessionFilter("rehearsal")))[0]
    assert third.user_id is not None and await record.hidden_rehearsals(third.user_id) == 1
    told = await record.session_names([first.uid, "run-3", "none"])
    assert told == {first.uid: "first", "run-3": "third"} and await record.session_names([]) == {}

    async def names(**which: object) -> list[str]:
        return [line.name for line in await record.sessions(SessionFilter(**which))]  # type: ignore[arg-type]

    assert await names(partition="rehearsal") == ["third"]
    assert await names(user_id="bob") == ["Second 50%"]
    assert await names(flow_id="flow") == ["first"]
    assert await names(name="first") == ["first"]
    assert await names(state="running") == ["Second 50%"]
    assert await names(text="SECOND") == ["Second 50%"]
    assert await names(text="0%") == ["Second 50%"]
    assert await names(text="the o") == ["Second 50%"]
    assert await names(text="%") == ["Second 50%"]
    assert await names(text="_") == []
    assert await names(limit=1) == ["Second 50%"]
    assert await names(before=lines[0].last_at) == ["first"]


async def test_runs_flows_and_paths(scene: Scene) -> None:
    claimed = await scene.claim("run-1", body=b'{"a": 1}', path="/flows/a.json")
    await scene.claim("run-2", body=b'{"a": 1}', path="/elsewhere/a.json")
    record = scene.record
    assert [line.run_id for line in await record.runs(claimed.session_uid)] == ["run-1", "run-2"]
    assert await record.runs("none") == []
    assert await record.run("none") is None
    assert await record.flow_bytes("hash of flow") == b'{"a": 1}'
    assert await record.flow_bytes("none") is None
    assert await record.flow_paths("flow") == ["/elsewhere/a.json", "/flows/a.json"]
    assert await record.flow_paths("none") == []


async def test_counters_of_a_user_and_of_all_together(scene: Scene) -> None:
    await scene.claim("run-1")
    await scene.claim("run-2", "s2", user="bob")
    shared = rule("all", 1000, everyone=True)
    mine, session, run = rule("mine", 1000), rule("s", 1000, period="session"), rule("r", 1000, period="run")
    for run_id in ("run-1", "run-2"):
        await scene.call("k", shared, mine, session, run, run_id=run_id)
    lines = await scene.record.all_counters("real", "ann")
    assert {(line.key.period, line.key.owner) for line in lines} == {
        ("daily", "*"),
        ("daily", "ann"),
        ("session", scene.sessions["run-1"]),
        ("run", "run-1"),
    }
    assert len(await scene.record.all_counters("real")) == 7
    starts = [line.key.start for line in lines]
    assert starts == sorted(starts, reverse=True)


async def test_time_is_kept_to_the_microsecond(scene: Scene) -> None:
    scene.clock.set(scene.at + timedelta(microseconds=123_457))
    await scene.claim()
    line = await scene.record.run("run-1")
    assert line is not None
    assert line.queued_at == scene.at
    assert (await scene.events())[0]["at"].endswith(".123457Z")
