"""Ageing of facts: what is retired, promoted, emptied, made derived again; and scores that are kept."""

from __future__ import annotations

from datetime import timedelta
from math import exp
from typing import Any

import pytest

from runtime.events import MemoryConsolidated, RunFinished
from runtime.facts import Ageing, Fact, FactWrite, Shelf, Shelved, promoted_from
from runtime.record import Access, Fading, RunEnd
from tests.runtime.store.support import Scene

ANN = Shelf("real", "flow", "user", "ann")


async def write(scene: Scene, key: str, value: Any, origin: str = "derived", **more: Any) -> int:
    wish = FactWrite(key=key, value=value, origin=origin, **more)  # type: ignore[arg-type]
    written, _ = await scene.record.write_fact(ANN, wish, scene.at, lambda _written: [], run_id=None)
    return written.fact.version


async def age(scene: Scene, **wish: dict[str, int]) -> Ageing:
    def told(done: Ageing) -> list[MemoryConsolidated]:
        keys = (*done.retire, *done.empty, *done.promote, *done.demote)
        return [MemoryConsolidated(at=scene.at, namespace="flow", scope="user", keys=keys)]

    done, entries = await scene.record.age_facts(ANN, Ageing(**wish), "r", scene.at, told, run_id=None)
    assert sum(isinstance(entry.event, MemoryConsolidated) for entry in entries) == (done != Ageing())
    return done


async def states(scene: Scene, key: str) -> list[tuple[str, str, Any]]:
    return [(fact.state, fact.origin, fact.value) for fact in await scene.record.fact_versions(ANN, key)]


async def test_only_the_version_that_was_seen_is_changed(scene: Scene) -> None:
    await write(scene, "a", 1)
    await write(scene, "a", 2)
    await write(scene, "b", 1)
    assert await age(scene, retire={"a": 1, "b": 1, "gone": 1}, promote={"a": 1}) == Ageing(retire={"b": 1})
    assert [fact.key for fact in await scene.record.facts(ANN)] == ["a"]


@pytest.mark.promise("MEM-19")
async def test_uses_are_of_a_statement_and_begin_anew_with_another(scene: Scene) -> None:
    async def use(times: int) -> None:
        for _ in range(times):
            run_id = scene.clock.new_id()
            await scene.claim(run_id)
            uses = tuple(Access(ANN, key, 1, scene.at) for key in ("a", "b"))
            end = RunEnd(run_id=run_id, state="completed", accesses=uses, at=scene.at)
            await scene.record.finish(end, [], lambda _: [])

    async def hits() -> dict[str, int]:
        return {key: used.hits for key, used in (await scene.record.accesses(ANN)).items()}

    version = await write(scene, "a", "tea")
    await write(scene, "b", 1)
    await use(3)
    await write(scene, "a", "tea")
    assert await age(scene, promote={"a": version}) == Ageing(promote={"a": version})
    assert await hits() == {"a": 3, "b": 3}, "it says the same"
    await write(scene, "a", "coffee", "model")
    assert await hits() == {"b": 3}
    await use(1)
    assert await hits() == {"a": 1, "b": 4}


async def test_promotion_keeps_the_statement_and_where_it_came_from(scene: Scene) -> None:
    end = scene.at + timedelta(days=9)
    version = await write(scene, "a", "tea", subject="ann", attribute="drink", valid_to=end, confidence=0.8)
    assert await age(scene, promote={"a": version}) == Ageing(promote={"a": version})
    assert await states(scene, "a") == [("superseded", "derived", "tea"), ("current", "model", "tea")]
    (fact,) = await scene.record.facts(ANN)
    assert promoted_from(fact) == version
    assert (fact.subject, fact.attribute, fact.valid_to, fact.confidence) == ("ann", "drink", end, 0.8)
    assert await age(scene, promote={"a": version + 1}) == Ageing(), "it is no derived fact any more"
    assert await age(scene, demote={"a": version + 1}) == Ageing(demote={"a": version + 1})
    assert (await states(scene, "a"))[-1] == ("current", "derived", "tea")
    assert await age(scene, demote={"a": version + 2}) == Ageing()


@pytest.mark.parametrize("origin", ["user", "operator"])
async def test_nothing_is_promoted_beside_what_a_person_said_of_the_same(scene: Scene, origin: Any) -> None:
    version = await write(scene, "found", "tea", subject="ann", attribute="drink")
    told = Fact(
        key="told", value="coffee", origin=origin, recorded_at=scene.at, subject="ann", attribute="drink"
    )
    await scene.record.import_facts([Shelved(ANN, (told,))], scene.at, lambda _imported: [])
    assert [fact.key for fact in await scene.record.facts(ANN)] == ["found", "told"]
    assert await age(scene, promote={"found": version}) == Ageing()
    assert await states(scene, "told") == [("current", origin, "coffee")]


@pytest.mark.parametrize("origin", ["user", "operator", "model", "tainted"])
async def test_only_what_is_derived_is_promoted(scene: Scene, origin: str) -> None:
    version = await write(scene, "a", 1, origin)
    assert await age(scene, promote={"a": version}) == Ageing()


async def test_the_value_of_a_former_version_is_taken_away_and_nothing_brings_it_back(scene: Scene) -> None:
    await write(scene, "a", "secret taste")
    assert await age(scene, empty={"a": 1}) == Ageing(), "it is current"
    await age(scene, retire={"a": 1})
    assert await age(scene, empty={"a": 1}) == Ageing(empty={"a": 1})
    assert await states(scene, "a") == [("erased", "derived", "[erased r]")]
    assert await age(scene, empty={"a": 1}) == Ageing()


async def test_a_conflict_beside_a_version_leaves_it_alone(scene: Scene) -> None:
    await write(scene, "a", 1)
    await write(scene, "a", 2, "tainted")
    assert await age(scene, retire={"a": 1}, promote={"a": 1}) == Ageing()


async def use(scene: Scene, run_id: str, *accesses: Access) -> None:
    await scene.claim(run_id, "one")
    end = RunEnd(run_id=run_id, state="completed", accesses=accesses, at=scene.at)
    finished = RunFinished(at=scene.at, run_id=run_id, state="completed")
    await scene.record.finish(end, [finished], lambda _totals: [])


async def test_an_access_raises_the_score_as_it_is_by_then(scene: Scene) -> None:
    written = scene.at
    fading = Fading(0.01, 0.2, written)
    scene.clock.advance(100 * 3600)
    await use(scene, "r1", Access(ANN, "a", 1, scene.at, fading=fading), Access(ANN, "b", 1, scene.at))
    found = await scene.record.accesses(ANN)
    first = exp(-1) + 0.2
    assert found["a"].score == pytest.approx(first, rel=1e-12)
    assert (found["a"].hits, found["a"].at, found["a"].fading) == (1, scene.at, None)
    assert found["b"].score is None
    scene.clock.advance(50 * 3600)
    await use(scene, "r2", Access(ANN, "a", 1, scene.at, fading=fading))
    found = await scene.record.accesses(ANN)
    assert found["a"].score == pytest.approx(first * exp(-0.5) + 0.2, rel=1e-12)
    assert found["a"].hits == 2
    scene.clock.advance(1)
    anew = Fading(0.01, 0.2, scene.at)
    scene.clock.advance(100 * 3600)
    await use(scene, "r3", Access(ANN, "a", 1, scene.at, fading=anew))
    assert (await scene.record.accesses(ANN))["a"].score == pytest.approx(first, rel=1e-12)
    await use(scene, "r4", Access(ANN, "a", 1, scene.at))
    assert (await scene.record.accesses(ANN))["a"].score is None, "an access without fading counts as 1"
