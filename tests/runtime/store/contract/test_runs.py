"""Runs, sessions and their timelines."""

from __future__ import annotations

import pytest

from runtime.errors import Conflict, Fenced
from runtime.events import NodeStarted
from runtime.record import CallClose, CallIntent, RunEnd, SessionFilter
from tests.runtime.store.support import Scene, rule, turn


async def test_claim_opens_a_session_once(scene: Scene) -> None:
    first = await scene.claim("run-1")
    second = await scene.claim("run-2")
    assert (first.session_new, second.session_new) == (True, False)
    assert first.session_uid == second.session_uid
    assert await scene.types() == ["session.opened", "run.started", "run.started"]
    line = await scene.record.run("run-1")
    assert line is not None
    assert (line.state, line.input, line.flow_name) == ("running", {"text": "hello"}, "The flow")


async def test_claim_refuses_an_id_that_exists(scene: Scene) -> None:
    await scene.claim("run-1")
    with pytest.raises(Conflict):
        await scene.claim("run-1", "another")
    assert len(await scene.events()) == 2
    assert len(await scene.record.sessions(SessionFilter())) == 1


@pytest.mark.promise("EVT-5")
@pytest.mark.parametrize(
    "other",
    [{"user": None}, {"user": ""}, {"user": "bob"}, {"flow": "other"}, {"partition": "rehearsal"}],
    ids=["no user", "empty user", "other user", "other flow", "rehearsal"],
)
async def test_equal_session_names_are_one_session_only_for_one_user_and_flow(
    scene: Scene, other: dict[str, str | None]
) -> None:
    mine = await scene.claim("run-1")
    theirs = await scene.claim("run-2", **other)  # type: ignore[arg-type]
    assert theirs.session_new
    assert theirs.session_uid != mine.session_uid
    again = await scene.claim("run-3", **other)  # type: ignore[arg-type]
    assert again.session_uid == theirs.session_uid


async def test_no_user_and_the_empty_user_differ(scene: Scene) -> None:
    nobody = await scene.claim("run-1", user=None)
    empty = await scene.claim("run-2", user="")
    assert nobody.session_uid != empty.session_uid
    lines = await scene.record.sessions(SessionFilter(user_id=""))
    assert [line.uid for line in lines] == [empty.session_uid]


async def test_history_is_that_of_the_session_alone(scene: Scene) -> None:
    await scene.claim("run-1", "Session 1")
    await scene.finish("run-1", turns=[turn("codename?", "heron")])
    flow = await scene.claim("run-2", "Session 1", flow="other")
    user = await scene.claim("run-3", "Session 1", user="bob")
    assert await scene.record.history(flow.session_uid, "agent") == []
    assert await scene.record.history(user.session_uid, "agent") == []
    mine = await scene.record.history(scene.sessions["run-1"], "agent")
    assert [message.content for message in mine] == ["codename?", "heron"]


@pytest.mark.promise("EVT-2")
async def test_seq_has_no_gap_over_overlapping_runs(scene: Scene) -> None:
    await scene.claim("run-1")
    await scene.claim("run-2")
    for name in "abc":
        await scene.say("run-1", name, name)
        await scene.say("run-2", name)
    events = await scene.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [e["run_id"] for e in events if e["node_id"] == "b"] == ["run-1", "run-1", "run-2"]


@pytest.mark.promise("STO-1")
async def test_entries_carry_what_was_committed(scene: Scene) -> None:
    claimed = await scene.claim()
    (entry,) = await scene.say("run-1", "a")
    uid, seq, event, body = entry
    assert (uid, seq) == (claimed.session_uid, 3)
    assert isinstance(event, NodeStarted)
    assert entry.body == body
    assert await scene.record.events_json(uid, after=2) == [entry.json()]


async def test_nothing_to_append_is_no_event(scene: Scene) -> None:
    await scene.claim()
    assert await scene.record.append("run-1", []) == ()
    assert len(await scene.events()) == 2


@pytest.mark.promise("RUN-5")
async def test_history_is_in_order_of_completion(scene: Scene) -> None:
    for number in (1, 2, 3):
        await scene.claim(f"run-{number}")
    await scene.finish("run-3", turns=[turn("three", "3")])
    await scene.finish("run-1", turns=[turn("one", "1"), turn("apart", node_id="other")])
    uid = scene.sessions["run-1"]
    history = await scene.record.history(uid, "agent")
    assert [message.content for message in history] == ["three", "3", "one", "1"]
    assert [m.content for m in await scene.record.history(uid, "agent", last=1)] == ["one", "1"]
    assert [m.content for m in await scene.record.history(uid, "agent", last=3)] == ["three", "3", "one", "1"]
    assert await scene.record.history(uid, "agent", last=0) == []
    assert [m.content for m in await scene.record.history(uid, "other")] == ["apart"]


@pytest.mark.promise("RUN-5")
@pytest.mark.parametrize("state", ["failed", "cancelled", "interrupted"])
async def test_only_completed_runs_become_history(scene: Scene, state: str) -> None:
    await scene.claim()
    await scene.finish(state=state, turns=[turn("asked", "answered")])
    assert await scene.record.history(scene.sessions["run-1"], "agent") == []
    line = await scene.record.run("run-1")
    assert line is not None
    assert line.state == state
    assert line.finished_at == scene.at


async def test_finish_twice_is_harmless(scene: Scene) -> None:
    await scene.claim()
    assert len(await scene.finish(turns=[turn("a", "b")])) == 1
    assert await scene.finish("run-1", "failed", turns=[turn("c", "d")]) == ()
    line = await scene.record.run("run-1")
    assert line is not None
    assert line.state == "completed"
    assert len(await scene.record.history(scene.sessions["run-1"], "agent")) == 2


async def test_a_finished_run_is_fenced(scene: Scene) -> None:
    await scene.claim()
    await scene.finish()
    with pytest.raises(Fenced):
        await scene.say("run-1", "late")
    with pytest.raises(Fenced):
        await scene.open("k")
    with pytest.raises(Fenced):
        await scene.say("nobody", "a")
    assert len(await scene.events()) == 3


async def test_finish_settles_what_is_open_at_its_estimate(scene: Scene) -> None:
    daily = rule("daily", 1000)
    await scene.claim()
    await scene.call("k0", daily, tokens=10)
    await scene.opened("k1", daily, tokens=40, cost=7)
    await scene.opened("tool", kind="tool", model=None)
    await scene.finish(state="cancelled")
    events = await scene.events()
    settled, finished = events[-2:]
    assert (settled["type"], settled["status"], settled["tokens"]) == ("budget.settled", "orphaned", 40)
    assert settled["estimated"] is True
    assert settled["gauges"][0]["used"] == 50
    assert (finished["usage"]["input"], finished["cost"]) == (48, 7)
    (line,) = await scene.record.all_counters("real")
    assert (line.counter.used, line.counter.held) == (50, 0)


async def test_a_failing_build_leaves_nothing_behind(scene: Scene) -> None:
    daily = rule("daily", 1000)
    await scene.claim()
    call = await scene.opened("k0", daily)
    before = len(await scene.events())

    def fail(*_: object) -> list[NodeStarted]:
        raise LookupError("no event")

    intent = CallIntent(
        run_id="run-1", key="k1", model="m", rules=(rule("weekly", 5, period="weekly"),), at=scene.at
    )
    with pytest.raises(LookupError):
        await scene.record.open_call(intent, [scene.event("run-1", "x")], fail)
    close = CallClose(call_id=call.call_id, run_id="run-1", at=scene.at)
    with pytest.raises(LookupError):
        await scene.record.close_call(close, fail)
    with pytest.raises(LookupError):
        await scene.record.finish(RunEnd(run_id="run-1", state="completed", at=scene.at), [], fail)
    assert len(await scene.events()) == before
    lines = await scene.record.all_counters("real")
    assert [(line.key.period, line.counter.used, line.counter.held) for line in lines] == [("daily", 0, 1000)]
    settled = await scene.close(call, 5)
    assert settled.counters[0].used == 5
