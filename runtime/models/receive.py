"""Reading an answer off the wire within its bounds, plain or streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from runtime.messages import OnDelta, Reply
from runtime.models.answer import Context, judged, plain_draft
from runtime.models.failures import failure
from runtime.models.stream import Collector, EventLines
from runtime.providers import Provider

if TYPE_CHECKING:
    from httpx2 import Response

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The largest answer that is read; a longer one is a failure."""
AFTER_END_S = 0.1
"""Seconds to wait for the end of the transfer after the stream's end mark, so that the connection can be
used again."""


class Receiver:
    """Takes one answer in. What came so far stays readable when the reading is broken off."""

    def __init__(self, provider: Provider, new_id: Callable[[], str], on_delta: OnDelta | None) -> None:
        self._context = Context(provider, {}, new_id)
        self._on_delta = on_delta
        self._collector: Collector | None = None

    @property
    def whole(self) -> bool:
        """A streamed answer came to its end mark; only the end of the transfer may be missing."""
        return self._collector is not None and self._collector.done and self._collector.finished

    @property
    def begun(self) -> bool:
        """A streamed answer had its head."""
        return self._collector is not None

    @property
    def partial(self) -> Reply | None:
        """What came of a streamed answer, null where nothing did."""
        collector = self._collector
        return collector.partial if collector is not None and collector.said_something else None

    async def receive(self, response: Response, headers: Mapping[str, str], bound: asyncio.Timeout) -> Reply:
        """Read, put together and judge the answer; `bound` is drawn in once the end mark has come."""
        self._context = msgspec.structs.replace(self._context, headers=headers)
        if "text/event-stream" in headers.get("content-type", ""):
            self._collector = Collector(self._context, self._on_delta or _unheard)
            await self._collect(response, self._collector, bound)
            return self.streamed()
        body = b"".join([chunk async for chunk in self._chunks(response)])
        reply = judged(plain_draft(body, self._context), self._context)
        if self._on_delta is not None and reply.text:
            self._on_delta(reply.text)
        return reply

    def streamed(self) -> Reply:
        """The streamed answer, judged. Raises ModelFailure where it was cut."""
        collector = self._collector
        if collector is None or not (collector.finished or (collector.done and not collector.begun)):
            what = "the stream was cut before the answer was whole."
            raise failure("stream_broken", self._context.provider, what, partial=self.partial)
        return judged(collector.draft, self._context)

    async def _collect(self, response: Response, collector: Collector, bound: asyncio.Timeout) -> None:
        lines = EventLines()
        drawn_in = False
        async with aclosing(self._chunks(response)) as chunks:
            async for chunk in chunks:
                for data in lines.feed(chunk):
                    collector.take(data)
                if collector.done and not drawn_in:
                    drawn_in = True
                    soon = asyncio.get_running_loop().time() + AFTER_END_S
                    bound.reschedule(min(soon, bound.when() or soon))
        for data in lines.rest():
            collector.take(data)

    async def _chunks(self, response: Response) -> AsyncGenerator[bytes, None]:
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                what = f"the answer is larger than {MAX_ANSWER_BYTES // 1024**2} MiB."
                raise failure("bad_response", self._context.provider, what, partial=self.partial)
            yield chunk


def _unheard(_: str) -> None:
    """Nobody listens."""
