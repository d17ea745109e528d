"""Time, ids and randomness: the real ones, and virtual ones for tests and exact replays."""

from __future__ import annotations

import asyncio
import heapq
import os
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """Where time, ids and chance come from."""

    def now(self) -> datetime:
        """The time now, aware, in UTC, to the microsecond."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def new_id(self) -> str:
        """A UUIDv7: ids sort by their time."""
        ...

    def chance(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


def uuid7(ms: int, tail: int) -> str:
    """A UUID of version 7 (RFC 9562) from milliseconds since 1970 and 74 bits of `tail`."""
    value = (
        (ms & (1 << 48) - 1) << 80
        | 0x7 << 76
        | (tail >> 62 & 0xFFF) << 64
        | 0b10 << 62
        | tail & (1 << 62) - 1
    )
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class SystemClock:
    """The machine's clock and randomness."""

    # Every node asks for the time: no frame of ours for it.
    now: Callable[[], datetime] = staticmethod(partial(datetime.now, UTC))

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def new_id(self) -> str:
        return uuid7(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)) & (1 << 74) - 1)

    def chance(self) -> float:
        return random.random()


class VirtualClock:
    """A clock that stands still until told: `sleep` moves it on once nothing else can run.

    Ids count up from a seed, so that two runs of one test are the same to the byte. Sleepers wake in the
    order of their times.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 5, 9, 0, tzinfo=UTC), *, seed: int = 0) -> None:
        self._now = start
        self._elapsed = 0.0
        self._random = random.Random(seed)
        self._ids = seed << 32
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0
        self._driver: asyncio.Task[None] | None = None

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def new_id(self) -> str:
        self._ids += 1
        return uuid7(int(self._now.timestamp() * 1000), self._ids)

    def chance(self) -> float:
        return self._random.random()

    def set(self, now: datetime) -> None:
        """Jump to a time, waking whoever slept until before it."""
        self.advance(max(0.0, (now - self._now).total_seconds()))
        self._now = now

    def advance(self, seconds: float) -> None:
        """Move on by so many seconds and wake those whose time has come."""
        self._elapsed += seconds
        self._now += timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._elapsed + max(0.0, seconds), self._count, future))
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        await future

    async def _drive(self) -> None:
        """Give everybody many turns of the loop, then let the earliest sleeper's time come."""
        while self._sleepers:
            for _ in range(20):
                await asyncio.sleep(0)
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if self._sleepers:
                self.advance(max(0.0, self._sleepers[0][0] - self._elapsed))
