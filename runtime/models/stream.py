"""A streamed answer: server-sent events from bytes however they are cut, collected into a Draft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from runtime.messages import OnDelta, Reply
from runtime.models.answer import NOT_REPLAYED, Context, Draft, quoted, reply_of, text_of, text_or_none
from runtime.models.failures import error_failure, failure

END_MARK = b"[DONE]"


class EventLines:
    """Cuts bytes into the data of server-sent events. Lines may end in LF, CRLF or CR."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that are whole with this chunk."""
        if self._tail and self._tail[-1].endswith(b"\r"):
            self._tail[-1] = self._tail[-1][:-1]
            chunk = b"\r" + chunk
        if b"\r" in chunk:
            # A CR at the very end may be half of a CRLF: it waits for the next chunk.
            held = b"\r" if chunk.endswith(b"\r") else b""
            chunk = chunk[: len(chunk) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        if b"\n" not in chunk:
            self._tail.append(chunk)
            return
        lines = chunk.split(b"\n")
        lines[0] = b"".join(self._tail) + lines[0]
        self._tail = [lines.pop()]
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                yield self._flush()

    def rest(self) -> Iterator[bytes]:
        """What came without its closing blank line."""
        yield from self.feed(b"\n")
        if self._data:
            yield self._flush()

    def _flush(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        return data


class Collector:
    """Puts the pieces of a streamed answer together and hands its text on as it comes.

    `done`: the end mark came.
    """

    def __init__(self, context: Context, on_delta: OnDelta) -> None:
        self._context = context
        self._on_delta = on_delta
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._extra: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._arguments: list[list[str]] = []
        self._slots: dict[int, int] = {}
        self._finish: str | None = None
        self._usage: object = None
        self._model: str | None = None
        self._id: str | None = None
        self.done = False

    @property
    def draft(self) -> Draft:
        """The answer so far."""
        for call, pieces in zip(self._calls, self._arguments, strict=True):
            call["function"]["arguments"] = "".join(pieces)
        return Draft(
            "".join(self._text),
            "".join(self._refusal),
            self._calls,
            self._extra,
            self._finish,
            self._usage,
            self._model,
            self._id,
        )

    @property
    def finished(self) -> bool:
        """The provider said why it stopped: the answer is whole."""
        return self._finish is not None

    @property
    def begun(self) -> bool:
        """Something was generated."""
        return bool(self._text or self._refusal or self._calls or self._extra or self._finish)

    @property
    def said_something(self) -> bool:
        """There is something for a failure to carry: a piece of the answer, or usage."""
        return self.begun or self._usage is not None

    def take(self, data: bytes) -> None:
        """Take in one event. Raises ModelFailure for one that cannot be read or is an error."""
        if data.strip() == END_MARK:
            self.done = True
            return
        try:
            event = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            event = None
        if not isinstance(event, dict):
            what = "the stream has a piece that cannot be read" + quoted(data)
            raise failure(
                "stream_broken",
                self._context.provider,
                what,
                partial=self.partial if self.said_something else None,
            )
        choices = event.get("choices")
        if event.get("error") and not choices:
            raise self._error(event["error"])
        self._usage = event.get("usage") or self._usage
        self._model = text_or_none(event.get("model")) or self._model
        self._id = text_or_none(event.get("id")) or self._id
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
            self._finish = text_or_none(choice.get("finish_reason")) or self._finish

    @property
    def partial(self) -> Reply:
        """What came so far, as a reply, for a failure to carry."""
        return reply_of(self.draft, self._context)

    def _error(self, error: object) -> Exception:
        partial = self.partial if self.said_something else None
        return error_failure(self._context.provider, error, partial=partial, begun=self.begun)

    def _add(self, delta: dict[str, Any]) -> None:
        text = text_of(delta.get("content"))
        if text:
            self._text.append(text)
            self._on_delta(text)
        for field, value in delta.items():
            if field == "tool_calls":
                for piece in value if isinstance(value, list) else ():
                    if isinstance(piece, dict):
                        self._add_call(piece)
            elif field == "refusal":
                self._refusal.append(text_of(value))
            elif field not in NOT_REPLAYED:
                self._extra_piece(field, value)

    def _extra_piece(self, field: str, value: Any) -> None:
        """Strings and lists of the provider's own fields grow, others are replaced."""
        if value in (None, "", [], {}):
            return
        old = self._extra.get(field)
        grows = type(old) is type(value) and isinstance(value, (str, list))
        self._extra[field] = old + value if grows else value

    def _add_call(self, piece: dict[str, Any]) -> None:
        """A piece of a tool call: by its index, unless a new id under a used index begins another call."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        at = self._place(piece)
        call = self._calls[at]
        call.update(
            {k: v for k, v in piece.items() if k not in ("function", "index") and v not in (None, "")}
        )
        name = function.get("name")
        if isinstance(name, str) and name:
            call["function"]["name"] = name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._arguments[at].append(arguments)
        elif arguments is not None:
            self._arguments[at].append(msgspec.json.encode(arguments).decode())

    def _place(self, piece: dict[str, Any]) -> int:
        index = piece.get("index")
        call_id = text_or_none(piece.get("id"))
        slot = (
            index if isinstance(index, int) else (-1 if call_id is None and self._calls else len(self._calls))
        )
        at = self._slots.get(slot, len(self._calls) - 1 if slot == -1 else None)
        if at is not None and (call_id is None or self._calls[at].get("id") in (None, call_id)):
            return at
        self._calls.append({"function": {}})
        self._arguments.append([])
        self._slots[slot] = len(self._calls) - 1
        return len(self._calls) - 1
