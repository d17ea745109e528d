"""Maintenance beside the runs: one at a time for each session, awaited before its next prompt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from runtime.record import SessionKey


class Maintenance:
    """The maintenance under way in this process."""

    def __init__(self) -> None:
        self._under_way: dict[SessionKey, asyncio.Task[Any]] = {}

    def begin(self, session: SessionKey, work: Coroutine[Any, Any, Any]) -> None:
        """Begin in the background what a turn of this session calls for; nothing where some is under way."""
        if session in self._under_way:
            work.close()
            return
        task = asyncio.create_task(work)
        self._under_way[session] = task
        task.add_done_callback(lambda done: self._ended(session, done))

    def busy(self, session: SessionKey) -> bool:
        """Whether maintenance of this session is under way."""
        return session in self._under_way

    async def settled(self, session: SessionKey) -> None:
        """Wait until no maintenance of this session is under way."""
        task = self._under_way.get(session)
        if task is not None:
            await asyncio.wait([task])

    async def idle(self) -> None:
        """Wait until none is under way. Where that is cancelled, it is too."""
        try:
            while self._under_way:
                await asyncio.wait(list(self._under_way.values()))
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Cancel what is under way; its calls are settled."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, session: SessionKey, task: asyncio.Task[Any]) -> None:
        self._under_way.pop(session, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger(__name__).error("maintenance of a session failed", exc_info=error)
