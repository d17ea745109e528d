"""A process that consolidates and is killed on its way.

`python -m tests.runtime.memory_service.killed DB WHAT WHEN NUMBER`: WHAT is `consolidate` or `undo`; it is
killed `before` or `after` the verb of that number that writes; number 0: never.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from runtime.clock import SystemClock
from runtime.memory_service.consolidated import undo
from runtime.record import Record
from runtime.run.consolidation import Wish, execute, preview
from runtime.run.services import Services
from runtime.settings import load_settings
from runtime.store.opening import open_record

WRITES = {
    "claim",
    "append",
    "open_call",
    "close_call",
    "finish",
    "forget_facts",
    "change_facts",
    "write_fact",
}


class Killed:
    """A record whose process dies at one of its writes."""

    def __init__(self, record: Record, when: str, number: int) -> None:
        self._record, self._when, self._number = record, when, number
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._record, name)
        return self._counted(verb) if name in WRITES else verb

    def _counted(self, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **more: Any) -> Any:
            self._writes += 1
            mine = self._writes == self._number
            if mine and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            answer = await verb(*args, **more)
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call


async def main(path: Path, what: str, when: str, number: int) -> None:
    clock = SystemClock()
    record = cast(Record, Killed(open_record(path, clock), when, number))
    await record.open()
    settings = load_settings({"FARTHING_CONFIG": os.devnull}, folder=None, db=path)
    if what == "undo":
        await undo(record, "rehearsal", "ada", "ada", clock.now())
    else:
        services = Services(record, settings, clock)
        wish = Wish(partition="rehearsal", user_id="ada", actor="ada")
        await preview(services, Wish(partition="rehearsal", user_id="ada", actor="ada", with_model=True))
        await execute(services, wish)
    await record.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
