"""What only the in-memory store promises: virtual time, nothing encoded before it is read."""

from __future__ import annotations

import asyncio

import msgspec

from runtime.clock import VirtualClock
from runtime.events import Custom, Entry, decode
from runtime.ledger import Blocked
from tests.runtime.store.support import START, Scene, open_scene, rule


async def waiting_scene() -> tuple[Scene, int]:
    scene = await open_scene(None, VirtualClock(START))
    await scene.claim("run-1")
    await scene.claim("run-2")
    call = await scene.opened("k", rule(), run_id="run-1")
    held = await scene.held("k", rule(), run_id="run-2")
    assert isinstance(held.admission, Blocked)
    return scene, call.call_id


async def test_waiting_times_out_in_virtual_time() -> None:
    scene, _ = await waiting_scene()
    assert not await scene.record.wait_settled(150.0)
    assert (scene.at - START).total_seconds() == 150.0


async def test_a_settle_in_virtual_time_wakes_before_the_time_out() -> None:
    scene, call_id = await waiting_scene()

    async def model() -> None:
        await scene.clock.sleep(20.0)
        await scene.close(call_id, 10)

    answering = asyncio.create_task(model())
    assert await scene.record.wait_settled(150.0)
    assert (scene.at - START).total_seconds() == 20.0
    await answering


async def test_an_event_is_encoded_when_it_is_read() -> None:
    scene = await open_scene(None)
    claimed = await scene.claim()

    class Unspeakable:
        """Not JSON."""

    event = Custom(at=scene.at, name="n", data=Unspeakable())
    (entry,) = await scene.record.append("run-1", [event])
    assert entry.event is event
    (sound,) = await scene.say("run-1", "a")
    uid, seq, said, body = sound
    assert (uid, seq, said) == (claimed.session_uid, 4, sound.event)
    assert sound[3] == sound.body == body
    assert decode(body) == said
    assert msgspec.json.decode(sound.json())["seq"] == 4
    assert isinstance(sound, Entry)
