"""The text of calls in flight: pieces are joined for a moment, cleaned of secrets, and never stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from runtime.secrets.redact import Redactor

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
    """What one call has said: `raw` as it came, `clean` without secrets, of which `sent` characters went."""

    run_id: str
    call: str
    raw: str = ""
    clean: str = ""
    sent: int = 0


class Live:
    """The calls of one run that are speaking, by node. `publish` is given frames as they come."""

    def __init__(
        self, redactor: Redactor | None, secrets: Iterable[str], publish: Callable[[bytes], None]
    ) -> None:
        self._redactor, self._publish = redactor, publish
        self._secrets = tuple(secret for secret in secrets if secret)
        self._speaking: dict[str, _Speech] = {}
        self._waiting: dict[str, _Speech] = {}
        self._timer: asyncio.TimerHandle | None = None

    def opened(self, run_id: str, node_id: str, call: str) -> None:
        """A call of a node goes out: what it says comes next."""
        self.closed(node_id)
        self._speaking[node_id] = _Speech(run_id, call)

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
            speech.clean = self._cleaned(speech)
            if len(speech.clean) > speech.sent:
                news, offset = speech.clean[speech.sent :], speech.sent
                speech.sent = len(speech.clean)
                self._publish(self._frame(node_id, speech, offset, news))

    def so_far(self) -> list[bytes]:
        """For somebody who just came: the whole text of each call in flight, as far as it was sent."""
        return [
            self._frame(node, speech, 0, speech.clean[: speech.sent])
            for node, speech in self._speaking.items()
            if speech.sent
        ]

    def _frame(self, node_id: str, speech: _Speech, offset: int, text: str) -> bytes:
        delta = DeltaOut(run_id=speech.run_id, node_id=node_id, call=speech.call, offset=offset, text=text)
        return b"event: delta\ndata: %b\n\n" % msgspec.json.encode(delta)

    def _cleaned(self, speech: _Speech) -> str:
        """What may be shown: secrets replaced, and the end kept back while it may be the beginning of one."""
        if self._redactor is None:
            return speech.raw
        whole = speech.raw
        shown = self._redactor.text(whole[: len(whole) - self._unfinished(whole)])
        # A secret that has just become whole must not have been shown in part.
        return shown if shown.startswith(speech.clean[: speech.sent]) else speech.clean

    def _unfinished(self, text: str) -> int:
        """How many last characters may be the beginning of a secret."""
        longest = 0
        for secret in self._secrets:
            for size in range(min(len(secret) - 1, len(text)), longest, -1):
                if text.endswith(secret[:size]):
                    longest = size
                    break
        return longest
