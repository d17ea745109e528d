"""One at a time in all processes: a lease in the store, renewed while its work goes on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType

import msgspec

from runtime.calls import to_the_end
from runtime.clock import Clock
from runtime.errors import FarthingError, StoreError
from runtime.facts import Partition
from runtime.record import Lease, Record, SessionKey

LEASE_S = 30.0
"""For how long a lease is taken. It is renewed after a third of that; a holder that stood still for longer
may have lost it."""
ASK_AGAIN_S = 0.1
"""How often a lease that somebody else has is asked for."""
REAP_EVERY = 10
"""After how many of these askings dead processes are looked for, whose leases are free at once."""


def care_of(session: SessionKey) -> str:
    """The name of the lease of whoever takes care of a session's memory."""
    return f"maintenance {msgspec.json.encode(session).decode()}"


def judgement_of(partition: Partition, user_id: str) -> str:
    """The name of the lease of whoever asks a model about a user's facts."""
    return f"judgement {msgspec.json.encode((partition, user_id)).decode()}"


class Leased:
    """`async with Leased(…)`: waits until the lease is free, holds it, and lets it go whatever happens. With
    `refusal` it does not wait: that is raised where somebody else has it. Where it is lost meanwhile, the
    work inside is cancelled: somebody else does it."""

    def __init__(
        self, record: Record, clock: Clock, name: str, *, refusal: FarthingError | None = None
    ) -> None:
        self._record, self._clock, self._name, self._refusal = record, clock, name, refusal
        self._holder = clock.new_id()
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        try:
            while not await self._take():
                if self._refusal is not None:
                    await refuse_while_leased(self._record, self._clock, self._name, self._refusal)
                else:
                    await until_free(self._record, self._clock, self._name)
        except BaseException:  # cancelled: the store may have said yes
            await self._drop()
            raise
        working = asyncio.current_task()
        assert working is not None
        self._renewing = asyncio.create_task(self._renew(working))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._renewing is not None
        self._renewing.cancel()
        await self._drop()

    async def _take(self) -> bool:
        now = self._clock.now()
        until = now + timedelta(seconds=LEASE_S)
        return await self._record.take_lease(Lease(self._name, self._holder, until), now)

    async def _drop(self) -> None:
        await to_the_end(self._record.drop_lease(Lease(self._name, self._holder, self._clock.now())))

    async def _renew(self, working: asyncio.Task[object]) -> None:
        """In real time, whatever the clock: a virtual one must not be moved on by this."""
        while True:
            await asyncio.sleep(LEASE_S / 3)
            try:
                kept = await self._take()
            except StoreError:  # the file is busy or full: what goes on will tell; the next time may do
                continue
            if not kept:
                working.cancel()
                return


async def until_free(record: Record, clock: Clock, name: str) -> None:
    """Wait until nobody has this lease."""
    asked = 0
    while await record.lease_held(name, clock.now()):
        asked += 1
        if asked % REAP_EVERY == 0:
            await record.reap()
        await clock.sleep(ASK_AGAIN_S)


async def refuse_while_leased(record: Record, clock: Clock, name: str, refusal: FarthingError) -> None:
    """Raise it where somebody has this lease whose process lives."""
    if await record.lease_held(name, clock.now()):
        await record.reap()
        if await record.lease_held(name, clock.now()):
            raise refusal
