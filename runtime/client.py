"""A small client of Farthing's HTTP API for programs: start a run, follow it, cancel it, read what it gave.

It needs nothing but Python itself. Calls block; a stream that breaks is taken up where it broke.
"""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from runtime.errors import FarthingError

BASE = "/api/v1"
TIMEOUT_S = 60.0
"""Longest wait for a byte: a stream shows signs of life every 15 seconds."""
MOST_BREAKS = 5
"""Broken connections in a row before a stream is given up."""
LONGEST_PAUSE_S = 10.0
ENDED = frozenset({"completed", "failed", "cancelled", "interrupted"})


class ClientError(FarthingError):
    """The server refused, or cannot be reached. `status` is that of HTTP, 0 where nobody answered; `body` the
    error as it was sent."""

    default_code = "client.unreachable"

    def __init__(
        self, message: str, *, status: int = 0, code: str | None = None, remedy: str | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, code=code, remedy=remedy)
        self.status, self.body = status, dict(body or {})


class Event(NamedTuple):
    """What a stream brings: `kind` is `event` (an event of the timeline), `delta` (text as it is said, never
    stored) or `reset` (what was seen before is to be forgotten)."""

    kind: str
    data: dict[str, Any]


class Client:
    """A server, and the token by which it is used.

    >>> client = Client("http://127.0.0.1:8765", token)  # doctest: +SKIP
    >>> run = client.start("support.json", "My name is Ada.")  # doctest: +SKIP
    >>> run.wait()["outputs"]  # doctest: +SKIP
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = TIMEOUT_S) -> None:
        where = urlsplit(url)
        if where.scheme not in ("http", "https") or not where.hostname:
            raise ClientError(f"{url!r} is no address of a server.", remedy="Write http://HOST:PORT.")
        self._secure = where.scheme == "https"
        self._host, self._port, self._path = where.hostname, where.port, where.path.rstrip("/")
        self._token, self._timeout = token, timeout_s

    def start(
        self,
        flow: str | Path | Mapping[str, Any],
        given: Any = None,
        *,
        session: str | None = None,
        user: str | None = None,
        model: str | None = None,
        limits: tuple[str, ...] = (),
        key: str | None = None,
    ) -> RunHandle:
        """Start a run of a flow: its path in the server's folder, `example:NAME`, or a document.

        `given` is a text or an object. `key` makes the start safe to repeat; absent, one is made up, so that
        a broken connection is tried again without starting twice. Raises ClientError.
        """
        body: dict[str, Any] = {"input": given, "limits": list(limits)}
        body |= {"flow": dict(flow)} if isinstance(flow, Mapping) else {"path": str(flow)}
        named = {"session": session, "user": user, "model": model}
        body |= {name: value for name, value in named.items() if value is not None}
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        try:
            started = self.request("POST", "/runs", body, headers=headers)
        except ClientError as error:
            if error.status:
                raise
            started = self.request("POST", "/runs", body, headers=headers)
        return RunHandle(self, started["run_id"], started["session_uid"], started["session"])

    def run(self, run_id: str) -> RunHandle:
        """A run that was started before. Raises ClientError."""
        found = self.request("GET", f"/runs/{quote(run_id, safe='')}")
        return RunHandle(self, run_id, found["session_uid"], found["session"])

    def facts(self, **which: Any) -> Iterator[dict[str, Any]]:
        """Facts, page by page, by what `GET /facts` takes: `namespace`, `scope`, `owner`, `as_of`, `text`, …
        Raises ClientError."""
        after: str | None = None
        while True:
            page = self.request("GET", "/facts" + _query({**which, "after": after}))
            yield from page["facts"]
            after = page["next"]
            if after is None:
                return

    def facts_at(self, session_uid: str, seq: int | None = None) -> dict[str, Any]:
        """The facts of a session as they were at the step of an event, with what the step was sent, read and
        wrote; without a number, at the last one. Raises ClientError."""
        where = f"/sessions/{quote(session_uid, safe='')}/facts"
        found: dict[str, Any] = self.request("GET", where + _query({"seq": seq}))
        return found

    def bill(self, session_uid: str, seq: int | None = None) -> dict[str, Any]:
        """What a model was sent at the call of a `model.called` event, part by part with tokens and cost;
        without a number, at the last one. Raises ClientError."""
        where = f"/sessions/{quote(session_uid, safe='')}/context"
        found: dict[str, Any] = self.request("GET", where + _query({"seq": seq}))
        return found

    def recall(self, namespace: str, scope: str, owner: str, question: str, **more: Any) -> dict[str, Any]:
        """What a model would be given of a Memory for a question; `tokens` is an allowance. Raises
        ClientError."""
        asked = {"namespace": namespace, "scope": scope, "owner": owner, "q": question, **more}
        found: dict[str, Any] = self.request("GET", "/memory/recall" + _query(asked))
        return found

    def export(self, session_uid: str, form: str = "json", *, run: str | None = None) -> bytes:
        """A session as one file: `json`, or `html`, a page with everything in it. Raises ClientError."""
        where = f"/sessions/{quote(session_uid, safe='')}/export" + _query({"form": form, "run": run})
        with self._sent("GET", where, None, {}) as answer:
            return answer.read()

    def request(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Any request under /api/v1; what it answers, null where that is nothing. Raises ClientError."""
        data = None if body is None else json.dumps(body).encode()
        with self._sent(method, path, data, {"accept": "application/json", **(headers or {})}) as answer:
            raw = answer.read()
        return json.loads(raw) if raw else None

    def _sent(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> _Answer:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        given = {"authorization": f"Bearer {self._token}", **headers}
        if body is not None:
            given["content-type"] = "application/json"
        try:
            connection.request(method, f"{self._path}{BASE}{path}", body, given)
            response = connection.getresponse()
            if response.status >= 400:
                raise _refusal(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ClientError(
                f"The server at {self._host} does not answer: {str(error) or type(error).__name__}.",
                remedy="Start it with `farthing serve`, or check the address.",
            ) from None
        except BaseException:
            connection.close()
            raise
        return _Answer(connection, response)


class _Answer:
    """A response and its connection, closed together."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection, self._response = connection, response

    def __enter__(self) -> http.client.HTTPResponse:
        return self._response

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.close()
        self._connection.close()


class RunHandle:
    """A run on the server; it goes on there whatever happens here."""

    def __init__(self, client: Client, run_id: str, session_uid: str, session: str) -> None:
        self.client, self.run_id, self.session_uid, self.session = client, run_id, session_uid, session

    def get(self) -> dict[str, Any]:
        """The run as it stands: state, outputs, usage, cost, budgets. Raises ClientError."""
        found: dict[str, Any] = self.client.request("GET", f"/runs/{quote(self.run_id, safe='')}")
        return found

    def cancel(self) -> None:
        """Ask it to end at once; twice is harmless. Raises ClientError."""
        self.client.request("POST", f"/runs/{quote(self.run_id, safe='')}/cancel", {})

    def wait(self) -> dict[str, Any]:
        """Follow it to its end; the run as it stands then. Raises ClientError."""
        for _ in self.events():
            pass
        return self.get()

    def events(self, after: int = 0) -> Iterator[Event]:
        """What the session says until this run ends: no event is lost or comes twice, though the connection
        may break in between. Raises ClientError where it cannot be taken up again."""
        breaks = 0
        while True:
            try:
                for event in self._stream(after):
                    if event is None:
                        return
                    breaks = 0
                    if event.kind == "event":
                        after = event.data["seq"]
                    elif event.kind == "reset":
                        after = 0
                    yield event
            except ClientError as error:
                if error.status:
                    raise
                last: ClientError | None = error
            else:
                last = None
            breaks += 1
            if breaks > MOST_BREAKS:
                raise last or ClientError("The server's stream breaks again and again.")
            time.sleep(min(LONGEST_PAUSE_S, 0.1 * 2.0**breaks))

    def _stream(self, after: int) -> Iterator[Event | None]:
        """The frames of one connection; None at the end that the server says."""
        path = f"/sessions/{quote(self.session_uid, safe='')}/events?run={quote(self.run_id, safe='')}"
        headers = {"accept": "text/event-stream", "last-event-id": str(after)}
        with self.client._sent("GET", path, None, headers) as answer:
            if answer.status == 204:
                yield None
                return
            kind, data = "event", ""
            while line := _line(answer):
                text = line.decode().rstrip("\r\n")
                field, _, value = text.partition(": ")
                if field == "event":
                    kind = value
                elif field == "data":
                    data += value
                elif not text and data:
                    yield None if kind == "end" else Event(kind, json.loads(data))
                    kind, data = "event", ""


def _query(given: Mapping[str, Any]) -> str:
    """The part of an address after its path; what is null is left out, times are written in ISO."""
    found = {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in given.items()
        if value is not None
    }
    return "?" + urlencode(found) if found else ""


def _line(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.readline()
    except (OSError, http.client.HTTPException) as error:
        raise ClientError(f"The stream broke: {str(error) or type(error).__name__}.") from None


def _refusal(status: int, raw: bytes) -> ClientError:
    """The server's error in our words."""
    try:
        error = json.loads(raw)["error"]
        return ClientError(
            error["message"], status=status, code=error["code"], remedy=error.get("hint"), body=error
        )
    except (ValueError, KeyError, TypeError):
        return ClientError(f"The server answered with status {status}.", status=status, code=f"http.{status}")
