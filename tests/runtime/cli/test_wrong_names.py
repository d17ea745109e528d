"""Names that are nearly right are answered with the right one; what is empty says what to do next."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.cli.conftest import SCRIPT, Farthing

Write = Callable[..., str]


@pytest.fixture
def ran(farthing: Farthing, write_flow: Write) -> Farthing:
    flow = write_flow({"text": "Hello."})
    assert farthing("run", flow, "Hi", "--session", "monday", "--user", "ada").code == 0
    return farthing


@pytest.mark.promise("CLI-9")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["events", "--flow", "greter"], "do: Did you mean greeter?"),
        (["context", "--flow", "greter"], "do: Did you mean greeter?"),
        (["sessions", "--flow", "greter"], "do: Did you mean greeter?"),
        (["facts", "--flow", "greter"], "do: Did you mean greeter?"),
        (["spend", "--flow", "greter"], "do: Did you mean greeter?"),
        (["budget", "--flow", "greter"], "do: Did you mean greeter?"),
        (["spend", "--flow", "zzz"], "do: There are: greeter. Or give its file."),
        (["facts", "set", "k", "v", "--flow", "greter"], "do: Did you mean greeter?"),
        (["context", "monday", "--node", "helpr"], "do: There are: helper."),
        (["events", "monday", "--type", "agent.usge"], "do: Did you mean agent.usage?"),
        (["events", "mond"], "like it:\n"),
        (["events", "mnoday"], "like it:\n"),
        (["context", "Monday"], "like it:\n"),
    ],
    ids=str,
)
def test_a_name_that_is_nearly_right(ran: Farthing, args: list[str], says: str) -> None:
    said = ran(*args)
    assert said.code == 2 and not said.out
    assert says in said.err


@pytest.mark.parametrize("args", [["sessions"], ["facts"], ["spend"], ["spend", "--rows"]], ids=str)
def test_a_user_that_is_nearly_right(ran: Farthing, args: list[str]) -> None:
    said = ran(*args, "--user", "adaa", "--rehearsal")
    assert said.code == 0
    assert "Nothing here is of a user 'adaa'. Did you mean 'ada'?" in said.err
    assert "Nothing here" not in ran(*args, "--user", "ada", "--rehearsal").err


def test_what_is_empty_says_what_to_do_next(ran: Farthing) -> None:
    assert "`farthing run example:support" in ran("sessions").err
    assert "Leave out what narrows it" in ran("sessions", "--state", "failed", "--rehearsal").err
    assert "`farthing facts set` does." in ran("facts").err


@pytest.mark.promise("CLI-3")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "greeter.json", "Hi", "--concurrency", "0"], "--concurrency is for a batch."),
        (["run", "greeter.json", "Hi", "--retry-failed"], "--retry-failed is for a batch."),
        (["sessions", "--limit", "9" * 20], "is not in the range"),
        (["sessions", "--json", "--csv"], "--json and --csv are two forms of one output"),
        (["spend", "--csv", "--json"], "--json and --csv are two forms of one output"),
        (["facts", "set", "k", "v", "--namespace", "x", "--until", "yesterday"], "--until is past"),
        (["facts", "erase", "k", "--user", ""], "--user is empty."),
        (["facts", "--namespace", " "], "--namespace is empty."),
        (["sessions", "--user", ""], "--user is empty."),
        (["budget", "reset", "daily", "--reason", "x", "--user", ""], "--user is empty."),
        (["memory", "consolidate", "--user", ""], "--user is empty."),
        (["events", "monday", "--run", "nosuch"], "There is no run 'nosuch'."),
        (["context", "monday", "--run", "nosuch"], "There is no run 'nosuch'."),
        (["run", "greeter.json", "Hi", "--session", "@maintenance"], "begin with @ are Farthing's own"),
        (["new", "x/y.json"], "do: Give --to x/y.json."),
        (["new", ""], "The flow's name is empty."),
        (["new", "x" * 201], "A flow's name has 1 to 200 characters."),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_and_not_dropped(ran: Farthing, args: list[str], says: str) -> None:
    said = ran(*args)
    assert said.code == 2 and not said.out
    assert said.err.startswith("error: ") and says in said.err
    assert "\n  do: " in said.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_new_flow_that_cannot_be_written_leaves_what_was_there(farthing: Farthing, folder: Path) -> None:
    assert farthing("new", "one").code == 0
    before = (folder / "one.json").read_bytes()
    (folder / f".one.json.{os.getpid()}.tmp").symlink_to("/dev/full")
    said = farthing("new", "one", "--force")
    assert said.code == 2 and "cannot be written: No space left on device." in said.err
    assert [path.name for path in folder.iterdir()] == ["one.json"]
    assert (folder / "one.json").read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that bounds files")
def test_a_flow_that_could_not_be_written_whole_is_not_there(folder: Path) -> None:
    command = ["sh", "-c", 'ulimit -f 0; exec "$0" new one', str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "one.json cannot be written: File too large." in done.stderr
    assert not list(folder.iterdir())


def test_a_run_is_looked_for_in_its_own_session(ran: Farthing) -> None:
    assert ran("run", "greeter.json", "Hi", "--session", "tuesday", "--user", "ada").code == 0
    lines = ran("events", "monday", "--json").out.splitlines()
    run_id = next(found for line in lines if (found := json.loads(line)["run_id"]))
    assert "session monday" in ran("events", "--run", run_id).out
    assert "session monday" in ran("context", "--run", run_id).out
    said = ran("events", "tuesday", "--run", run_id)
    assert said.code == 2 and "The run is of another session" in said.err


def test_a_file_that_is_not_there_is_answered_with_what_is(farthing: Farthing, tmp_path: Path) -> None:
    for name in ("greeter", "shop", "a1", "a2", "a3", "a4", "a5"):
        (tmp_path / f"{name}.json").write_text("{}", encoding="utf-8")
    near = farthing("run", str(tmp_path / "greter.json"), "Hi")
    assert near.code == 2 and f"Did you mean {tmp_path / 'greeter.json'}?" in near.err
    far = farthing("run", str(tmp_path / "quux.json"), "Hi")
    assert far.code == 2 and "Did you mean" not in far.err
    assert f"There are: {tmp_path / 'a1.json'}, " in far.err and " and 2 more." in far.err
