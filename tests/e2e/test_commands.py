"""The command against a provider that misbehaves: exit codes, what it says, and that it goes on after."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.commands import SCRIPT, Said, environment, farthing, farthing_process
from tests.e2e.misbehaviours import words
from tests.e2e.place import KEY, governed, provider_settings
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import PLAYS, Play, answer, raw, stream, tool_call
from tests.fake_model.server import FakeModel

__all__ = ["fake_model"]


@pytest.fixture
def folder(fake_model: FakeModel, own_home: Path, tmp_path: Path) -> Path:
    """A folder with a flow, and settings that point at the fake provider."""
    (tmp_path / "flow.json").write_text(json.dumps(governed()), encoding="utf-8")
    point_at(own_home, fake_model.url)
    return tmp_path


def point_at(home: Path, url: str, timeout_s: float = 1.0) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(provider_settings(url, timeout_s=timeout_s), encoding="utf-8")
    (home / "config.toml").chmod(0o600)


def run(folder: Path, text: str = "Hello", **env: str) -> Said:
    return farthing(folder, *command(text), **env)


def command(text: str) -> tuple[str, ...]:
    return ("run", "flow.json", text, "--session", "one", "--user", "ada", "--json")


CASES: dict[str, tuple[Play, str, int]] = {
    "html": (PLAYS["html"], "model.bad_response", 1),
    "no_key": (PLAYS["unauthorized"], "model.auth", 1),
    "no_credit": (PLAYS["quota"], "model.quota", 1),
    "hang": (PLAYS["hang"], "model.timeout", 1),
    "cut": (stream(*words("Hel", "lo"), ending="cut"), "model.stream_broken", 1),
    "huge": (raw(b"[" + b"1," * 9_000_000 + b"1]"), "model.bad_response", 1),
    "empty": (PLAYS["no_choices"], "model.empty", 1),
}


@pytest.mark.promise("CLI-2", "CLI-3", "CLI-4")
@pytest.mark.parametrize("name", CASES)
def test_command_tells_a_failure_and_the_next_one_works(
    name: str, fake_model: FakeModel, own_home: Path, folder: Path
) -> None:
    play, code, exit_code = CASES[name]
    if code != "model.timeout":  # a busy machine is to make none
        point_at(own_home, fake_model.url, timeout_s=20)
    fake_model.play(play)
    failed = run(folder)
    assert failed.code == exit_code
    assert failed.json["error"]["code"] == code
    assert failed.json["error"]["remedy"]
    assert (failed.json["state"], failed.json["outputs"]) == ("failed", {})
    assert failed.err.strip()
    again = run(folder, "And now?")
    assert (again.code, again.json["outputs"]) == (0, {"end": "Hello there."})
    assert again.json["usage"]["input"] == 12
    assert {budget["held"] for budget in again.json["budgets"]} == {0, "0"}
    events = farthing(folder, "events", "one", "--json").lines()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["state"] for event in events if event["type"] == "run.finished"] == ["failed", "completed"]


@pytest.mark.slow
def test_process_tells_a_failure_and_the_next_one_works(fake_model: FakeModel, folder: Path) -> None:
    fake_model.play(PLAYS["html"])
    failed = farthing_process(folder, *command("Hello"))
    assert (failed.code, failed.json["error"]["code"]) == (1, "model.bad_response")
    again = farthing_process(folder, *command("And now?"))
    assert (again.code, again.json["outputs"]) == (0, {"end": "Hello there."})


def test_command_waits_out_what_passes(fake_model: FakeModel, folder: Path) -> None:
    fake_model.play(PLAYS["down"], PLAYS["rate_limited"], answer("Fine."))
    done = run(folder)
    assert (done.code, done.json["outputs"]) == (0, {"end": "Fine."})
    assert fake_model.count == 3


def test_command_without_a_provider_says_where_it_looked(folder: Path, own_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    point_at(own_home, f"http://127.0.0.1:{port}/v1")
    failed = run(folder)
    assert failed.code == 1
    assert failed.json["error"]["code"] == "model.unreachable"
    assert f"127.0.0.1:{port}" in failed.err


@pytest.mark.promise("BUD-15", "CLI-2")
def test_command_stops_at_a_limit_between_two_calls(fake_model: FakeModel, folder: Path) -> None:
    fake_model.play(answer(None, tool_calls=[tool_call("memory_read", "{}")]))
    args = ("run", "flow.json", "Hello", "--user", "ada", "--json", "--limit", "tokens=15")
    stopped = farthing(folder, *args)
    assert stopped.code == 3
    assert stopped.json["error"]["code"] == "budget.exceeded"
    assert fake_model.count == 1
    assert stopped.json["usage"]["input"] + stopped.json["usage"]["output"] == 15


@pytest.mark.promise("MOD-1", "BUD-13")
def test_environment_points_at_an_endpoint_whose_cost_is_unknown(
    fake_model: FakeModel, folder: Path, own_home: Path
) -> None:
    (own_home / "config.toml").write_text("", encoding="utf-8")
    env = {"FARTHING_BASE_URL": fake_model.url, "FARTHING_MODEL": "m", "FARTHING_API_KEY": KEY}
    done = run(folder, **env)
    assert done.code == 0
    assert done.json["outputs"] == {"end": "Hello there."}
    assert (done.json["cost"], done.json["unknown_cost"]) == (None, 1)
    assert fake_model.calls[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.slow
@pytest.mark.promise("CLI-5", "RUN-3", "LED-3")
@pytest.mark.parametrize(
    ("begun", "number"),
    [(False, signal.SIGTERM), (True, signal.SIGINT)],
    ids=["sigterm_before_a_word", "ctrl_c_in_the_stream"],
)
def test_process_that_is_cancelled_hangs_up_and_settles(
    begun: bool, number: signal.Signals, fake_model: FakeModel, folder: Path, own_home: Path
) -> None:
    point_at(own_home, fake_model.url, timeout_s=60)
    fake_model.play(stream(*words("Hel", "lo"), ending="hang") if begun else PLAYS["hang"])
    with subprocess.Popen(
        [str(SCRIPT), *command("Hello")],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: fake_model.count == 1)
        time.sleep(0.1)
        process.send_signal(number)
        began = time.monotonic()
        out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert process.returncode == 130, err
    assert fake_model.disconnects == 1
    said = json.loads(out)
    assert said["state"] == "cancelled"
    assert said["usage"]["input"] > 0
    again = run(folder, "And now?")
    assert (again.code, again.json["outputs"]) == (0, {"end": "Hello there."})
    assert [message["content"] for message in fake_model.calls[-1].body["messages"]] == ["And now?"]


def wait_for(met: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)
