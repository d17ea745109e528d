"""Maintenance beside the runs: one at a time for each session, awaited before its next prompt."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Protocol

import msgspec

from runtime.calls import to_the_end
from runtime.errors import FarthingError
from runtime.record import SessionKey


class Duty(Protocol):
    """What a turn calls for."""

    async def carry_out(self) -> object:
        """Do it."""
        ...

    async def skip(self) -> None:
        """Say on the timeline that it was not done, unless it was begun: then that says it."""
        ...


class _Going(msgspec.Struct, frozen=True):
    duty: Duty
    task: asyncio.Task[object]


class Maintenance:
    """The maintenance under way in this process, and what waits its turn behind it."""

    def __init__(self) -> None:
        self._under_way: dict[SessionKey, _Going] = {}
        self._behind: dict[SessionKey, deque[Duty]] = {}

    def begin(self, session: SessionKey, duty: Duty) -> None:
        """Begin in the background what a turn of this session calls for; behind what is under way for it, so
        that of turns that overlap none goes without."""
        if session in self._under_way:
            self._behind.setdefault(session, deque()).append(duty)
            return
        task: asyncio.Task[object] = asyncio.create_task(duty.carry_out())
        self._under_way[session] = _Going(duty, task)
        task.add_done_callback(lambda done: self._ended(session, done))

    def busy(self, session: SessionKey) -> bool:
        """Whether maintenance of this session is under way."""
        return session in self._under_way

    async def settled(self, session: SessionKey) -> None:
        """Wait until no maintenance of this session is under way or waits."""
        while (going := self._under_way.get(session)) is not None:
            await _over([going.task])

    async def idle(self) -> None:
        """Wait until none is under way. Where that is cancelled, it is too."""
        try:
            while self._under_way:
                await _over([going.task for going in self._under_way.values()])
        except asyncio.CancelledError:
            await to_the_end(self.stop())
            raise

    async def stop(self) -> None:
        """Cancel what is under way, its calls are settled; what waits is not begun, which is said."""
        waiting = [duty for behind in self._behind.values() for duty in behind]
        self._behind.clear()
        going = list(self._under_way.values())
        for each in going:
            each.task.cancel()
        if going:
            await _over([each.task for each in going])
        cancelled = [each.duty for each in going if each.task.cancelled()]
        for duty in (*cancelled, *waiting):
            try:
                await duty.skip()
            except FarthingError as error:
                logging.getLogger(__name__).error("maintenance was skipped untold: %s", error)

    def _ended(self, session: SessionKey, task: asyncio.Task[object]) -> None:
        self._under_way.pop(session, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger(__name__).error("maintenance of a session failed", exc_info=error)
        waiting = self._behind.get(session)
        if waiting:
            self.begin(session, waiting.popleft())
        else:
            self._behind.pop(session, None)


async def _over(tasks: list[asyncio.Task[object]]) -> None:
    """Wait until these have ended and what follows on each has begun: callbacks run in the order in which
    they were added, ours first."""
    await asyncio.wait(tasks)
