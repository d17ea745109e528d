"""What people type who do not know the commands yet: each ends in one sentence, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]


@pytest.mark.promise("CLI-3")
@pytest.mark.parametrize(
    ("args", "says", "remedy"),
    [
        (("run", ""), "FLOW is empty.", "Give the path of a flow, or example:NAME."),
        (("validate", " "), "FLOW is empty", "Give the path of a flow, or example:NAME."),
        (("run", "example:support", ""), "TEXT is empty.", "pipe it in"),
        (("run", "example:support", "Hi", "--db", ""), "--db is empty.", "leave --db out"),
        (("run", "example:support", "Hi", "--db", "."), ". is a folder, not a database.", "--db"),
        (("run", "example:support", "Hi", "--limit"), "'--limit' requires an argument.", "after --limit"),
        (("run", "example:support", "Hi", "--tools", "x.json"), "x.json is no Python file.", "a .py file"),
        (("run", "example:support", "Hi", "--record", "."), "'.' does not end in .script.json", "Name it"),
        (("run", "example:support", "--input", "."), ". is a folder, not a file of input.", "a file in it"),
        (("run", "example:support", "--set", "a=1e999"), "--set a is not sound JSON", "Mend --set a."),
        (("events", "--step", "x"), "'x' is no whole number", "--help"),
        (("run", "example:support", "--concurrency", "x"), "'x' is no whole number", "--help"),
        (("spend", "--run", "nope"), "There is no run 'nope'.", "farthing events --json"),
        (("spend", "--since", "today", "--until", "yesterday"), "--until is not after --since.", "a later"),
        (("facts", "export", "--to", "no/x"), "no/x cannot be written", "Give --to a file in a folder"),
        (
            ("budget", "raise", "default-daily", "--to", "5", "--reason", "x" * 1001),
            "The reason has 1,001 characters, more than 1,000.",
            "Shorten --reason.",
        ),
        (
            ("memory", "consolidate", "--user", "ada", "--with-model", "--limit", "x"),
            "--limit 'x' is not understood.",
            "--limit spend=0.50",
        ),
        (("token", "create", "--user", "a", "--role", "viewer", "--expires", "99999y"), "write never", "--h"),
        (("studio", "--host", "", "--no-open"), "--host is empty.", "leave --host out"),
        (("serve", "--allow-host", ""), "--allow-host is empty.", "leave --allow-host out"),
        (("facts", "move", "--all", "--to-namespace", ""), "--to-namespace is empty.", "leave --to"),
        (("facts", "import", "x.json", "--as-namespace", ""), "--as-namespace is empty.", "leave --as"),
        (("facts", "import", "-"), "standard input is no export of facts.", "farthing.facts/1"),
        (("events", "x" * 100_000), "There is no session 'xxx", "farthing sessions"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_cannot_be_done_is_told_with_what_to_do(
    farthing: Farthing, folder: Path, args: tuple[str, ...], says: str, remedy: str
) -> None:
    (folder / "x.json").write_text("{}")
    said = farthing(*args)
    told = said.out if args[0] == "validate" else said.err
    assert said.code == 2 and says in told and "do: " in told and remedy in told.split("do: ")[-1]
    assert len(told) < 5000


def test_a_receipt_that_cannot_be_written_leaves_everything_as_it_was(
    farthing: Farthing, folder: Path
) -> None:
    place = ("--namespace", "n")
    farthing("facts", "set", "k", "kept-value", *place)
    (folder / "there.json").write_text("mine")
    for receipt in ("no/r.json", "there.json"):
        said = farthing("facts", "erase", "k", *place, "--yes", "--receipt", receipt)
        assert said.code == 2 and "--receipt" in said.err
        assert "kept-value" in farthing("facts", *place).out
    assert (folder / "there.json").read_text() == "mine"
    assert farthing("facts", "erase", "none", *place, "--yes", "--receipt", "r.json").code == 2
    assert not (folder / "r.json").exists()
    assert farthing("facts", "erase", "k", *place, "--yes", "--receipt", "r.json").code == 0
    assert '"erased": true' in (folder / "r.json").read_text()


def test_a_page_takes_the_place_of_a_page_and_of_nothing_else(
    farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    path = write_flow({"text": "Hello."})
    farthing("run", path, "Hi", "--session", "one")
    flow = (folder / path).read_bytes()
    page = ("events", "one", "--rehearsal", "--html")
    said = farthing(*page, path)
    assert said.code == 2 and f"{path} is there already and is no page of a timeline." in said.err
    assert (folder / path).read_bytes() == flow
    (folder / "empty.html").touch()
    for name in ("new.html", "new.html", "empty.html"):
        assert farthing(*page, name).code == 0
        assert "Hello." in (folder / name).read_text()


def test_doctor_misses_a_tool_file_that_is_not_there(farthing: Farthing, folder: Path) -> None:
    Path(os.environ["FARTHING_CONFIG"]).write_text("[tools]\nfiles = ['none.py']\n")
    said = farthing("doctor")
    assert said.code == 1 and "none.py is not there." in said.out and "Correct files of [tools]" in said.out


@pytest.mark.parametrize("provider", ["scripted", "env"])
def test_no_key_is_kept_that_nothing_would_use(
    farthing: Farthing, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARTHING_BASE_URL", "http://127.0.0.1:1/v1")
    said = farthing("key", "set", provider, input="abc-key-0123")
    assert said.code == 2 and f"No key that is stored is used for '{provider}'." in said.err


def test_events_that_are_narrowed_to_nothing_say_so(farthing: Farthing, write_flow: Write) -> None:
    farthing("run", write_flow({"text": "Hello."}), "Hi", "--session", "one")
    said = farthing("events", "one", "--rehearsal", "--node", "nope")
    assert said.code == 0 and "Nothing of this session is what was asked for." in said.err
    assert "Nothing of" not in farthing("events", "one", "--rehearsal").err
