"""A process that sums up a session's old turns by hand: `python -m tests.runtime.memory_service.caring DB S`.

Each summary takes S seconds; it says "asking" when it asks for one, and at last how many turns it summed up.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from runtime.cli.memory_flow import prepared_of, shelf_of
from runtime.clock import SystemClock
from runtime.messages import LanguageModel, Reply, Request
from runtime.record import SessionFilter
from runtime.run.maintaining import Care, Job
from runtime.run.services import Services
from runtime.settings import load_settings
from runtime.store.opening import open_record
from runtime.testing.bench import FixedClients, scripted


class Saying:
    """A model that says on stdout when it is asked."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def complete(self, request: Request, on_delta: Any = None) -> Reply:
        print("asking", flush=True)
        return await self._model.complete(request, on_delta)

    async def close(self) -> None:
        await self._model.close()


def summary(seconds: float) -> dict[str, Any]:
    usage = {"input": 300, "output": 10}
    return {"text": "They spoke of chain.", "purpose": "summary", "usage": usage, "latency_s": seconds}


async def main(path: Path, seconds: float) -> None:
    clock = SystemClock()
    record = open_record(path, clock)
    await record.open()
    settings = load_settings({"FARTHING_CONFIG": os.devnull}, folder=None, db=path)
    clients = FixedClients(clock, Saying(scripted([summary(seconds)] * 20, clock)))
    services = Services(record, settings, clock, clients=clients)
    (line,) = await record.sessions(SessionFilter("rehearsal", name="test"))
    prepared = await prepared_of(record, services, line, None)
    jobs = [
        Job(node, shelf_of(node.memory, line, "rehearsal"), line.uid, by_hand=True)
        for node in prepared.plan.reasoners
        if node.memory is not None
    ]
    (work,) = await Care(prepared, services, jobs).carry_out()
    print(work.outcome.turns_summarised if work.outcome is not None else 0, flush=True)
    await record.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
