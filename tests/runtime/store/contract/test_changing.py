"""Several changes of facts in one transaction, each whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import Conflict
from runtime.events import MemoryConsolidated
from runtime.facts import FactChange, FactWrite, Made, Shelf
from runtime.record import SessionFilter
from tests.runtime.store.support import Scene

SHELF = Shelf("real", "shop", "user", "ann")


async def change(scene: Scene, *changes: FactChange, quiet: bool = True) -> list[bool]:
    def said(made: tuple[Made, ...]) -> list[MemoryConsolidated]:
        count = sum(each.done for each in made)
        return [MemoryConsolidated(at=scene.at, namespace="shop", scope="user", merged=count, batch="b")]

    made, entries = await scene.record.change_facts(SHELF, changes, scene.at, said, quiet=quiet)
    assert entries[-1].event.merged == sum(each.done for each in made)  # type: ignore[union-attr]
    return [each.done for each in made]


async def fill(scene: Scene) -> None:
    for key in ("a", "b", "c"):
        await scene.write(SHELF, key, f"value {key}", origin="derived")


async def test_what_rests_on_the_newest_version_is_made(scene: Scene) -> None:
    await fill(scene)
    retire = FactChange(close=(("a", 1),), stand=(("b", 1),))
    rewrite = FactChange(close=(("b", 1), ("c", 1)), write=FactWrite(key="b", value="both", origin="derived"))
    assert await change(scene, retire, rewrite) == [True, True]
    assert await scene.current(SHELF) == {"b": "both"}
    assert [fact.state for fact in await scene.versions(SHELF, "a")] == ["superseded"]
    assert [(f.version, f.state) for f in await scene.versions(SHELF, "b")] == [
        (1, "superseded"),
        (2, "current"),
    ]
    (admin,) = await scene.record.sessions(SessionFilter(name="@admin"))
    assert admin.user_id == "ann"


@pytest.mark.promise("MEM-18")
async def test_what_moved_on_is_left_whole(scene: Scene) -> None:
    await fill(scene)
    await scene.write(SHELF, "b", "newer")
    await scene.write(SHELF, "c", "a tool's", origin="tainted")
    for stale in (
        FactChange(close=(("a", 1), ("b", 1)), write=FactWrite(key="b", value="both")),
        FactChange(close=(("a", 1),), stand=(("b", 1),)),
        FactChange(close=(("c", 1),)),
        FactChange(close=(("nothing", 1),)),
        FactChange(gone=(("a", 1),), write=FactWrite(key="a", value="back")),
    ):
        assert await change(scene, stale) == [False]
    assert await scene.current(SHELF) == {"a": "value a", "b": "newer", "c": "value c"}


async def test_what_was_retired_comes_back_unless_it_was_forgotten_or_is_said_elsewhere(scene: Scene) -> None:
    about: dict[str, Any] = {"subject": "ann", "attribute": "city"}
    await scene.write(SHELF, "a", "Ghent", origin="derived", **about)
    await scene.write(SHELF, "b", "x")
    back = FactChange(gone=(("a", 1),), write=FactWrite(key="a", value="Ghent", **about))
    assert await change(scene, FactChange(close=(("a", 1),))) == [True]
    await scene.write(SHELF, "town", "Bruges", **about)
    assert await change(scene, back) == [False]
    await scene.record.forget_facts(SHELF, ["town", "b"], scene.at, [], run_id=None)
    assert await change(scene, back) == [True]
    assert await change(scene, FactChange(gone=(("b", 1),), write=FactWrite(key="b", value="x"))) == [False]
    assert await scene.current(SHELF) == {"a": "Ghent"}


@pytest.mark.promise("MEM-18")
async def test_it_is_refused_while_a_run_of_the_user_is_active(scene: Scene) -> None:
    await fill(scene)
    await scene.claim("run-1", "s", user="bob")
    wish = FactChange(close=(("a", 1),))
    await scene.claim("run-2", "s", user="ann")
    with pytest.raises(Conflict) as found:
        await change(scene, wish)
    assert found.value.code == "memory.run_active"
    assert "a" in await scene.current(SHELF)
    assert await change(scene, wish, quiet=False) == [True]
    await scene.finish("run-2")
    assert await change(scene, FactChange(close=(("b", 1),))) == [True]
