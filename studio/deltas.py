"""The text of calls in flight: pieces are joined for a moment, cleaned of secrets, and never stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from runtime.secrets.redact import Redactor
from runtime.secrets.streamed import Streamed

JOIN_S = 0.02
"""How long pieces wait for company: nobody sees 50 frames a second, and 20 tokens are one frame."""


class DeltaOut(msgspec.Struct, frozen=True, kw_only=True):
    """Text that a model is saying: `text` begins at character `offset` of what call `call` says."""

    run_id: str
    node_id: str
    call: str
    offset: int
    text: str


@dataclass(slots=True)
class _Speech:
    """What one call has said: `raw` waits, `sent` is what went, without secrets."""

    run_id: str
    call: str
    stream: Streamed
    raw: str = ""
    sent: str = ""


class Live:
    """The calls of one run that are speaking, by node. `publish` is given frames as they come."""

    def __init__(self, redactor: Redactor | None, publish: Callable[[bytes], None]) -> None:
        self._redactor, self._publish = redactor, publish
        self._speaking: dict[str, _Speech] = {}
        self._waiting: dict[str, _Speech] = {}
        self._timer: asyncio.TimerHandle | None = None

    def opened(self, run_id: str, node_id: str, call: str) -> None:
        """A call of a node goes out: what it says comes next."""
        self.closed(node_id)
        self._speaking[node_id] = _Speech(run_id, call, Streamed(self._redactor))

    def heard(self, node_id: str, text: str) -> None:
        """A piece of text of the node's call in flight."""
        speech = self._speaking.get(node_id)
        if speech is None or not text:
            return
        speech.raw += text
        self._waiting[node_id] = speech
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(JOIN_S, self.flush)

    def closed(self, node_id: str | None) -> None:
        """The node's call has ended; its text is on the timeline now."""
        if node_id in self._waiting:
            self.flush()
        if node_id is not None:
            self._speaking.pop(node_id, None)

    def flush(self) -> None:
        """Send what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for node_id, speech in waiting.items():
            news, speech.raw = speech.stream.add(speech.raw), ""
            if news:
                self._publish(self._frame(node_id, speech, len(speech.sent), news))
                speech.sent += news

    def so_far(self) -> list[bytes]:
        """For somebody who just came: the whole text of each call in flight, as far as it was sent."""
        return [
            self._frame(node, speech, 0, speech.sent)
            for node, speech in self._speaking.items()
            if speech.sent
        ]

    def _frame(self, node_id: str, speech: _Speech, offset: int, text: str) -> bytes:
        delta = DeltaOut(run_id=speech.run_id, node_id=node_id, call=speech.call, offset=offset, text=text)
        return b"event: delta\ndata: %b\n\n" % msgspec.json.encode(delta)
