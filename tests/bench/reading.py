"""Reading a long timeline as JSON."""

from __future__ import annotations

from pathlib import Path

from tests.bench.measure import Figure, cpu
from tests.bench.ours import Ours, chain

EVENTS = 10_000


async def figures(folder: Path) -> list[Figure]:
    """10,000 events, from the database to one JSON text."""
    ours = await Ours.open(folder)
    outcome = await ours.drive(ours.prepared(chain(EVENTS // 2)))
    record = ours.services.record

    async def read() -> None:
        events = await record.events_json(outcome.session_uid, limit=EVENTS)
        assert len(events) == EVENTS
        assert len(b"[" + b",".join(events) + b"]") > EVENTS * 100

    await read()
    best = min([await cpu(read) for _ in range(9)])
    await ours.close()
    return [Figure("10,000 events read as JSON", best * 1000, "ms CPU", 25)]
