"""What memory reads beside facts: turns of a user's sessions, and how often facts were used."""

from __future__ import annotations

from datetime import timedelta

from runtime.events import RunFinished
from runtime.facts import Shelf
from runtime.messages import Message
from runtime.record import Access, RunEnd, Turn
from tests.runtime.store.support import Scene, turn

ANN = Shelf("real", "flow", "user", "ann")


async def done(
    scene: Scene, run_id: str, session: str, *texts: str, node_id: str = "agent", **who: str
) -> str:
    """A completed run with one turn; the uid of its session."""
    claimed = await scene.claim(run_id, session, **who)  # type: ignore[arg-type]
    await scene.finish(run_id, turns=[turn(*texts, node_id=node_id)])
    scene.clock.advance(1)
    return claimed.session_uid


async def test_turns_of_a_user_come_in_order_of_completion_and_only_theirs(scene: Scene) -> None:
    one = await done(scene, "r1", "one", "a", "b")
    await done(scene, "r2", "two", "c", "d")
    await done(scene, "r3", "one", "e", "f", user="eve")
    await done(scene, "r4", "one", "g", "h", flow="other")
    await done(scene, "r5", "one", "i", "j", partition="rehearsal")
    await done(scene, "r6", "two", "k", "l", node_id="second")
    await done(scene, "r7", "one", "m", "n")
    found = await scene.record.user_turns(one, ["agent"])
    assert [(line.session_name, line.messages[0].content) for line in found.lines] == [
        ("one", "a"),
        ("two", "c"),
        ("one", "m"),
    ]
    assert (found.total, found.erasures) == (3, 0)
    assert [line.run_id for line in found.lines] == ["r1", "r2", "r7"]
    assert [line.at for line in found.lines] == [scene.at - timedelta(seconds=s) for s in (7, 6, 1)]
    later = await scene.record.user_turns(one, ["agent", "second"], after=found.lines[1].id)
    assert [line.messages[0].content for line in later.lines] == ["k", "m"]
    assert later.total == 4


async def test_a_session_of_nobody_has_no_other_turns(scene: Scene) -> None:
    one = await done(scene, "r1", "one", "a", "b", user=None)  # type: ignore[arg-type]
    await done(scene, "r2", "two", "c", "d", user=None)  # type: ignore[arg-type]
    assert (await scene.record.user_turns(one, ["agent"])).lines == ()
    assert await scene.record.earlier_turns(one, "agent", sessions=1, turns=3) == []
    assert (await scene.record.user_turns("unknown", ["agent"])).lines == ()


async def test_taint_is_kept_with_the_turn(scene: Scene) -> None:
    claimed = await scene.claim("r1", "one")
    seen = Turn(node_id="agent", messages=(Message("user", "a"), Message("assistant", "b")), tainted=True)
    await scene.finish("r1", turns=[seen, turn("c", "d", node_id="other")])
    found = await scene.record.user_turns(claimed.session_uid, ["agent", "other"])
    assert [line.tainted for line in found.lines] == [True, False]
    assert found.lines[0].messages == seen.messages


async def test_the_last_turns_of_the_last_earlier_sessions(scene: Scene) -> None:
    for number in range(4):
        await done(scene, f"a{number}", "first", f"first {number}", "x")
    await done(scene, "b", "second", "second 0", "x")
    mine = await done(scene, "c", "mine", "mine 0", "x")
    await done(scene, "e", "first", "eve's", "x", user="eve")

    async def asked(sessions: int, turns: int) -> list[str | None]:
        lines = await scene.record.earlier_turns(mine, "agent", sessions=sessions, turns=turns)
        return [line.messages[0].content for line in lines]

    assert await asked(1, 3) == ["second 0"]
    assert await asked(2, 2) == ["first 2", "first 3", "second 0"]
    assert await asked(9, 9) == ["first 0", "first 1", "first 2", "first 3", "second 0"]
    assert await asked(0, 3) == []
    assert await asked(1, 0) == []
    await done(scene, "d", "first", "first again", "x")
    assert await asked(1, 1) == ["first again"]


async def test_accesses_add_up_with_the_runs_end(scene: Scene) -> None:
    for run_id, hits in (("r1", 2), ("r2", 3)):
        await scene.claim(run_id, "one")
        used = (Access(ANN, "name", hits, scene.at), Access(ANN, "city", 1, scene.at))
        end = RunEnd(run_id=run_id, state="completed", accesses=used, at=scene.at)
        finished = RunFinished(at=scene.at, run_id=run_id, state="completed")
        await scene.record.finish(end, [finished], lambda _totals: [])
        scene.clock.advance(60)
    last = scene.at - timedelta(seconds=60)
    found = await scene.record.accesses(ANN)
    assert found == {"city": Access(ANN, "city", 2, last), "name": Access(ANN, "name", 5, last)}
    assert await scene.record.accesses(ANN._replace(owner="eve")) == {}


async def test_retired_facts_become_former_versions_and_conflicts_stay(scene: Scene) -> None:
    await scene.write(ANN, "a", 1)
    await scene.write(ANN, "a", 2, origin="tainted")
    scene.clock.advance(60)
    await scene.record.forget_facts(ANN, ["a", "none"], scene.at, [], run_id=None, retire=True)
    assert await scene.current(ANN) == {}
    first, beside = await scene.versions(ANN, "a")
    assert (first.state, first.valid_to, beside.state) == ("superseded", scene.at, "conflict")
