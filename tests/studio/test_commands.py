"""`farthing studio`, `serve` and `token` as processes: links, signals, a kill, what the next start finds."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import settings_for
from tests.studio.live import FLOW, A, Answer

pytestmark = pytest.mark.slow
FARTHING = [sys.executable, "-m", "runtime.cli"]


class Process:
    """A server of its own process."""

    def __init__(self, home: Path, *args: str) -> None:
        self.home = home
        (home / "flows").mkdir(parents=True, exist_ok=True)
        (home / "flows" / "talk.json").write_text(json.dumps(FLOW))
        (home / "config.toml").touch(0o600)
        self.env = {
            **os.environ,
            "FARTHING_CONFIG": str(home / "config.toml"),
            "FARTHING_DB": str(home / "farthing.db"),
            "BROWSER": "true",
        }
        self.began = time.monotonic()
        self._err = (home / "err.txt").open("w+")
        self.process = subprocess.Popen(
            [*FARTHING, *args, str(home / "flows")], env=self.env, stderr=self._err, stdout=subprocess.DEVNULL
        )
        self.url = self._wait()
        self.port = int(self.url.rpartition(":")[2])

    @property
    def said(self) -> str:
        self._err.flush()
        return (self.home / "err.txt").read_text()

    def _wait(self) -> str:
        while time.monotonic() - self.began < 30:
            found = re.search(r"http://127\.0\.0\.1:\d+", self.said)
            if found:
                return found[0]
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        raise AssertionError(self.said)

    def farthing(self, *args: str) -> str:
        """What another command prints."""
        done = subprocess.run(
            [*FARTHING, *args], env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, headers)
            got = connection.getresponse()
            raw = got.read()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, raw)
        finally:
            connection.close()

    def end(self, number: signal.Signals) -> tuple[int, float]:
        """Exit code and seconds until it was over."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(15)
        return code, time.monotonic() - began

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._err.close()


@pytest.fixture
def start(tmp_path: Path, fake_model: FakeModel) -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def begin(*args: str, config: str = "") -> Process:
        if config:
            (tmp_path / "config.toml").write_text(config)
        made.append(Process(tmp_path, *args))
        return made[-1]

    yield begin
    for process in made:
        process.close()


def authorized(server: Process, role: str = "operator", user: str = "ada") -> dict[str, str]:
    token = server.farthing("token", "create", "--user", user, "--role", role, "--expires", "1h")
    return {"authorization": f"Bearer {token}"}


def exchanged(server: Process, link: str) -> Answer:
    return server.request("POST", f"{A}/auth/exchange", {"token": link.partition("#token=")[2]})


def test_studio_opens_within_seconds_by_a_link_that_works_once(start: Callable[..., Process]) -> None:
    server = start("studio", "--no-open", "--port", "0")
    assert time.monotonic() - server.began < 10
    (printed,) = re.findall(r"http://\S+#token=\S+", server.said)
    assert server.request("GET", "/").status == 200
    assert exchanged(server, printed).status == 204 and exchanged(server, printed).status == 401
    fresh = server.farthing("studio", "--link")
    answered = exchanged(server, fresh)
    assert fresh.startswith(server.url) and answered.status == 204
    me = server.request("GET", f"{A}/me", cookie=answered.headers["set-cookie"].partition(";")[0]).json
    assert (me["user"], me["role"]) == ("local", "operator")
    note = server.home / f"studio-{server.port}.json"
    assert note.stat().st_mode & 0o777 == 0o600
    code, took = server.end(signal.SIGINT)
    assert code == 0 and took < 2 and not note.exists() and "Traceback" not in server.said
    assert not list(server.home.glob("*.lock")), "the database was closed"
    done = subprocess.run([*FARTHING, "studio", "--link"], env=server.env, capture_output=True, text=True)
    assert done.returncode == 2 and "No studio is running" in done.stderr


def test_studio_of_an_empty_folder_opens_an_example(start: Callable[..., Process], tmp_path: Path) -> None:
    from studio.cli_studio import EXAMPLE_PAGE, _first_page

    server = start("studio", "--no-open", "--port", "0")
    assert f"{server.url}/#token=" in server.said, "this one has a flow"
    assert server.request("GET", EXAMPLE_PAGE).status == 200
    (tmp_path / "empty").mkdir()
    assert _first_page(tmp_path / "empty") == EXAMPLE_PAGE
    name = EXAMPLE_PAGE.rpartition("/")[2]
    assert server.request("GET", f"{A}/examples/{name}", **authorized(server)).status == 200


def test_serve_has_no_pages_and_drains(start: Callable[..., Process], fake_model: FakeModel) -> None:
    server = start("serve", "--port", "0", config=settings_for(fake_model))
    fake_model.play(answer("slow", delay_s=60))
    assert server.request("GET", "/health").json == {"status": "ok"}
    page = server.request("GET", "/")
    assert (page.status, page.code) == (404, "http.404")
    assert server.request("GET", f"{A}/me").status == 401
    credential = authorized(server, "runner")
    body = {"path": "talk.json", "input": "Hello"}
    run = server.request("POST", f"{A}/runs", body, **credential).json
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", f"{A}/sessions/{run['session_uid']}/events?stream=1", headers=credential)
    stream = connection.getresponse()
    assert stream.readline() == b"retry: 1000\n"
    code, took = server.end(signal.SIGTERM)
    stream.read()
    connection.close()
    assert code == 0 and took < 2
    assert "One running run was cancelled." in server.said and "Traceback" not in server.said
    sessions = json.loads(server.farthing("sessions", "--json"))
    assert [session["state"] for session in sessions] == ["cancelled"]


@pytest.mark.promise("STU-7")
def test_killed_server_leaves_its_run_interrupted_and_charged(
    start: Callable[..., Process], fake_model: FakeModel
) -> None:
    server = start("serve", "--port", "0", config=settings_for(fake_model))
    fake_model.play(answer("slow", delay_s=60))
    credential = authorized(server)
    body = {"path": "talk.json", "input": "Hello", "session": "cut off"}
    run = server.request("POST", f"{A}/runs", body, **credential).json
    until = time.monotonic() + 10
    while not fake_model.calls and time.monotonic() < until:
        time.sleep(0.02)
    server.end(signal.SIGKILL)
    again = start("serve", "--port", "0")
    found = again.request("GET", f"{A}/runs/{run['run_id']}", **credential).json
    assert (found["state"], found["error"]["code"]) == ("interrupted", "run.interrupted")
    assert float(found["cost"]) > 0 and found["budgets"][0]["held"] == "0"
    stream = again.request("GET", f"{A}/sessions/{run['session_uid']}/events?stream=1", **credential)
    assert b'"state":"interrupted"' in stream.raw and stream.raw.endswith(b"event: end\ndata: {}\n\n")
    fake_model.play(answer("Here again."))
    second = again.request("POST", f"{A}/runs", body, **credential).json
    until = time.monotonic() + 10
    while (state := again.request("GET", f"{A}/runs/{second['run_id']}", **credential).json)[
        "state"
    ] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert state["outputs"] == {"answer": "Here again."}


def test_run_of_the_command_line_is_watched_and_cancelled_from_here(
    start: Callable[..., Process], fake_model: FakeModel
) -> None:
    server = start("serve", "--port", "0", config=settings_for(fake_model))
    fake_model.play(answer("one two three four five six", gap_s=3))
    credential = authorized(server)
    flow = str(server.home / "flows" / "talk.json")
    other = subprocess.Popen(
        [*FARTHING, "run", flow, "Hello", "--session", "cli", "--user", "ada"],
        env=server.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    session: Any = None
    until = time.monotonic() + 20
    while session is None and time.monotonic() < until:
        listed = server.request("GET", f"{A}/sessions?text=cli", **credential).json["sessions"]
        session = next((each for each in listed if each["state"] == "running"), None)
    assert session is not None
    (run,) = server.request("GET", f"{A}/sessions/{session['uid']}", **credential).json["runs"]
    for _ in range(2):
        asked = server.request("POST", f"{A}/runs/{run['run_id']}/cancel", {}, **credential)
        assert asked.status == 202
    stream = server.request("GET", f"{A}/sessions/{session['uid']}/events?stream=1", **credential)
    out, _ = other.communicate(timeout=20)
    assert (other.returncode, out) == (130, b"")
    assert b'"state":"cancelled"' in stream.raw and stream.raw.endswith(b"event: end\ndata: {}\n\n")
    assert b'"message":"Cancelled by ada."' in stream.raw


def test_token_is_shown_once_and_stops_working_when_revoked(start: Callable[..., Process]) -> None:
    server = start("serve", "--port", "0")
    credential = authorized(server, "viewer")
    assert server.request("GET", f"{A}/me", **credential).json["role"] == "viewer"
    (listed,) = json.loads(server.farthing("token", "list", "--json"))
    assert (listed["user"], listed["role"], listed["expired"]) == ("ada", "viewer", False)
    secret = credential["authorization"].removeprefix("Bearer ")
    assert secret not in server.farthing("token", "list") + (server.home / "tokens.toml").read_text()
    server.farthing("token", "revoke", listed["id"])
    assert server.request("GET", f"{A}/me", **credential).status == 401


def test_port_that_is_taken_and_folder_that_is_not_there_are_told(start: Callable[..., Process]) -> None:
    server = start("serve", "--port", "0")
    for args, words in (
        (["serve", "--port", str(server.port)], "cannot be used"),
        (["studio", "--no-open", str(server.home / "none")], "is not a folder"),
    ):
        done = subprocess.run([*FARTHING, *args], env=server.env, capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
