"""A run is asked to end by whoever does not execute it."""

from __future__ import annotations

import asyncio

from tests.runtime.store.support import Scene


async def test_who_executes_a_run_is_told_who_asked(scene: Scene, real_time: None) -> None:
    await scene.claim("run-1")
    await scene.claim("run-2")
    one, two = (asyncio.create_task(scene.record.cancel_asked(f"run-{i}")) for i in (1, 2))
    await asyncio.sleep(0)
    assert await scene.record.ask_cancel("run-1", "mia")
    assert await asyncio.wait_for(one, 1) == "mia"
    assert not two.done()
    assert not await scene.record.ask_cancel("run-1", "eve")
    assert not await scene.record.ask_cancel("nobody", "eve")
    await scene.finish("run-2")
    assert not await scene.record.ask_cancel("run-2", "eve")
    two.cancel()
    await asyncio.wait([two])
    await scene.claim("run-3")
    assert await scene.record.ask_cancel("run-3", "eve")
    late = asyncio.create_task(scene.record.cancel_asked("run-3"))
    assert await asyncio.wait_for(late, 1) == "eve", "asked before anybody listened"
