"""The client for programs against the real server: start, follow over broken connections, cancel."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from runtime.client import Client, ClientError
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import fake_model as fake_model
from tests.studio.conftest import live as live
from tests.studio.conftest import own_live as own_live
from tests.studio.conftest import paid as paid
from tests.studio.live import FLOW, Live


def client_of(live: Live, user: str = "ada", port: int | None = None) -> Client:
    return Client(f"http://127.0.0.1:{port or live.port}", live.token(user, "editor"), timeout_s=10)


def test_run_is_started_followed_and_read(live: Live) -> None:
    run = client_of(live).start("talk.json", "My name is Ada.", session="by program", limits=("tokens=5000",))
    events = list(run.events())
    seqs = [event.data["seq"] for event in events if event.kind == "event"]
    assert seqs == list(range(1, len(seqs) + 1)) and events[-1].data["type"] == "run.finished"
    ended = run.wait()
    assert (ended["state"], ended["session"]) == ("completed", "by program")
    assert list(client_of(live).run(run.run_id).events(after=seqs[-1])) == []
    assert client_of(live).start({**FLOW, "id": "a document"}, "Hi").wait()["state"] == "completed"
    assert client_of(live).start("example:support", "Hi").wait()["state"] == "completed"


def test_one_key_starts_one_run(live: Live) -> None:
    client = client_of(live)
    first, again = (client.start("talk.json", "Once", session="k", key="key") for _ in range(2))
    assert first.run_id == again.run_id


def test_run_is_cancelled(paid: Live, fake_model: FakeModel) -> None:
    fake_model.play(answer("never", delay_s=60))
    run = client_of(paid).start("talk.json", "Hello")
    for event in run.events():
        if event.data.get("type") == "model.called":
            run.cancel()
    run.cancel()
    assert run.get()["state"] == "cancelled"


def test_refusals_have_their_words(live: Live) -> None:
    with pytest.raises(ClientError) as caught:
        client_of(live).start("none.json", "Hi")
    assert (caught.value.status, caught.value.code) == (404, "not_found") and caught.value.remedy
    with pytest.raises(ClientError) as caught:
        Client(f"http://127.0.0.1:{live.port}", "wrong").start("talk.json", "Hi")
    assert caught.value.status == 401
    with pytest.raises(ClientError):
        Client("ftp://nowhere", "x")


def test_server_that_is_not_there_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(ClientError) as caught:
        Client(f"http://127.0.0.1:{port}", "x").request("GET", "/me")
    assert (caught.value.status, caught.value.code) == (0, "client.unreachable")


class Cutter:
    """A way to a server that cuts each connection after so many bytes."""

    def __init__(self, port: int, after: int) -> None:
        self.after, self.to, self.cuts = after, port, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            # One that the server keeps open is not to keep the next one waiting.
            threading.Thread(target=self._pass_on, args=(near,), daemon=True).start()

    def _pass_on(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self.to)) as far:
            far.sendall(near.recv(65_536))
            far.settimeout(10)
            left = self.after
            while left > 0 and (piece := far.recv(min(4096, left))):
                near.sendall(piece)
                left -= len(piece)
            self.cuts += left <= 0

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def cutter(live: Live) -> Iterator[Cutter]:
    made = Cutter(live.port, 6_000)
    yield made
    made.close()


def test_broken_stream_is_taken_up_where_it_broke(live: Live, cutter: Cutter) -> None:
    run = client_of(live).start("talk.json", "My name is Ada.")
    run.wait()
    direct = [event.data for event in run.events() if event.kind == "event"]
    began = time.monotonic()
    over = client_of(live, port=cutter.port).run(run.run_id)
    seen = [event.data for event in over.events() if event.kind == "event"]
    assert seen == direct and cutter.cuts >= 1 and time.monotonic() - began < 10
