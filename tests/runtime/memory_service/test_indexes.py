"""Indexes are kept in step with the store: what is new is taken in, what is gone is let go of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest

from runtime.clock import VirtualClock
from runtime.facts import Fact, Shelf
from runtime.memory_service.indexes import AT_ONCE, MOST_INDEXES, FactIndex, Indexes, TurnIndex, Whose
from runtime.record import UserTurns
from runtime.store.memory.record import MemoryRecord
from tests.runtime.store.support import START, Scene, turn

ANN = Whose("real", "ann", "flow", ("agent",))


def length(text: str) -> int:
    return len(text) // 4


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    clock = VirtualClock(START)
    record = MemoryRecord(clock)
    await record.open()
    yield Scene(record, clock)
    await record.close()


async def done(scene: Scene, run_id: str, session: str, asked: str) -> str:
    claimed = await scene.claim(run_id, session)
    await scene.finish(run_id, turns=[turn(asked, "answer")])
    return claimed.session_uid


async def test_new_turns_are_taken_in_and_each_is_read_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, mine = TurnIndex(ANN), await done(scene, "r0", "mine", "hello")
    read: list[UserTurns] = []
    whole = scene.record.user_turns

    async def watched(*args: object, **more: object) -> UserTurns:
        read.append(await whole(*args, **more))  # type: ignore[arg-type]
        return read[-1]

    monkeypatch.setattr(scene.record, "user_turns", watched)

    async def asked() -> list[str]:
        found = await index.recall(scene.record, mine, "brake", scene.at, length)
        return [each.exchange.said[0].text for each in found]

    assert await asked() == []
    await done(scene, "r1", "a", "the brake squeals")
    assert await asked() == ["the brake squeals"]
    await done(scene, "r2", "b", "a brake cable")
    assert sorted(await asked()) == ["a brake cable", "the brake squeals"]
    assert [len(each.lines) for each in read] == [1, 1, 1]


async def test_everything_is_read_anew_once_something_was_erased(scene: Scene) -> None:
    index, mine = TurnIndex(ANN), await done(scene, "r0", "mine", "hello")
    await done(scene, "r1", "a", "the brake squeals")
    assert len(await index.recall(scene.record, mine, "brake", scene.at, length)) == 1
    state = scene.record._state  # type: ignore[attr-defined]
    (session,) = [session for session in state.sessions if session.key.name == "a"]
    session.turns["agent"][0] = turn("[erased 1]", "answer").messages
    erased = Fact(key="k", value="[erased 1]", state="erased", recorded_at=scene.at)
    state.facts[Shelf("real", "flow", "user", "ann")] = {"k": [erased]}
    assert await index.recall(scene.record, mine, "brake", scene.at, length) == []


async def test_everything_is_read_anew_once_turns_are_missing(scene: Scene) -> None:
    index, mine = TurnIndex(ANN), await done(scene, "r0", "mine", "hello")
    await done(scene, "r1", "a", "the brake squeals")
    await done(scene, "r2", "b", "the brake is fine")
    assert len(await index.recall(scene.record, mine, "brake", scene.at, length)) == 2
    state = scene.record._state  # type: ignore[attr-defined]
    for session in state.sessions:
        if session.key.name == "a":
            session.turns.clear()
            session.turn_marks.clear()
    found = await index.recall(scene.record, mine, "brake", scene.at, length)
    assert [each.exchange.session_name for each in found] == ["b"]


def fact(key: str, value: str, version: int = 1) -> Fact:
    return Fact(key=key, value=value, version=version, recorded_at=START)


async def test_facts_are_ranked_as_they_are_now() -> None:
    index, now = FactIndex(), START + timedelta(days=1)
    facts = [fact("a", "tea"), fact("b", "a squealing brake"), fact("c", "lamps")]

    async def ranked(query: str) -> list[str]:
        return [each.key for each in await index.rank(facts, query, now, length)]

    async def best(query: str) -> str:
        return (await ranked(query))[0]

    assert await best("brake") == "b"
    facts[1] = fact("b", "a fine saddle", 2)
    facts.append(fact("d", "the brake of the tandem"))
    assert await best("brake") == "d"
    assert await best("saddle") == "b"
    del facts[3]
    assert await ranked("brake") == ["a", "b", "c"]
    assert sorted(await ranked("lamps")) == ["a", "b", "c"]


async def test_many_facts_are_taken_in_while_others_get_their_turn() -> None:
    index, facts = FactIndex(), [fact(f"k{number}", f"value {number}") for number in range(AT_ONCE * 4)]
    turns: list[int] = []

    async def other() -> None:
        while True:
            turns.append(len(index._known))
            await asyncio.sleep(0)

    watching = asyncio.create_task(other())
    ranked = await asyncio.gather(*(index.rank(facts, "value 7", START, length) for _ in range(2)))
    watching.cancel()
    assert [each[0].key for each in ranked] == ["k7", "k7"]
    assert {AT_ONCE, 2 * AT_ONCE, 3 * AT_ONCE} <= set(turns)


def test_no_index_serves_two_and_the_oldest_makes_room() -> None:
    indexes = Indexes()
    ann = indexes.turns(ANN)
    assert indexes.turns(msgspec.structs.replace(ANN, user_id="eve")) is not ann
    assert indexes.turns(msgspec.structs.replace(ANN, node_ids=("agent", "b"))) is not ann
    assert indexes.turns(ANN) is ann
    for number in range(MOST_INDEXES):
        indexes.facts(Shelf("real", "flow", "user", str(number)))
    assert indexes.turns(ANN) is not ann
