"""Facts governed by people: undo, conflicts settled, as-of reads, moves, imports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import Conflict, NotFound
from runtime.events import Event, MemoryMoved, MemoryWrite
from runtime.facts import Fact, FactWrite, Shelf, Shelved, Written, facts_at
from runtime.record import SessionFilter
from tests.runtime.store.support import START, Scene

ANN = Shelf("real", "flow", "user", "ann")
BOB = ANN._replace(owner="bob")


def said(written: Written) -> Sequence[Event]:
    fact = written.fact
    return [
        MemoryWrite(
            at=fact.recorded_at,
            namespace="flow",
            scope="user",
            keys=(fact.key,),
            outcome=written.outcome,
            version=fact.version,
        )
    ]


async def undo(scene: Scene, key: str = "k") -> Fact:
    scene.clock.advance(1)
    written, entries = await scene.record.undo_fact(ANN, key, "ann", scene.at, said)
    assert isinstance(entries[-1].event, MemoryWrite)
    return written.fact


async def settle(scene: Scene, keep: int) -> Written:
    scene.clock.advance(1)
    written, _ = await scene.record.settle_fact(ANN, "k", keep, "user", "ann", scene.at, said)
    return written


# -- undo


async def test_undo_goes_back_version_by_version_and_keeps_each(scene: Scene) -> None:
    for value in ("a", "b", "c"):
        await scene.write(ANN, "k", value, kind="profile")
        scene.clock.advance(1)
    back = await undo(scene)
    assert (back.value, back.kind, back.version, back.actor) == ("b", "profile", 4, "ann")
    assert (await undo(scene)).value == "a"
    with pytest.raises(Conflict):
        await undo(scene)
    assert [fact.value for fact in await scene.versions(ANN, "k")] == ["a", "b", "c", "b", "a"]
    assert await scene.current(ANN) == {"k": "a"}


async def test_undo_after_a_new_write_goes_back_to_what_it_replaced(scene: Scene) -> None:
    for value in ("a", "b"):
        await scene.write(ANN, "k", value)
    await undo(scene)
    await scene.write(ANN, "k", "d")
    assert (await undo(scene)).value == "a"


@pytest.mark.promise("MEM-3")
async def test_undo_lifts_a_forgetting(scene: Scene) -> None:
    await scene.write(ANN, "k", "a", origin="model", confidence=0.5)
    await scene.record.forget_facts(ANN, ["k"], scene.at, [], run_id=None)
    back = await undo(scene)
    assert (back.value, back.origin, back.confidence) == ("a", "model", 0.5)
    assert await scene.current(ANN) == {"k": "a"}


async def test_undo_never_goes_back_to_a_conflict_that_was_settled(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "k", "evil", origin="tainted")
    await scene.write(ANN, "k", "b")
    assert (await undo(scene)).value == "a"


async def test_undo_keeps_a_tainted_value_tainted(scene: Scene) -> None:
    await scene.write(ANN, "k", "read", origin="tainted")
    await scene.write(ANN, "k", "b")
    assert (await undo(scene)).tainted


async def test_undo_does_not_make_a_note_last_that_had_run_out(scene: Scene) -> None:
    await scene.write(ANN, "k", "note", valid_to=scene.at + timedelta(seconds=5))
    scene.clock.advance(10)
    await scene.write(ANN, "k", "b")
    with pytest.raises(Conflict, match="had run out"):
        await undo(scene)


@pytest.mark.parametrize("taken", ["replaced", "forgotten"])
async def test_undo_gives_a_note_back_with_its_end(scene: Scene, taken: str) -> None:
    end = scene.at + timedelta(seconds=60)
    await scene.write(ANN, "k", "note", valid_to=end)
    scene.clock.advance(1)
    if taken == "replaced":
        await scene.write(ANN, "k", "other")
    else:
        await scene.record.forget_facts(ANN, ["k"], scene.at, [], run_id=None)
    back = await undo(scene)
    assert (back.value, back.valid_to) == ("note", end)
    scene.clock.advance(60)
    await scene.write(ANN, "k", "other")
    with pytest.raises(Conflict, match="had run out"):
        await undo(scene)


async def test_a_note_settled_for_keeps_its_end(scene: Scene) -> None:
    end = scene.at + timedelta(seconds=60)
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "k", "b", origin="tainted", valid_to=end)
    written = await settle(scene, 2)
    assert (written.fact.value, written.fact.valid_to) == ("b", end)


async def test_undo_of_nothing_is_told(scene: Scene) -> None:
    with pytest.raises(NotFound):
        await undo(scene)
    await scene.write(ANN, "k", "a")
    with pytest.raises(Conflict, match="no version to go back to"):
        await undo(scene)
    assert await scene.current(ANN) == {"k": "a"}


@pytest.mark.promise("MEM-3")
async def test_a_slow_run_does_not_bring_back_what_was_forgotten_meanwhile(scene: Scene) -> None:
    await scene.write(ANN, "phone", "555-0100")
    await scene.claim("slow")
    scene.clock.advance(1)
    await scene.record.forget_facts(ANN, ["phone"], scene.at, [], run_id=None)
    with pytest.raises(Conflict):
        await scene.write(ANN, "phone", "555-0100", run_id="slow", origin="model")
    assert await scene.current(ANN) == {}
    assert (await scene.write(ANN, "phone", "555-0199", run_id="slow")).outcome == "created"
    await scene.record.forget_facts(ANN, ["phone"], scene.at, [], run_id=None)
    scene.clock.advance(1)
    await scene.claim("later", "s2")
    assert (await scene.write(ANN, "phone", "555-0100", run_id="later")).outcome == "created"


# -- conflicts


async def test_settling_keeps_the_version_that_a_person_vouches_for(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "k", "b", origin="tainted", confidence=0.7)
    await scene.write(ANN, "k", "c", origin="tainted")
    written = await settle(scene, 2)
    assert (written.outcome, written.fact.value, written.fact.version) == ("replaced", "b", 4)
    assert (written.fact.origin, written.fact.actor) == ("user", "ann")
    states = [(fact.value, fact.state) for fact in await scene.versions(ANN, "k")]
    assert states == [("a", "superseded"), ("b", "superseded"), ("c", "superseded"), ("b", "current")]
    assert (await undo(scene)).value == "a"


async def test_settling_for_the_current_one_retires_the_others(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "k", "b", origin="tainted")
    assert (await settle(scene, 1)).outcome == "seen"
    assert [fact.state for fact in await scene.versions(ANN, "k")] == ["current", "superseded"]
    with pytest.raises(Conflict, match="Nothing is in conflict"):
        await settle(scene, 1)


async def test_settling_for_no_version_of_the_conflict_lists_them(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "k", "b", origin="tainted")
    with pytest.raises(NotFound) as told:
        await settle(scene, 7)
    assert "1, 2" in str(told.value.remedy)


# -- as of


async def test_as_of_reads_what_was_current_then(scene: Scene) -> None:
    begin = scene.at
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "note", "n", valid_to=scene.at + timedelta(seconds=15))
    scene.clock.advance(10)
    await scene.write(ANN, "k", "evil", origin="tainted")
    scene.clock.advance(10)
    await scene.write(ANN, "k", "b")
    scene.clock.advance(10)
    await scene.record.forget_facts(ANN, ["k"], scene.at, [], run_id=None)
    versions = await scene.record.fact_versions(ANN)

    def at(seconds: int) -> dict[str, Any]:
        return {fact.key: fact.value for fact in facts_at(versions, begin + timedelta(seconds=seconds))}

    assert at(-1) == {}
    assert at(0) == at(12) == {"k": "a", "note": "n"}
    assert at(15) == {"k": "a"}
    assert at(20) == at(29) == {"k": "b"}
    assert at(30) == {}


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(["user", "tainted"]))),
    st.booleans(),
)
async def test_as_of_now_is_what_is_current(writes: list[tuple[str, str, Any]], forget: bool) -> None:
    from tests.runtime.store.support import open_scene

    scene = await open_scene(None)
    seen: list[tuple[Any, dict[str, Any]]] = []
    for key, value, origin in writes:
        await scene.write(ANN, key, value, origin=origin)
        seen.append((scene.at, await scene.current(ANN)))
        scene.clock.advance(1)
    if forget:
        await scene.record.forget_facts(ANN, ["a"], scene.at, [], run_id=None)
        seen.append((scene.at, await scene.current(ANN)))
    versions = await scene.record.fact_versions(ANN)
    for at, current in seen:
        assert {fact.key: fact.value for fact in facts_at(versions, at)} == current
    await scene.record.close()


# -- move


def moved(to: Shelf, *keys: str) -> MemoryMoved:
    return MemoryMoved(
        at=START, namespace="flow", scope="user", keys=keys, to_scope=to.scope, to_owner=to.owner
    )


async def test_a_move_takes_every_version_along(scene: Scene) -> None:
    for value in ("a", "b"):
        await scene.write(ANN, "k", value)
    await scene.write(ANN, "other", 1)
    before = await scene.versions(ANN, "k")
    entries = await scene.record.move_facts(ANN, BOB, ["k"], scene.at, [moved(BOB, "k")])
    assert await scene.current(ANN) == {"other": 1}
    assert await scene.versions(ANN, "k") == []
    assert await scene.versions(BOB, "k") == before
    users = {line.user_id for line in await scene.record.sessions(SessionFilter(flow_id="@admin"))}
    assert users == {"ann", "bob"}
    assert sum(isinstance(entry.event, MemoryMoved) for entry in entries) == 2
    assert await scene.record.shelves("real") == [(ANN, 1), (BOB, 1)]


async def test_a_move_happens_whole_or_not_at_all(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "l", "a")
    await scene.write(BOB, "l", "b")
    with pytest.raises(Conflict, match="'l'"):
        await scene.record.move_facts(ANN, BOB, ["k", "l"], scene.at, [])
    with pytest.raises(NotFound):
        await scene.record.move_facts(ANN, BOB, ["k", "none"], scene.at, [])
    with pytest.raises(Conflict):
        await scene.record.move_facts(ANN, ANN, ["k"], scene.at, [])
    with pytest.raises(Conflict):
        await scene.record.move_facts(ANN, BOB._replace(partition="rehearsal"), ["k"], scene.at, [])
    assert (await scene.current(ANN), await scene.current(BOB)) == ({"k": "a", "l": "a"}, {"l": "b"})


# -- import


async def exported(scene: Scene, shelf: Shelf = ANN) -> list[Shelved]:
    keys = {fact.key for fact in await scene.record.fact_versions(shelf)}
    return [Shelved(shelf, tuple(await scene.versions(shelf, key))) for key in sorted(keys)]


async def test_an_import_gives_what_was_exported(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    scene.clock.advance(1)
    await scene.write(ANN, "k", {"b": [1, None]}, kind="profile")
    await scene.write(ANN, "k", "c", origin="tainted")
    await scene.write(ANN, "gone", 1)
    await scene.record.forget_facts(ANN, ["gone"], scene.at, [], run_id=None)
    items = [msgspec.structs.replace(item, shelf=BOB) for item in await exported(scene)]
    found, _ = await scene.record.import_facts(items, scene.at, lambda item: [moved(BOB)])
    assert ([len(each) for each in found]) == [2, 0, 0]
    assert await scene.record.fact_versions(BOB) == await scene.record.fact_versions(ANN)
    again, entries = await scene.record.import_facts(items, scene.at, lambda item: [moved(BOB)])
    assert ([len(each) for each in again], entries) == ([0, 2, 0], ())


async def test_an_import_with_a_conflict_adds_nothing_unless_told(scene: Scene) -> None:
    await scene.write(ANN, "k", "a")
    await scene.write(ANN, "l", "a")
    await scene.write(BOB, "l", "b")
    items = [msgspec.structs.replace(item, shelf=BOB) for item in await exported(scene)]
    found, entries = await scene.record.import_facts(items, scene.at, lambda item: [moved(BOB)])
    assert ([len(each) for each in found], entries) == ([0, 0, 1], ())
    assert found.conflicts[0].versions[0].key == "l"
    assert await scene.current(BOB) == {"l": "b"}
    found, _ = await scene.record.import_facts(items, scene.at, lambda item: [], keep_ours=True)
    assert [len(each) for each in found] == [1, 0, 1]
    assert await scene.current(BOB) == {"k": "a", "l": "b"}


async def test_an_imported_fact_goes_on_as_any_other(scene: Scene) -> None:
    fact = Fact(key="k", value="old", version=3, recorded_at=scene.at - timedelta(days=1))
    await scene.record.import_facts([Shelved(ANN, (fact,))], scene.at, lambda item: [])
    written = await scene.write(ANN, "k", "new")
    assert (written.outcome, written.fact.version) == ("replaced", 4)
    same = msgspec.structs.replace(fact, value="new")
    wrote, _ = await scene.record.write_fact(
        ANN, FactWrite(key="k", value=same.value), scene.at, lambda _: [], run_id=None
    )
    assert wrote.outcome == "seen"
