"""Marks of contradictions: when they hold, a person's word on them, and the way back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import VirtualClock
from runtime.errors import BadInput, Conflict, NotFound
from runtime.events import MemoryJudged, Verdict
from runtime.facts import FactWrite, Shelf
from runtime.memory_service.choosing import Chosen, change_id, only, plan_id
from runtime.memory_service.consolidated import past, undo
from runtime.memory_service.consolidating import Plan, carry_out, keep, look
from runtime.memory_service.marks import Settling, marks_on, settle
from runtime.record import Record
from runtime.store.opening import open_record
from tests.runtime.store.support import START

ADA = Shelf("real", "shop", "user", "ada")
EVE = ADA._replace(owner="eve")
LATER = START + timedelta(hours=1)


@pytest.fixture(params=["memory", "sqlite"])
async def record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Record]:
    path = None if request.param == "memory" else tmp_path / "f.db"
    record = open_record(path, VirtualClock(START))
    await record.open()
    for shelf in (ADA, EVE):
        await write(record, "dog", "has 2 dogs", shelf)
        await write(record, "pets", "has 3 dogs", shelf)
    yield record
    await record.close()


async def write(record: Record, key: str, value: Any, shelf: Shelf = ADA, **more: Any) -> None:
    wish = FactWrite(key=key, value=value, **{"origin": "model", **more})
    await record.write_fact(shelf, wish, START, lambda _w: [], run_id=None)


async def plans(record: Record) -> list[Plan]:
    return await look(record, "real", "ada", START, await past(record, "real", "ada"))


async def judge(record: Record, key: str = "dog", other: str = "pets") -> None:
    versions = {fact.key: fact.version for fact in await record.facts(ADA)}
    verdict = Verdict(
        key=key, version=versions[key], other=other, other_version=versions[other], relation="conflict",
        why="2 or 3",
    )  # fmt: skip
    event = MemoryJudged(
        at=START, namespace="shop", scope="user", owner="ada", keys=(key, other), verdicts=(verdict,)
    )
    await record.forget_facts(ADA, [], START, [event], run_id=None)


async def mark(record: Record) -> None:
    """What a consolidation leaves of a judgement that two facts contradict each other."""
    await judge(record)
    parts = await keep(record, "real", "ada", await plans(record), "first", "bo", START)
    await carry_out(record, "real", parts, "bo", lambda: START)


async def current(record: Record) -> dict[str, Any]:
    return {fact.key: fact.value for fact in await record.facts(ADA)}


async def pairs_marked(record: Record) -> list[tuple[str, str, str]]:
    return [(found.shelf.owner, found.key, found.other) for found in await marks_on(record, [EVE, ADA])]


@pytest.mark.promise("MEM-25")
async def test_a_mark_holds_until_one_side_is_changed_or_forgotten(record: Record) -> None:
    await mark(record)
    assert await pairs_marked(record) == [("ada", "dog", "pets")]
    await write(record, "pets", "has 2 dogs and a cat")
    assert await pairs_marked(record) == []
    await judge(record)
    parts = await keep(record, "real", "ada", await plans(record), "second", "bo", START)
    await carry_out(record, "real", parts, "bo", lambda: START)
    assert await pairs_marked(record) == [("ada", "dog", "pets")]
    await record.forget_facts(ADA, ["dog"], START, [], run_id=None)
    assert await pairs_marked(record) == []


@pytest.mark.promise("MEM-25")
async def test_one_side_is_right_and_the_other_is_retired_with_a_way_back(record: Record) -> None:
    await mark(record)
    await settle(record, ADA, Settling("dog", "pets", False, "ada"), "settled", LATER)
    assert await current(record) == {"dog": "has 2 dogs"}
    (retired,) = await record.fact_versions(ADA, "pets")
    assert (retired.state, retired.valid_to) == ("superseded", LATER)
    assert await pairs_marked(record) == []
    assert await plans(record) == []
    undone = await undo(record, "real", "ada", "ada", LATER)
    assert undone.keys == ("pets",)
    assert await current(record) == {"dog": "has 2 dogs", "pets": "has 3 dogs"}


@pytest.mark.promise("MEM-25")
async def test_both_are_right_and_are_not_marked_again(record: Record) -> None:
    await mark(record)
    await settle(record, ADA, Settling("pets", "dog", True, "ada"), "settled", LATER)
    assert await current(record) == {"dog": "has 2 dogs", "pets": "has 3 dogs"}
    assert await pairs_marked(record) == []
    assert await plans(record) == [], "the model's verdict still stands, and a person's word is above it"
    assert (await undo(record, "real", "ada", "ada", LATER)).keys == ()
    assert await pairs_marked(record) == [("ada", "dog", "pets")], "taken back: the mark is there again"


async def test_marks_are_found_among_many_users(record: Record) -> None:
    others = [ADA._replace(owner=f"user{number}") for number in range(12)]
    assert await marks_on(record, [*others, ADA]) == []
    await mark(record)
    assert [found.shelf for found in await marks_on(record, [*others, ADA])] == [ADA]


async def test_what_is_not_marked_is_not_settled(record: Record) -> None:
    with pytest.raises(NotFound, match="not marked"):
        await settle(record, ADA, Settling("dog", "pets", False, "ada"), "settled", LATER)
    await mark(record)
    with pytest.raises(NotFound, match="not marked"):
        await settle(record, EVE, Settling("dog", "pets", False, "eve"), "settled", LATER)
    assert len(await record.facts(EVE)) == 2


async def test_a_choice_is_of_what_was_shown(record: Record) -> None:
    for key in ("note", "old"):
        await write(record, key, key, valid_to=START)
    shown = await plans(record)
    (shelf_plan,) = shown
    ids = [change_id(shelf_plan.shelf, each.event()) for each in shelf_plan.proposals]
    assert len(set(ids)) == 2
    (kept,) = only(shown, Chosen(plan=plan_id(shown), leave=frozenset(ids[:1])))
    assert [each.key for each in kept.proposals] == ["old"]
    assert only(shown, Chosen()) == shown
    with pytest.raises(BadInput, match="No change"):
        only(shown, Chosen(leave=frozenset(ids)))
    await write(record, "note", "new")
    with pytest.raises(Conflict, match="no longer what you were shown") as told:
        only(await plans(record), Chosen(plan=plan_id(shown)))
    assert told.value.code == "memory.plan_moved"
