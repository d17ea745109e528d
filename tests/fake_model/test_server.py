"""The fake server itself, without any client of ours."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from urllib.request import Request, urlopen

from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import PLAYS, SMALL_USAGE, answer
from tests.fake_model.server import FakeModel

__all__ = ["fake_model"]


def post(url: str, **body: object) -> bytes:
    """Post a chat-completions body the plain way."""
    data = json.dumps({"messages": [], **body}, separators=(",", ":")).encode()
    with urlopen(Request(f"{url}/chat/completions", data), timeout=5) as answered:
        found: bytes = answered.read()
        return found


def test_server_plays_what_is_queued_then_its_default(fake_model: FakeModel) -> None:
    fake_model.play(answer("one"), answer("two"))
    texts = [json.loads(post(fake_model.url))["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["one", "two", "Hello there."]
    assert fake_model.count == 3 and fake_model.calls[0].path == "/v1/chat/completions"


def test_server_streams_words_then_usage_then_its_mark(fake_model: FakeModel) -> None:
    events = post(fake_model.url, stream=True).decode().strip().split("\n\n")
    assert events[-1] == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"] == SMALL_USAGE
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1]) == "Hello there."
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"


def test_server_behaves_as_the_model_is_named(fake_model: FakeModel) -> None:
    assert b"<html>" in post(fake_model.url, model="html")
    assert "usage" not in json.loads(post(fake_model.url, model="no_usage"))


def test_server_notices_a_client_that_leaves(fake_model: FakeModel) -> None:
    fake_model.play(PLAYS["hang"])
    with socket.create_connection(("127.0.0.1", fake_model.port)) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        while fake_model.count == 0:
            time.sleep(0.005)
        assert fake_model.disconnects == 0
    end = time.monotonic() + 2
    while fake_model.disconnects == 0 and time.monotonic() < end:
        time.sleep(0.005)
    assert (fake_model.disconnects, fake_model.open_connections) == (1, 0)


def test_server_runs_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.fake_model", "--play", "tool"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            assert json.loads(post(url))["choices"][0]["finish_reason"] == "tool_calls"
        finally:
            process.terminate()
