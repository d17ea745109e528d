"""A session's events as a stream: what was missed from the store, then what comes, as long as runs go on.

Frames: events with `id:` = seq; `delta` and `end` and `reset` without; a comment every 15 seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from runtime.record import Record
from studio.feeds import Feed, Feeds, last_seq, pages

PING_S = 15.0
RETRY_MS = 1000
PAGE = 1000
"""Events read from the store at once."""
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
END = b"event: end\ndata: {}\n\n"
PING = b": ping\n\n"


class Place(NamedTuple):
    """Where a watcher begins: after event `after`. `reset`: what they know is of no use."""

    after: int
    reset: bool


def place_of(given: str | None, first_seq: int, last_seq: int) -> Place:
    """The place of a cursor as a client sent it; one that is bad, yet to come or purged starts anew."""
    if given is None or given == "" or given == "0":
        return Place(0, False)
    known = given.isascii() and given.isdigit() and len(given) < 19
    if not known or not first_seq - 1 <= int(given) <= last_seq:
        return Place(0, True)
    return Place(int(given), False)


class EventStream(StreamingResponse):
    """A stream that ends as soon as its client has left; `leave` is done whatever happens."""

    def __init__(self, source: AsyncGenerator[bytes], leave: Callable[[], Awaitable[None]]) -> None:
        super().__init__(source, media_type="text/event-stream", headers=HEADERS)
        self._source, self._leave = source, leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self.stream_response(send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._source.aclose()
            await self._leave()


async def open_stream(
    feeds: Feeds, record: Record, uid: str, cursor: str | None, run_id: str | None, *, ping_s: float = PING_S
) -> Response:
    """The answer to somebody who wants to watch a session. 204 where all was read and nothing is to come,
    which tells a browser not to come again."""
    first, last = await record.first_seq(uid), await last_seq(record, uid)
    place = place_of(cursor, first, last)
    feed = await feeds.join(uid, last)
    if not place.reset and 0 < place.after == feed.seq and feed.over(run_id, last):
        await feeds.leave(feed)
        return Response(status_code=204)
    source = watch(feed, record, place, Watch(first, last, run_id, ping_s))
    return EventStream(source, lambda: feeds.leave(feed))


class Watch(NamedTuple):
    """How a session is watched: its first and last event when the watcher came, until which run ends, and
    seconds between signs of life."""

    first: int
    last: int
    run_id: str | None = None
    ping_s: float = PING_S


async def watch(feed: Feed, record: Record, place: Place, how: Watch) -> AsyncGenerator[bytes]:
    """The frames for one watcher."""
    yield b"retry: %d\n\n" % RETRY_MS
    if place.reset:
        yield b'event: reset\ndata: {"first_seq":%d}\n\n' % how.first
    after, cursor = place.after, -1
    while not feed.stopped:
        if cursor < feed.start:  # new here, or too far behind: the store has what the log has not
            async for frames, seq in _missed(feed, record, after):
                after = seq
                yield frames
            cursor = feed.end
            for frame in feed.so_far():
                yield frame
        elif cursor < feed.end:
            frames, after, cursor = feed.take(cursor), feed.seq, feed.end
            yield frames
        elif feed.over(how.run_id, how.last):
            yield END
            return
        elif not await _news(feed, how.ping_s):
            yield PING


async def _missed(feed: Feed, record: Record, after: int) -> AsyncGenerator[tuple[bytes, int]]:
    """What the store has up to where the log is, so that the log can be read on from there. A watcher may
    know more than the log has yet: then the log is waited for, or it would repeat."""
    while after != feed.seq and not feed.stopped:
        if after > feed.seq:
            await feed.moved()
            continue
        frames, seq = pages(await record.events_json(feed.uid, after=after, limit=PAGE))
        if not seq:
            return
        after = seq
        yield frames, after


async def _news(feed: Feed, ping_s: float) -> bool:
    """Wait for news; False when it was quiet for so long."""
    done, _ = await asyncio.wait({feed.moved()}, timeout=ping_s)
    return bool(done)
