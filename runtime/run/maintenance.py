"""Maintenance beside the runs: one at a time for each session, awaited before its next prompt."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from typing import Any

from runtime.record import SessionKey

Work = Coroutine[Any, Any, Any]


class Maintenance:
    """The maintenance under way in this process, and what waits its turn behind it."""

    def __init__(self) -> None:
        self._under_way: dict[SessionKey, asyncio.Task[Any]] = {}
        self._behind: dict[SessionKey, deque[Work]] = {}

    def begin(self, session: SessionKey, work: Work) -> None:
        """Begin in the background what a turn of this session calls for; behind what is under way for it, so
        that of turns that overlap none goes without."""
        if session in self._under_way:
            self._behind.setdefault(session, deque()).append(work)
            return
        task = asyncio.create_task(work)
        self._under_way[session] = task
        task.add_done_callback(lambda done: self._ended(session, done))

    def busy(self, session: SessionKey) -> bool:
        """Whether maintenance of this session is under way."""
        return session in self._under_way

    async def settled(self, session: SessionKey) -> None:
        """Wait until no maintenance of this session is under way or waits."""
        while (task := self._under_way.get(session)) is not None:
            await _over([task])

    async def idle(self) -> None:
        """Wait until none is under way. Where that is cancelled, it is too."""
        try:
            while self._under_way:
                await _over(list(self._under_way.values()))
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Cancel what is under way, its calls are settled; what waits is not begun."""
        for waiting in self._behind.values():
            for work in waiting:
                work.close()
        self._behind.clear()
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await _over(tasks)

    def _ended(self, session: SessionKey, task: asyncio.Task[Any]) -> None:
        self._under_way.pop(session, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger(__name__).error("maintenance of a session failed", exc_info=error)
        waiting = self._behind.get(session)
        if waiting:
            self.begin(session, waiting.popleft())
        else:
            self._behind.pop(session, None)


async def _over(tasks: list[asyncio.Task[Any]]) -> None:
    """Wait until these have ended and what follows on each has begun: callbacks run in the order in which
    they were added, ours first."""
    await asyncio.wait(tasks)
