"""A real server on loopback in a thread of its own, with settings, data and flows in folders of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette

from runtime.clock import SystemClock
from runtime.run.services import Services
from runtime.settings import Settings, load_settings
from runtime.store.opening import open_record
from studio.app import create_app
from studio.roles import RoleName
from studio.server import Server, listen, serving
from studio.state import Studio

A = "/api/v1"
FLOW: dict[str, Any] = {
    "format": "farthing.flow/1",
    "id": "talk",
    "name": "talk",
    "nodes": [
        {"id": "question", "type": "input", "config": {}},
        {"id": "helper", "type": "agent", "config": {"instructions": "You help."}},
        {"id": "notes", "type": "memory", "config": {"scope": "user"}},
        {
            "id": "daily",
            "type": "budget",
            "config": {"metric": "spend", "period": "daily", "limit": "0.50", "threshold_pct": 80},
        },
        {"id": "answer", "type": "output", "config": {}},
    ],
    "edges": [
        {"source": "question", "target": "helper"},
        {"source": "notes", "target": "helper", "target_port": "memory"},
        {"source": "daily", "target": "helper", "target_port": "budget"},
        {"source": "helper", "target": "answer"},
    ],
}


class Answer(NamedTuple):
    """An HTTP answer; `json` is null where the body is not JSON."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw) if self.raw else None

    @property
    def code(self) -> str:
        """The error's code."""
        return str(self.json["error"]["code"])


class Live:
    """The server. `request` speaks HTTP without a library between, so that headers are what is written."""

    def __init__(self, home: Path, config: str = "") -> None:
        self.home, self.flows = home, home / "flows"
        self.flows.mkdir(parents=True)
        (self.flows / "talk.json").write_text(json.dumps(FLOW))
        self.env = {"FARTHING_CONFIG": str(home / "config.toml"), "FARTHING_DB": str(home / "farthing.db")}
        (home / "config.toml").write_text(config)
        (home / "config.toml").chmod(0o600)
        self.port = 0
        self.app: Starlette
        self.server: Server
        self.loop: asyncio.AbstractEventLoop
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._trouble: BaseException | None = None

    @property
    def studio(self) -> Studio:
        found: Studio = self.app.state.studio
        return found

    def settings(self) -> Settings:
        return load_settings(self.env, folder=self.flows)

    def start(self) -> Live:
        self._thread.start()
        assert self._up.wait(20) and self._trouble is None, self._trouble
        return self

    def stop(self) -> float:
        """Stop as a signal would; seconds that it took."""
        began = time.monotonic()
        self.server.stop()
        self._thread.join(10)
        assert not self._thread.is_alive()
        return time.monotonic() - began

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        clock, settings = SystemClock(), self.settings()
        record = open_record(settings.db, clock)
        try:
            await record.open()
            listener = listen("127.0.0.1", 0)
            self.port = listener.getsockname()[1]
            self.app = create_app(
                Services(record, settings, clock), self.flows, port=self.port, read_settings=self.settings
            )
            async with serving(self.app, listener) as self.server:
                self._up.set()
                while not self.server.should_exit:
                    await asyncio.sleep(0.01)
        except BaseException as error:
            self._trouble = error
            raise
        finally:
            await record.close()
            self._up.set()

    # -- asking

    def token(self, user: str, role: RoleName) -> str:
        """A token for a user."""
        until = SystemClock().now() + timedelta(hours=1)
        return self.studio.tokens.create(user, role, until)[1]

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; `body` is sent as JSON, bytes as they are."""
        given = dict(headers or {})
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            raw = answer.read()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, raw)
        finally:
            connection.close()

    @contextmanager
    def stream(
        self, path: str, token: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """A stream that is left at the end of the block."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {"authorization": f"Bearer {token}", "accept": "text/event-stream", **(headers or {})}
        try:
            connection.request("GET", path, headers=given)
            yield connection.getresponse()
        finally:
            connection.close()

    def wait(self, token: str, run_id: str, seconds: float = 15) -> Any:
        """The run once it has ended."""
        until = time.monotonic() + seconds
        while True:
            run = self.request("GET", f"{A}/runs/{run_id}", token=token).json
            if run["state"] not in ("queued", "running", "paused"):
                return run
            assert time.monotonic() < until, run
            time.sleep(0.02)


class Frame(NamedTuple):
    """One frame of a stream."""

    event: str
    data: str
    id: int | None

    @property
    def json(self) -> Any:
        return json.loads(self.data)


def frames(response: http.client.HTTPResponse) -> Iterator[Frame]:
    """The frames of a stream as they come, comments left out."""
    event, data, number = "message", list[str](), None
    while line := response.readline():
        text = line.decode().rstrip("\n")
        field, _, value = text.partition(": ")
        if text == "":
            if data:
                yield Frame(event, "\n".join(data), number)
            event, data, number = "message", [], None
        elif field == "event":
            event = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            number = int(value)
