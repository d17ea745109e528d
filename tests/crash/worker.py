"""One process that runs flows: `python -m tests.crash.worker FOLDER SEED RUNS`.

It says "ready" once all is loaded, and begins when it is told how many seconds its clock is on. Three runs at
a time; SIGTERM cancels them and ends the process.
"""

from __future__ import annotations

import asyncio
import importlib
import random
import signal
import sys
from pathlib import Path

from runtime.run.services import Services
from runtime.run.start import ActiveRun, prepare, start
from runtime.store.opening import open_record
from tests.crash.clock import ShiftedClock
from tests.crash.flows import any_request, settings_in

AT_ONCE = 3


async def main(folder: Path, seed: int, runs: int) -> None:
    chance, settings = random.Random(seed), settings_in(folder)
    importlib.import_module("runtime.models.openai_compatible")
    importlib.import_module("runtime.models.sdk")
    print("ready", flush=True)
    clock = ShiftedClock(float(sys.stdin.readline()))
    record = open_record(settings.db, clock)
    stopping = False
    active: set[ActiveRun] = set()

    def stop() -> None:
        nonlocal stopping
        stopping = True
        for each in active:
            each.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await record.open()
    services = Services(record, settings, clock)
    left = runs

    async def work() -> None:
        nonlocal left
        while left > 0 and not stopping:
            left -= 1
            run = start(prepare(any_request(chance), services), services)
            active.add(run)
            try:
                await run.outcome()
            finally:
                active.discard(run)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    await services.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
