"""One log of frames for each session that somebody watches: encoded once, read by all with cursors.

A feed lives while it has watchers. It follows the store, so events of other processes come too; what this
process streams besides (deltas) is put between them. A watcher that fell out of the log reads the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

import msgspec

from runtime.record import ACTIVE, Record

log = logging.getLogger("farthing.studio")
KEPT_BYTES = 4 * 1024 * 1024
"""Bytes of frames kept for watchers that are behind; further back they read the store."""
HEAD = 160
"""Where the type of an event stands: after its session and number."""


class Speaking(Protocol):
    """What the runs of this process are saying at the moment."""

    def so_far(self, uid: str) -> list[bytes]:
        """For a newcomer: the text so far of each call in flight of a session, as frames."""
        ...

    def flush(self, uid: str) -> None:
        """Publish what waits, since an event comes that ends it."""
        ...


def frame_of(seq: int, body: bytes) -> bytes:
    """An event as a frame. JSON holds no line end, so that one `data:` line is enough for anything."""
    return b"id: %d\ndata: %b\n\n" % (seq, body)


def seq_of(body: bytes) -> int:
    """The number of an event that the store has spliced: `{"session_uid":…,"seq":N,…`."""
    start = body.index(b'"seq":') + 6
    return int(body[start : body.index(b",", start)])


class Feed:
    """The frames of one session from the moment on at which somebody began to watch it.

    Cursors are absolute positions; `start` is that of the first frame kept and `end` that of the next one.
    `seq` is the number of the last event in the log; before it reaches `due`, what is known of runs is old.
    """

    def __init__(self, record: Record, uid: str, speaking: Speaking) -> None:
        self.uid = uid
        self._record, self._speaking = record, speaking
        self._frames: list[bytes] = []
        self._bytes = 0
        self.start, self.seq, self.due = 0, 0, 0
        self.watchers = 0
        self.ready: asyncio.Future[None] | None = None
        self._active: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._moved: asyncio.Future[None] | None = None
        self._joined: tuple[int, int, bytes] = (0, 0, b"")
        self.stopped = False

    @property
    def end(self) -> int:
        return self.start + len(self._frames)

    async def open(self, seq: int) -> None:
        """Begin after this event, the last one so far."""
        self.seq = seq
        self._active = {run.run_id for run in await self._record.runs(self.uid) if run.state in ACTIVE}
        self.due = await last_seq(self._record, self.uid)
        self._task = asyncio.create_task(self._follow())

    def so_far(self) -> list[bytes]:
        """The text so far of each call in flight."""
        return self._speaking.so_far(self.uid)

    def over(self, run_id: str | None, due: int) -> bool:
        """Whether nothing is to be waited for: no active run, or not that one, and all up to `due` is in."""
        if self.seq < max(due, self.due):
            return False
        return not self._active if run_id is None else run_id not in self._active

    def take(self, cursor: int) -> bytes:
        """All frames from a cursor on, joined once for everybody who stands there."""
        first, last, joined = self._joined
        if (first, last) != (cursor, self.end):
            joined = b"".join(self._frames[cursor - self.start :])
            self._joined = (cursor, self.end, joined)
        return joined

    def moved(self) -> asyncio.Future[None]:
        """Done at the next frame, or when the feed is stopped."""
        if self._moved is None or self._moved.done():
            self._moved = asyncio.get_running_loop().create_future()
            if self.stopped:
                self._moved.set_result(None)
        return self._moved

    def put(self, frame: bytes) -> None:
        """Add a frame and wake everybody."""
        self._frames.append(frame)
        self._bytes += len(frame)
        if self._bytes > KEPT_BYTES and len(self._frames) > 1:
            self._forget()
        self._wake()

    def stop(self) -> None:
        """Let everybody go."""
        self.stopped = True
        self._wake()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Stop following."""
        self.stop()
        if self._task is not None:
            await asyncio.wait([self._task])

    def _wake(self) -> None:
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)

    def _forget(self) -> None:
        """Drop the older half."""
        dropped = 0
        while self._bytes > KEPT_BYTES // 2 and dropped < len(self._frames) - 1:
            self._bytes -= len(self._frames[dropped])
            dropped += 1
        del self._frames[:dropped]
        self.start += dropped

    async def _follow(self) -> None:
        events = self._record.follow(self.uid, after=self.seq)
        try:
            async for body in events:
                self._add(body)
        except Exception:  # watchers are let go and come again; the log says why
            log.exception("following session %s failed", self.uid)
        finally:
            self.stopped = True
            self._wake()
            await events.aclose()  # type: ignore[attr-defined]  # both stores' are generators

    def _add(self, body: bytes) -> None:
        self.seq = seq_of(body)
        head = body[:HEAD]
        if b'"type":"run.' in head:
            self._note(head, body)
        elif b'"type":"agent.' in head:
            self._speaking.flush(self.uid)
        self.put(frame_of(self.seq, body))

    def _note(self, head: bytes, body: bytes) -> None:
        if b'"run.finished"' in head:
            self._active.discard(msgspec.json.decode(body)["run_id"])
        elif b'"run.started"' in head or b'"run.queued"' in head:
            self._active.add(msgspec.json.decode(body)["run_id"])


class Feeds:
    """The feeds of all sessions that are watched."""

    def __init__(self, record: Record, speaking: Speaking) -> None:
        self._record, self._speaking = record, speaking
        self._feeds: dict[str, Feed] = {}
        self.stopped = False

    async def join(self, uid: str, last: int) -> Feed:
        """The feed of a session whose last event is `last` or later; `leave` it afterwards."""
        feed = self._feeds.get(uid)
        if feed is None or feed.stopped:
            feed = self._feeds[uid] = Feed(self._record, uid, self._speaking)
            feed.ready = asyncio.ensure_future(feed.open(last))
        feed.watchers += 1
        try:
            if feed.ready is not None:
                await asyncio.shield(feed.ready)
        except BaseException:
            await self.leave(feed)
            raise
        if self.stopped:
            feed.stop()
        return feed

    async def leave(self, feed: Feed) -> None:
        """A watcher goes; the last one closes the feed."""
        feed.watchers -= 1
        if feed.watchers == 0:
            if self._feeds.get(feed.uid) is feed:
                del self._feeds[feed.uid]
            await feed.close()

    def publish(self, uid: str, frame: bytes) -> None:
        """A frame of something that is not stored, for whoever watches now."""
        feed = self._feeds.get(uid)
        if feed is not None:
            feed.put(frame)

    @property
    def watchers(self) -> int:
        """How many streams are open."""
        return sum(feed.watchers for feed in self._feeds.values())

    def stop(self) -> None:
        """End every stream, now and from now on."""
        self.stopped = True
        for feed in list(self._feeds.values()):
            feed.stop()


def pages(bodies: Iterable[bytes]) -> tuple[bytes, int]:
    """Stored events as frames, and the number of the last one (0: none)."""
    seq, frames = 0, []
    for body in bodies:
        seq = seq_of(body)
        frames.append(frame_of(seq, body))
    return b"".join(frames), seq


async def last_seq(record: Record, uid: str) -> int:
    """The number of a session's last event."""
    line = await record.session(uid)
    return await record.first_seq(uid) - 1 + (line.events if line is not None else 0)
