"""Events to 100 watchers of one session in bursts: CPU a delivery, ours and sse-starlette's in the same run.

Both get the same events from one log in the process and write to the same deaf client, so that what is
measured is the way from the log to the socket.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from runtime.clock import SystemClock
from runtime.store.opening import open_record
from studio.feeds import Feed, frame_of
from studio.stream import EventStream, Place, Watch, watch
from tests.bench.measure import Figure, in_turns

WATCHERS, BURSTS, BURST = 100, 8, 250
TARGET_US, TARGET_RATIO = 0.5, 1 / 20
ROUNDS = 5
EVENT: dict[str, Any] = {
    "type": "agent.response", "at": "2026-03-01T12:00:00.000000Z", "run_id": "r", "node_id": "helper",
    "step": 3, "v": 1, "text": "A sentence that a model might well say, of some length. " * 2, "final": False,
}  # fmt: skip
SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}


class Deaf:
    """A client that takes everything and says nothing."""

    def __init__(self) -> None:
        self.bytes = 0

    async def receive(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("nobody leaves")

    async def send(self, message: Any) -> None:
        self.bytes += len(message.get("body", b""))


class Quiet:
    """Nobody is speaking."""

    def so_far(self, uid: str) -> list[bytes]:
        return []

    def flush(self, uid: str) -> None:
        return None


def body_of(seq: int) -> bytes:
    """An event as the store gives it."""
    return b'{"session_uid":"u","seq":%d,%b' % (seq, msgspec.json.encode(EVENT)[1:])


async def ours() -> int:
    """All bursts to all watchers by our stream; bytes delivered."""
    record = open_record(None, SystemClock())
    feed = Feed(record, "u", Quiet())
    feed.due = 1 << 62  # never over: it is stopped below
    clients = [Deaf() for _ in range(WATCHERS)]

    async def left() -> None:
        return None

    answers = [EventStream(watch(feed, record, Place(0, False), Watch(1, 0)), left) for _ in clients]
    tasks = [
        asyncio.create_task(answer(SCOPE, client.receive, client.send))
        for answer, client in zip(answers, clients, strict=True)
    ]
    await _burst(lambda seq: feed.put(frame_of(seq, body_of(seq))))
    feed.stop()
    await asyncio.gather(*tasks)
    return sum(client.bytes for client in clients)


async def theirs(response: Callable[..., Callable[..., Coroutine[Any, Any, None]]]) -> int:
    """The same by sse-starlette, from a list that is shared too."""
    log: list[tuple[int, bytes]] = []
    state: dict[str, Any] = {"done": False, "moved": asyncio.get_running_loop().create_future()}

    def put(seq: int) -> None:
        log.append((seq, body_of(seq)))
        wake()

    def wake() -> None:
        moved, state["moved"] = state["moved"], asyncio.get_running_loop().create_future()
        moved.set_result(None)

    async def source() -> AsyncIterator[dict[str, str]]:
        at = 0
        while True:
            while at < len(log):
                seq, body = log[at]
                at += 1
                yield {"id": str(seq), "data": body.decode()}
            if state["done"]:
                return
            await state["moved"]

    clients = [Deaf() for _ in range(WATCHERS)]
    tasks = [
        asyncio.create_task(response(source(), ping=3600)(SCOPE, client.receive, client.send))
        for client in clients
    ]
    await _burst(put)
    state["done"] = True
    wake()
    await asyncio.gather(*tasks)
    return sum(client.bytes for client in clients)


async def _burst(put: Callable[[int], None]) -> None:
    await asyncio.sleep(0.02)
    for burst in range(BURSTS):
        for n in range(BURST):
            put(burst * BURST + n + 1)
        await asyncio.sleep(0.02)


async def figures(folder: Path) -> list[Figure]:
    """CPU a delivery in µs, and as a part of sse-starlette's where that is installed."""
    deliveries = WATCHERS * BURSTS * BURST
    least = deliveries * len(body_of(1))
    assert await ours() >= least, "every watcher gets every event"
    note = f"{WATCHERS} watchers, bursts of {BURST}"
    try:
        response = importlib.import_module("sse_starlette").EventSourceResponse
    except ImportError:
        (mine,) = await in_turns(ROUNDS, (ours, 3))
        return [Figure("SSE: CPU a delivery", median(mine) / deliveries * 1e6, "µs", TARGET_US, note)]
    assert await theirs(response) >= least
    mine, other = await in_turns(ROUNDS, (ours, 1), (lambda: theirs(response), 1))
    part = median(a / b for a, b in zip(mine, other, strict=True))
    return [
        Figure("SSE: CPU a delivery", median(mine) / deliveries * 1e6, "µs", TARGET_US, note),
        Figure("SSE: sse-starlette's CPU a delivery", median(other) / deliveries * 1e6, "µs", None),
        Figure("SSE: ours as a part of it", part, "", TARGET_RATIO),
    ]
