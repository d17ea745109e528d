"""The server itself: raw asyncio on loopback, cheap enough to stand under a benchmark."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from typing import Any, NamedTuple

from tests.fake_model.plays import PLAYS, Play, answer

NOTHING = -1
"""A promised length that stands for no answer at all: the connection is closed."""
REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many"}


class Seen(NamedTuple):
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class FakeModel:
    """Answers what was queued with `play`, in order, then `default`.

    `calls` are the requests so far; `disconnects` counts clients that left before their answer was whole.
    With `keep_calls` off only their number is kept (for benchmarks).
    """

    def __init__(self, default: Play | None = None, *, keep_calls: bool = True) -> None:
        self.default = default or answer()
        self.queue: deque[Play] = deque()
        self.calls: list[Seen] = []
        self.count = 0
        self.disconnects = 0
        self.connections = 0
        self.open_connections = 0
        self.port = 0
        self._keep = keep_calls
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """What a provider's `base_url` is set to."""
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *plays: Play) -> None:
        """Queue answers."""
        self.queue.extend(plays)

    def take(self, seen: Seen) -> Play:
        """The answer to a request: queued, named by its model, or the default."""
        self.count += 1
        if self._keep:
            self.calls.append(seen)
        if self.queue:
            return self.queue.popleft()
        start = seen.raw.find(b'"model":"')
        if start >= 0:
            name = seen.raw[start + 9 : seen.raw.find(b'"', start + 9)].decode()
            return PLAYS.get(name, self.default)
        return self.default

    async def serve(self, port: int = 0) -> None:
        """Listen in this loop; `port` 0 takes a free one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            for task in [t for t in asyncio.all_tasks() if t.get_name() == "fake-model"]:
                task.cancel()

    def start(self) -> FakeModel:
        """Serve from a thread of its own, so that a blocked client loop does not block the server."""
        ready = threading.Event()

        def run() -> None:
            self._loop = asyncio.new_event_loop()
            self._loop.run_until_complete(self.serve())
            ready.set()
            self._loop.run_forever()
            self._loop.run_until_complete(self.stop())
            self._loop.run_until_complete(asyncio.sleep(0.01))
            self._loop.close()

        self._thread = threading.Thread(target=run, name="fake-model", daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def join(self) -> None:
        """End the thread of `start`."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)


class _Connection(asyncio.Protocol):
    """One client: reads requests, plays answers."""

    def __init__(self, server: FakeModel) -> None:
        self._fake = server
        self._data = b""
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._fake.connections += 1
        self._fake.open_connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._fake.open_connections -= 1
        self._transport = None
        if self._task is not None and not self._task.done():
            self._fake.disconnects += 1
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, gap, rest = self._data.partition(b"\r\n\r\n")
        if not gap:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self._data = rest[length:]
        seen = Seen(lines[0].split(" ")[1], headers, rest[:length])
        play = self._fake.take(seen)
        streamed = play.frames is not None and (b'"stream":true' in seen.raw or not play.body)
        if not streamed and not play.delay_s and not play.drip and play.promise is None:
            self._send(_head(play, len(play.body)) + play.body)
            return
        job = self._stream(play) if streamed else self._plain(play)
        self._task = asyncio.get_running_loop().create_task(job, name="fake-model")

    def _send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def _plain(self, play: Play) -> None:
        await asyncio.sleep(play.delay_s)
        if play.drip:
            self._send(_head(play, len(play.body)))
            for i in range(len(play.body)):
                self._send(play.body[i : i + 1])
                await asyncio.sleep(play.gap_s)
            return
        if play.promise == NOTHING:
            self._drop(play)
            return
        self._send(_head(play, play.promise if play.promise is not None else len(play.body)) + play.body)
        if play.promise is not None:
            await asyncio.sleep(0.02)
            self._drop(play)

    async def _stream(self, play: Play) -> None:
        await asyncio.sleep(play.delay_s)
        self._send(_head(play, None))
        for data in play.frames or ():
            pieces = [data[i : i + 1] for i in range(len(data))] if play.drip else [data]
            for piece in pieces:
                self._send(_chunk(piece))
                if play.gap_s or play.drip:
                    await asyncio.sleep(play.gap_s)
        if play.ending == "done":
            self._send(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        elif play.ending == "no_done":
            self._send(b"0\r\n\r\n")
        elif play.ending == "hang":
            await asyncio.sleep(3600)
        else:
            await asyncio.sleep(0.02)
            self._drop(play)

    def _drop(self, play: Play) -> None:
        if self._transport is not None:
            if play.ending == "reset":
                self._transport.abort()
            else:
                self._transport.close()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _head(play: Play, length: int | None) -> bytes:
    kind = "text/event-stream" if length is None else play.content_type
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    more = "".join(f"{k}: {v}\r\n" for k, v in play.headers.items())
    reason = REASONS.get(play.status, "Other")
    return f"HTTP/1.1 {play.status} {reason}\r\nContent-Type: {kind}\r\n{size}\r\n{more}\r\n".encode()
