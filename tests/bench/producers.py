"""Many producers appending at once, against one at a time: what group commit saves."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from runtime.events import Custom
from runtime.record import RunStart, SessionKey
from tests.bench.measure import Figure, in_turns, ratio
from tests.bench.ours import Ours

PRODUCERS, EACH = 50, 20


async def figures(folder: Path) -> list[Figure]:
    """CPU and wall time of 50 producers appending 20 events each, together and one by one."""
    ours = await Ours.open(folder)
    record, clock = ours.services.record, ours.services.clock
    runs = []
    for i in range(PRODUCERS):
        key = SessionKey("real", "u", "f", f"s{i}")
        begin = RunStart(
            run_id=clock.new_id(), session=key, flow_name="f", flow_hash="h", flow=b"{}", at=clock.now()
        )
        await record.claim(begin, [])
        runs.append(begin.run_id)

    async def produce(run_id: str) -> None:
        for _ in range(EACH):
            await record.append(run_id, [Custom(at=clock.now(), run_id=run_id, name="n", data={"i": 1})])

    async def together() -> None:
        await asyncio.gather(*map(produce, runs))

    async def one_by_one() -> None:
        for run_id in runs:
            await produce(run_id)

    walls: dict[Any, list[float]] = {together: [], one_by_one: []}

    def timed(work: Any) -> Any:
        async def run() -> None:
            began = time.perf_counter()
            await work()
            walls[work].append(time.perf_counter() - began)

        return run

    many, single = await in_turns(5, (timed(together), 1), (timed(one_by_one), 1))
    await ours.close()
    return [
        Figure("50 producers / one by one", ratio(many, single), "× CPU", 0.4),
        Figure("50 producers / one by one, wall", ratio(walls[together], walls[one_by_one]), "× wall"),
        Figure("an appended event of 50 producers", min(many) / PRODUCERS / EACH * 1e6, "µs CPU"),
    ]
