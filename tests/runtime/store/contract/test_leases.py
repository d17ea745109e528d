"""Leases: what only one may do at a time."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from runtime.record import Lease
from tests.runtime.store.support import Scene


async def test_a_lease_has_one_holder_until_it_is_dropped_or_over(scene: Scene) -> None:
    record = scene.record
    mine, yours = (Lease("care", holder, scene.at + timedelta(seconds=30)) for holder in ("me", "you"))
    assert not await record.lease_held("care", scene.at)
    assert await record.take_lease(mine, scene.at)
    assert await record.lease_held("care", scene.at)
    assert not await record.take_lease(yours, scene.at)
    await record.drop_lease(yours)
    assert await record.lease_held("care", scene.at), "nobody drops another's"
    assert await record.take_lease(
        msgspec.structs.replace(mine, until=scene.at + timedelta(seconds=60)), scene.at
    ), "renewed"
    scene.clock.advance(59)
    assert not await record.take_lease(yours, scene.at)
    assert await record.take_lease(Lease("other", "you", scene.at), scene.at)
    scene.clock.advance(1)
    assert not await record.lease_held("care", scene.at)
    assert await record.take_lease(
        msgspec.structs.replace(yours, until=scene.at + timedelta(seconds=1)), scene.at
    )
    assert not await record.take_lease(mine, scene.at), "it is lost"
    await record.drop_lease(yours)
    assert await record.take_lease(mine, scene.at)
