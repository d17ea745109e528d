"""`farthing run`: streams, results, exit codes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.cli.conftest import SCRIPT, Farthing

Write = Callable[..., str]


@contextmanager
def background(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """The console script under way; it is gone at the end whatever happened."""
    running = subprocess.Popen([str(SCRIPT), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.promise("CLI-1")
def test_run_puts_the_result_on_stdout_and_all_else_on_stderr(process: Farthing, write_flow: Write) -> None:
    said = process("run", write_flow({"text": "Hello, Ada."}), "hi", "--session", "monday")
    assert (said.code, said.out) == (0, "Hello, Ada.\n")
    assert "rehearsal" in said.err
    assert "\x1b" not in said.err
    assert "session" not in said.err


def test_run_says_the_name_of_a_new_session(farthing: Farthing, write_flow: Write) -> None:
    said = farthing("run", write_flow({"text": "Hello."}), "hi")
    name = next(line for line in said.err.splitlines() if line.startswith("session ")).split()[1]
    assert farthing("events", name, "--json").code == 0


def test_run_takes_piped_text(farthing: Farthing, write_flow: Write) -> None:
    said = farthing("run", write_flow(), input="My name is Zoë.".encode())
    assert said.code == 0
    events = farthing("events", "--json").out.splitlines()
    started = next(e for e in map(json.loads, events) if e["type"] == "run.started")
    assert started["input"] == "My name is Zoë."


@pytest.mark.promise("CLI-4")
def test_run_json_is_one_object_of_what_happened(farthing: Farthing, write_flow: Write) -> None:
    reply = {"text": "Hello.", "usage": {"input": 100, "cached": 40, "output": 10}, "cost": "0.0123"}
    said = farthing("run", write_flow(reply), "hi", "--json", "--session", "s", "--limit", "tokens=1000")
    found = said.json
    assert list(found) == [
        "format", "run_id", "session", "state", "rehearsal", "outputs", "usage", "cost", "unknown_cost",
        "budgets", "error",
    ]  # fmt: skip
    assert (found["format"], found["state"], found["outputs"]) == (
        "farthing.result/1",
        "completed",
        {"answer": "Hello."},
    )
    assert found["session"]["name"] == "s"
    assert (found["usage"]["input"], found["usage"]["cached"], found["usage"]["tokens"]) == (100, 40, 110)
    assert (found["cost"], found["unknown_cost"]) == ("0.0123", 0)
    budgets = {each["budget"]: each for each in found["budgets"]}
    assert (budgets["daily"]["used"], budgets["daily"]["limit"]) == ("0.0123", "0.5")
    assert (budgets["limit-tokens"]["used"], budgets["limit-tokens"]["left"]) == (110, 890)
    assert found["error"] is None


@pytest.mark.promise("CLI-2")
def test_run_stopped_by_a_budget_ends_with_three(farthing: Farthing, write_flow: Write) -> None:
    said = farthing("run", write_flow({"text": "Hello."}), "hi", "--limit", "tokens=0")
    assert (said.code, said.out) == (3, "")
    assert "STOPPED" in said.err
    assert "limit-tokens" in said.err


@pytest.mark.promise("CLI-2")
def test_run_whose_model_fails_ends_with_one(farthing: Farthing, write_flow: Write) -> None:
    reply = {"error": {"kind": "auth", "message": "The key was refused."}}
    said = farthing("run", write_flow(reply), "hi", "--json")
    assert said.code == 1
    assert said.json["error"]["code"] == "model.auth"
    assert "The key was refused." in said.err


BAD: dict[str, tuple[list[str], str]] = {
    "no flow": (["run", "missing.json", "hi"], "no file"),
    "folder": (["run", ".", "hi"], "folder"),
    "no example": (["run", "example:none", "hi"], "no example"),
    "broken flow": (["run", "broken.json", "hi"], "JSON"),
    "deep flow": (["run", "deep.json", "hi"], "nested"),
    "large flow": (["run", "large.json", "hi"], "larger"),
    "binary flow": (["run", "binary.json", "hi"], "UTF-8"),
    "no input": (["run", "greeter.json", "--input", "missing.json"], "no file"),
    "bad set": (["run", "greeter.json", "--set", "x"], "field=value"),
    "bad limit": (["run", "greeter.json", "hi", "--limit", "gold=3"], "gold"),
    "bad model": (["run", "greeter.json", "hi", "--model", "nobody:x"], "nobody"),
    "no key": (["run", "greeter.json", "hi", "--model", "openai"], "key"),
    "empty user": (["run", "greeter.json", "hi", "--user", ""], "--user"),
    "empty session": (["run", "greeter.json", "hi", "--session", " "], "--session"),
    "empty model": (["run", "greeter.json", "hi", "--model", ""], "--model"),
    "no tools": (["run", "greeter.json", "hi", "--tools", "missing.py"], "missing.py"),
    "folder as database": (["run", "greeter.json", "hi", "--db", "."], "folder"),
    "foreign database": (["run", "greeter.json", "hi", "--db", "foreign.db"], "database"),
    "no session": (["events", "nothing"], "no session"),
    "no run": (["events", "--run", "nothing"], "no run"),
    "bad type": (["events", "--type", "nothing"], "no event type"),
    "bad group": (["spend", "--by", "colour"], "colour"),
    "bad time": (["spend", "--since", "soon"], "soon"),
    "no node type": (["nodes", "agnt"], "agent"),
    "no budget": (["budget", "raise", "x", "--to", "1", "--reason", "r"], "no budget"),
    "no fact": (["facts", "history", "x"], "no fact"),
    "credential": (["facts", "set", "k", "sk-proj-" + "a1B2c3D4" * 6, "--namespace", "n"], "credential"),
    "there already": (["new", "greeter"], "already"),
}


@pytest.mark.promise("CLI-3")
@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_one_sentence_with_what_to_do(
    name: str, farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    args, word = BAD[name]
    write_flow()
    (folder / "broken.json").write_text('{"format": "farthing.flow/1", "nam', encoding="utf-8")
    (folder / "deep.json").write_text('{"a":' * 5000 + "1" + "}" * 5000, encoding="utf-8")
    (folder / "large.json").write_bytes(b" " * 10_000_001)
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    with sqlite3.connect(folder / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    before = (folder / "foreign.db").read_bytes()
    said = farthing(*args)
    assert said.code in {1, 2}
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err.startswith("error: ")
    assert word in said.err
    assert "\n  do: " in said.err
    assert (folder / "foreign.db").read_bytes() == before


@pytest.mark.slow
@pytest.mark.promise("CLI-5")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_is_cancelled_by_a_signal_and_twice_is_harmless(
    number: signal.Signals, farthing: Farthing, write_flow: Write
) -> None:
    flow = write_flow({"text": "Too late.", "latency_s": 60})
    began = time.monotonic()
    with background("run", flow, "hi", "--session", "s") as running:
        while farthing("events", "s", "--type", "model.called", "--json").out == "":
            assert running.poll() is None and time.monotonic() - began < 60
        running.send_signal(number)
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    events = [json.loads(line) for line in farthing("events", "s", "--json").out.splitlines()]
    assert (events[-1]["type"], events[-1]["state"]) == ("run.finished", "cancelled")
    assert "budget.settled" in {event["type"] for event in events}


@pytest.mark.promise("CLI-5", "MEM-16")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_maintenance_goes_on_loses_no_answer(
    number: signal.Signals, farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    flow = write_flow({"text": "Hello."}, {"text": "{}", "purpose": "extraction", "latency_s": 60})
    document = json.loads((folder / flow).read_text())
    (notes,) = [node for node in document["nodes"] if node["id"] == "notes"]
    notes["config"]["extraction"] = {"enabled": True}
    (folder / flow).write_text(json.dumps(document))
    began = time.monotonic()
    with background("run", flow, "hi", "--session", "s") as running:
        while farthing("events", "@maintenance", "--type", "model.called", "--json").out == "":
            assert running.poll() is None and time.monotonic() - began < 60
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (0, b"Hello.\n"), err
    events = [json.loads(line) for line in farthing("events", "@maintenance", "--json").out.splitlines()]
    assert (events[-1]["type"], events[-1]["state"]) == ("run.finished", "cancelled")
    assert "agent.usage" in {event["type"] for event in events}


@pytest.mark.promise("CLI-7")
def test_farthing_works_beside_packages_of_the_same_names(
    process: Farthing, write_flow: Write, folder: Path
) -> None:
    for name in ("nodes", "runtime", "studio"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise SystemExit('the wrong one')", encoding="utf-8")
    assert process("run", write_flow({"text": "Hello."}), "hi").out == "Hello.\n"


@pytest.mark.promise("CLI-10")
def test_run_of_a_rehearsal_loads_no_sdk_and_no_tables(process: Farthing, write_flow: Write) -> None:
    flow = write_flow({"text": "Hello."})
    process("run", flow, "hi")  # makes the database
    code = (
        "import sys\nfrom runtime.cli.main import call\n"
        f"assert call(['run', {flow!r}, 'hi']) == 0\n"
        "names = {'openai', 'sqlmodel', 'sqlalchemy', 'starlette', 'networkx', 'rich'}\n"
        "names |= {'runtime.cli.timeline_text'}\n"
        "print(sorted(names & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [str(SCRIPT.with_name("python")), "-c", code],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == "Hello.\n"
    assert done.stderr.splitlines()[-1] == "[]"


def test_broken_pipe_is_quiet(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([str(SCRIPT), "events", "--schema"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_run_says_a_warning_in_a_pipe_too(farthing: Farthing, write_flow: Write) -> None:
    flow = write_flow({"text": "One.", "cost": "0.45"}, {"text": "Two.", "cost": "0.01"})
    farthing("run", flow, "hi")
    said = farthing("run", flow, "hi")
    assert said.code == 0
    assert "warning helper" in said.err
    assert "$0.45 of $0.50 today" in said.err


def test_run_of_several_outputs_gives_an_object(farthing: Farthing, write_flow: Write, folder: Path) -> None:
    document = json.loads((folder / write_flow({"text": "Hello."})).read_text("utf-8"))
    document["nodes"].append({"id": "copy", "type": "output", "config": {}})
    document["edges"].append({"source": "helper", "target": "copy"})
    (folder / "two.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "two.script.json").write_text((folder / "greeter.script.json").read_text("utf-8"))
    assert farthing("run", "two.json", "hi").json == {"answer": "Hello.", "copy": "Hello."}


@pytest.mark.slow
def test_follow_shows_what_another_process_does_until_it_is_stopped(
    process: Farthing, farthing: Farthing, write_flow: Write
) -> None:
    flow = write_flow({"text": "One."})
    farthing("run", flow, "hi", "--session", "s")
    with background("events", "s", "--follow", "--json") as follower:
        assert follower.stdout is not None
        seen = [json.loads(follower.stdout.readline())]
        assert process("run", flow, "again", "--session", "s").code == 0
        while [event["type"] for event in seen].count("run.finished") < 2:
            seen.append(json.loads(follower.stdout.readline()))
        follower.send_signal(signal.SIGINT)
        _, err = follower.communicate(timeout=30)
    assert follower.returncode == 130
    assert b"Traceback" not in err
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", f"{SCRIPT} {command}"], capture_output=True, timeout=60)


def test_closed_streams_do_no_harm(folder: Path) -> None:
    assert shell("nodes >&-").returncode == 0
    done = shell("nodes budget 2>&-")
    assert (done.returncode, done.stdout[:6]) == (0, b"budget")
    assert shell("run nothing.json 2>&-").stdout == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_disk_under_stdout_is_told_once(folder: Path) -> None:
    done = shell("nodes > /dev/full")
    assert done.returncode == 1
    assert (
        done.stderr.decode().splitlines()[0]
        == "error: No space left on device, while the output was written."
    )
    assert b"Exception" not in done.stderr


def test_arguments_that_are_no_text_are_refused(farthing: Farthing, write_flow: Write) -> None:
    said = farthing("run", write_flow(), "hi", "--session", "caf\udce9")
    assert said.code == 2
    assert "Argument 5 is not UTF-8 text." in said.err


def test_run_goes_on_when_nobody_listens_any_more(farthing: Farthing, write_flow: Write) -> None:
    flow = write_flow({"text": "Hello.", "latency_s": 0.2})
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [str(SCRIPT), "run", flow, "hi", "--session", "s"],
        stdout=subprocess.PIPE,
        stderr=writer,
        stdin=subprocess.DEVNULL,
    )
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"Hello.\n")
    (line,) = farthing("sessions", "--rehearsal", "--json").json
    assert line["state"] == "completed"
