"""Asking a run to end, in memory."""

from __future__ import annotations

import asyncio

from runtime.store.memory.state import State


class MemoryCancelling:
    """The verbs of `runtime.record.Record` for ending a run from anywhere."""

    _state: State

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, str] = {}
        self._listeners: dict[str, asyncio.Future[str]] = {}

    async def ask_cancel(self, run_id: str, actor: str) -> bool:
        run = self._state.runs.get(run_id)
        if run is None or run.state != "running" or run_id in self._asked:
            return False
        self._asked[run_id] = actor
        future = self._listeners.get(run_id)
        if future is not None and not future.done():
            future.set_result(actor)
        return True

    async def cancel_asked(self, run_id: str) -> str:
        if run_id in self._asked:
            return self._asked[run_id]
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._listeners[run_id] = future
        try:
            return await future
        finally:
            del self._listeners[run_id]
