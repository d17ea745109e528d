"""Facts: versions, repeats, taint, supersession, forgetting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from runtime.errors import Conflict, Fenced
from runtime.events import MemoryWrite
from runtime.facts import FactWrite, Shelf
from runtime.record import SessionFilter
from tests.runtime.store.support import Scene

ANN = Shelf("real", "flow", "user", "ann")


@pytest.mark.promise("MEM-1")
async def test_a_write_replaces_value_and_kind_as_a_new_version(scene: Scene) -> None:
    created = await scene.write(ANN, "city", "Ghent", kind="profile")
    scene.clock.advance(60)
    replaced = await scene.write(ANN, "city", "Bruges")
    assert (created.outcome, replaced.outcome) == ("created", "replaced")
    assert replaced.previous is not None
    assert replaced.previous.value == "Ghent"
    old, new = await scene.versions(ANN, "city")
    assert (old.version, old.state, old.valid_to) == (1, "superseded", scene.at)
    assert (new.version, new.state, new.kind, new.valid_to) == (2, "current", "fact", None)
    assert await scene.current(ANN) == {"city": "Bruges"}


@pytest.mark.promise("MEM-2")
async def test_the_same_write_counts_and_changes_nothing_else(scene: Scene) -> None:
    for _ in range(3):
        written = await scene.write(ANN, "likes", {"a": 1, "b": [1, 2]})
    assert written.outcome == "seen"
    same = await scene.write(ANN, "likes", {"b": [1, 2], "a": 1})
    (fact,) = await scene.versions(ANN, "likes")
    assert (fact.version, fact.seen, same.fact.version) == (1, 4, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [(1, 1.0), (1, True), (0, False), (0, None), ("1", 1), ([], {}), ({"a": 1}, {"a": 1.0}), ("", None)],
)
async def test_equality_of_values_is_typed(scene: Scene, first: Any, second: Any) -> None:
    await scene.write(ANN, "k", first)
    written = await scene.write(ANN, "k", second)
    assert written.outcome == "replaced"
    (fact,) = await scene.record.facts(ANN)
    assert fact.value == second
    assert type(fact.value) is type(second)


async def test_the_same_value_of_another_kind_is_a_new_version(scene: Scene) -> None:
    await scene.write(ANN, "k", "v")
    assert (await scene.write(ANN, "k", "v", kind="profile")).outcome == "replaced"


async def test_null_is_a_value(scene: Scene) -> None:
    await scene.write(ANN, "k", "v")
    await scene.write(ANN, "k", None)
    assert await scene.current(ANN) == {"k": None}


async def test_values_come_back_as_json(scene: Scene) -> None:
    value = {"z": 1, "a": [1.5, "é", None, True], "big": 10**18, "nan": float("nan")}
    await scene.write(ANN, "k", value)
    (fact,) = await scene.record.facts(ANN)
    assert fact.value == {**value, "nan": None}
    assert list(fact.value) == ["z", "a", "big", "nan"]


async def test_an_expected_version_that_moved_on_is_a_conflict(scene: Scene) -> None:
    await scene.write(ANN, "k", 1, expect_version=0)
    with pytest.raises(Conflict):
        await scene.write(ANN, "k", 2, expect_version=0)
    await scene.write(ANN, "k", 2, expect_version=1)
    with pytest.raises(Conflict):
        await scene.write(ANN, "k", 3, expect_version=1)
    assert await scene.current(ANN) == {"k": 2}


@pytest.mark.promise("MEM-3")
async def test_forgetting_leaves_a_marker_that_a_slow_writer_cannot_lift(scene: Scene) -> None:
    read = (await scene.write(ANN, "phone", "555-0100")).fact
    await scene.record.forget_facts(ANN, ["phone", "unknown"], scene.at, [], run_id=None)
    assert await scene.record.facts(ANN) == []
    assert await scene.record.facts(ANN, keys=["phone"]) == []
    with pytest.raises(Conflict):
        await scene.write(ANN, "phone", "555-0100", expect_version=read.version)
    (marker,) = await scene.versions(ANN, "phone")
    assert (marker.state, marker.valid_to) == ("forgotten", scene.at)
    later = await scene.write(ANN, "phone", "555-0199")
    assert (later.outcome, later.fact.version) == ("created", 2)


@pytest.mark.promise("MEM-7")
async def test_a_tainted_write_stands_beside_an_untainted_fact(scene: Scene) -> None:
    await scene.write(ANN, "iban", "BE1")
    beside = await scene.write(ANN, "iban", "BE666", origin="tainted")
    assert (beside.outcome, beside.fact.state, beside.fact.version) == ("conflict", "conflict", 2)
    assert beside.previous is not None
    assert beside.previous.value == "BE1"
    again = await scene.write(ANN, "iban", "BE666", origin="tainted")
    assert (again.outcome, again.fact.seen, again.fact.version) == ("conflict", 2, 2)
    assert await scene.current(ANN) == {"iban": "BE1"}
    # an untainted write settles it, and takes the next version
    settled = await scene.write(ANN, "iban", "BE666", origin="operator")
    assert (settled.outcome, settled.fact.version) == ("replaced", 3)
    assert [fact.state for fact in await scene.versions(ANN, "iban")] == [
        "superseded",
        "superseded",
        "current",
    ]


async def test_saying_the_untainted_value_again_settles_a_conflict(scene: Scene) -> None:
    await scene.write(ANN, "k", "good")
    await scene.write(ANN, "k", "bad", origin="tainted")
    assert (await scene.write(ANN, "k", "good", origin="tainted")).outcome == "seen"
    assert [fact.state for fact in await scene.versions(ANN, "k")] == ["current", "conflict"]
    assert (await scene.write(ANN, "k", "good")).outcome == "seen"
    assert [fact.state for fact in await scene.versions(ANN, "k")] == ["current", "superseded"]


@pytest.mark.parametrize("origin", ["user", "operator"])
async def test_what_was_derived_stands_beside_what_a_person_wrote(scene: Scene, origin: Any) -> None:
    who: dict[str, Any] = {"subject": "Ann", "attribute": "town"}
    await scene.write(ANN, "home", "Bern", origin=origin, **who)
    assert (await scene.write(ANN, "home", "Basel", origin="derived", **who)).outcome == "conflict"
    assert (await scene.write(ANN, "lives_in", "Basel", origin="derived", **who)).outcome == "conflict"
    assert await scene.current(ANN) == {"home": "Bern"}
    await scene.write(ANN, "home", "Basel", origin="model", **who)
    assert await scene.current(ANN) == {"home": "Basel"}
    assert (await scene.write(ANN, "home", "Biel", origin="derived", **who)).outcome == "replaced"


async def test_a_tainted_fact_gives_way_and_is_cleared_by_an_untainted_repeat(scene: Scene) -> None:
    await scene.write(ANN, "k", 1, origin="tainted")
    assert (await scene.write(ANN, "k", 2, origin="tainted")).outcome == "replaced"
    cleared = await scene.write(ANN, "k", 2, origin="user")
    assert (cleared.outcome, cleared.fact.origin) == ("replaced", "user")


async def test_a_fact_that_says_the_same_attribute_under_another_key_is_superseded(scene: Scene) -> None:
    who: dict[str, Any] = {"subject": "A", "attribute": "works on"}
    await scene.write(ANN, "a/old", "Payments", **who)
    await scene.write(ANN, "a/other", "Tea", subject="A", attribute="drinks")
    await scene.write(ANN, "b/old", "Payments", subject="B", attribute="works on")
    scene.clock.advance(60)
    written = await scene.write(ANN, "a/new", "Search", **who)
    assert written.outcome == "replaced"
    assert written.previous is not None
    assert written.previous.key == "a/old"
    assert set(await scene.current(ANN)) == {"a/new", "a/other", "b/old"}
    (old,) = await scene.versions(ANN, "a/old")
    assert (old.state, old.valid_to) == ("superseded", scene.at)
    tainted = await scene.write(ANN, "a/evil", "Nothing", origin="tainted", **who)
    assert tainted.outcome == "conflict"
    assert "a/new" in await scene.current(ANN)


async def test_a_closed_interval_keeps_its_own_end(scene: Scene) -> None:
    until = scene.at + timedelta(hours=1)
    await scene.write(ANN, "k", 1, valid_to=until)
    scene.clock.advance(7200)
    assert (await scene.write(ANN, "k", 1)).outcome == "replaced"
    old, _ = await scene.versions(ANN, "k")
    assert old.valid_to == until


async def test_repeating_a_note_keeps_it_alive(scene: Scene) -> None:
    until = scene.at + timedelta(hours=1)
    await scene.write(ANN, "k", 1, valid_to=until)
    seen = await scene.write(ANN, "k", 1, valid_to=until + timedelta(hours=1))
    assert seen.fact.valid_to == until + timedelta(hours=1)
    shorter = await scene.write(ANN, "k", 1, valid_to=until)
    assert shorter.fact.valid_to == until + timedelta(hours=1)


@pytest.mark.promise("MEM-4")
async def test_shelves_never_see_each_other(scene: Scene) -> None:
    claimed = await scene.claim()
    shelves = [
        ANN,
        ANN._replace(owner="bob"),
        ANN._replace(namespace="other"),
        ANN._replace(partition="rehearsal"),
        Shelf("real", "flow", "session", claimed.session_uid),
        Shelf("real", "flow", "session", "ann"),
    ]
    for number, shelf in enumerate(shelves):
        await scene.write(shelf, "k", number)
    for number, shelf in enumerate(shelves):
        assert await scene.current(shelf) == {"k": number}
    listed = await scene.record.shelves("real", "ann")
    assert listed == [
        (Shelf("real", "flow", "session", claimed.session_uid), 1),
        (ANN, 1),
        (ANN._replace(namespace="other"), 1),
    ]
    assert len(await scene.record.shelves("real")) == 5
    assert len(await scene.record.shelves("rehearsal")) == 1


async def test_facts_come_in_key_order_and_by_key(scene: Scene) -> None:
    for key in ("b", "a", "ä", "Z", "__x"):
        await scene.write(ANN, key, key)
    assert list(await scene.current(ANN)) == ["Z", "__x", "a", "b", "ä"]
    some = await scene.record.facts(ANN, keys=["b", "none", "a", "a"])
    assert [fact.key for fact in some] == ["a", "b"]
    assert [fact.key for fact in await scene.record.fact_versions(ANN)] == ["Z", "__x", "a", "b", "ä"]


async def test_everything_about_a_fact_is_kept(scene: Scene) -> None:
    write = FactWrite(
        key="k",
        value=[1],
        kind="profile",
        origin="model",
        confidence=0.25,
        valid_from=scene.at - timedelta(days=1),
        valid_to=scene.at + timedelta(days=1),
        source="run-9",
        step=3,
        actor="ann",
        subject="s",
        attribute="a",
    )
    written, _ = await scene.record.write_fact(ANN, write, scene.at, lambda _: [], run_id=None)
    (fact,) = await scene.record.facts(ANN)
    assert fact == written.fact
    for name in write.__struct_fields__:
        if name != "expect_version":
            assert getattr(fact, name) == getattr(write, name)


@pytest.mark.promise("EVT-9")
async def test_events_of_facts_stand_with_the_run_or_with_the_users_admin_session(scene: Scene) -> None:
    claimed = await scene.claim()

    def said(written: Any) -> list[MemoryWrite]:
        return [
            MemoryWrite(
                at=scene.at,
                namespace="flow",
                scope="user",
                keys=(written.fact.key,),
                outcome=written.outcome,
                version=written.fact.version,
            )
        ]

    write = FactWrite(key="k", value=1)
    _, entries = await scene.record.write_fact(ANN, write, scene.at, said, run_id="run-1")
    assert [entry.session_uid for entry in entries] == [claimed.session_uid]
    _, entries = await scene.record.write_fact(ANN, write, scene.at, said, run_id=None)
    assert [entry.event.__class__.__name__ for entry in entries] == ["SessionOpened", "MemoryWrite"]
    session = Shelf("real", "flow", "session", claimed.session_uid)
    _, entries = await scene.record.write_fact(session, write, scene.at, said, run_id=None)
    assert [entry.seq for entry in entries] == [3]
    (line,) = await scene.record.sessions(SessionFilter(flow_id="@admin"))
    assert line.user_id == "ann"
    with pytest.raises(Fenced):
        await scene.record.write_fact(ANN, FactWrite(key="k", value=2), scene.at, said, run_id="gone")
    assert await scene.current(ANN) == {"k": 1}
