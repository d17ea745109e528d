"""Errors as sentences, remedies and exit codes."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import click
import msgspec
import pytest

from runtime import errors
from runtime.cli.doctor_database import database_section
from runtime.cli.doctor_report import Problem
from runtime.cli.failure import TRACEBACK_VARIABLE, tell
from runtime.settings import load_settings
from tests.runtime.cli.conftest import SCRIPT, Farthing


@pytest.mark.promise("CLI-2")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadInput("x"), 2),
        (errors.NotGranted("x"), 2),
        (errors.BudgetExceeded("x"), 3),
        (errors.ModelFailure("auth", "x"), 1),
        (errors.StoreFull("x"), 1),
        (errors.RunFailure("x"), 1),
        (click.UsageError("x"), 2),
        (click.exceptions.Exit(4), 4),
        (KeyboardInterrupt(), 130),
        (asyncio.CancelledError(), 130),
        (PermissionError(13, "Permission denied", "/x"), 1),
        (RuntimeError("x"), 1),
    ],
)
def test_tell_gives_the_exit_code(error: BaseException, code: int) -> None:
    assert tell(error) == code


def test_tell_says_what_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    tell(errors.BadInput("The text is empty.", remedy="Give one.", node_id="question"))
    assert capsys.readouterr() == ("", "error: node question: The text is empty.\n  do: Give one.\n")


def test_tell_lists_every_problem_of_a_flow(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        errors.Problem("a", "it has no nodes", "Add one.", None, "$.nodes"),
        errors.Problem("b", "the type is unknown", "Mend it.", "helper", "$.nodes[1].type"),
    ]
    assert tell(errors.BadFlow(problems, name="greeter")) == 2
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "error: The flow 'greeter' cannot be used:",
        "  error $.nodes: it has no nodes",
        "    do: Add one.",
        "  error node helper $.nodes[1].type: the type is unknown",
        "    do: Mend it.",
    ]


@pytest.mark.promise("CLI-6")
def test_tell_spells_out_what_would_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell(errors.BadInput("bad \x1b[2J name\u202e"))
    assert capsys.readouterr().err == "error: bad \\x1b[2J name\\u202e\n"


@pytest.mark.promise("CLI-3")
def test_tell_keeps_a_traceback_for_its_user_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARTHING_DB", str(tmp_path / "data" / "f.db"))
    try:
        raise RuntimeError("a secret place")
    except RuntimeError as error:
        assert tell(error) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    written = tmp_path / "data" / f"crash-{os.getpid()}.txt"
    assert str(written) in said
    assert "test_failure.py" in written.read_text("utf-8")
    assert written.stat().st_mode & 0o777 == 0o600


def test_tell_shows_a_traceback_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    try:
        raise RuntimeError("x")
    except RuntimeError as error:
        tell(error)
    assert "Traceback" in capsys.readouterr().err


def test_tell_says_how_to_see_a_traceback_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("FARTHING_DB", str(tmp_path / "file" / "f.db"))
    tell(RuntimeError("x"))
    assert f"{TRACEBACK_VARIABLE}=1" in capsys.readouterr().err


@pytest.mark.promise("MOD-7")
@pytest.mark.parametrize(
    "args",
    [
        ["run", "example:summarise", "hi"],
        ["events"],
        ["context"],
        ["sessions"],
        ["facts"],
        ["spend"],
        ["budget"],
        ["memory", "compact", "--session", "one"],
        ["memory", "consolidate", "--user", "ada"],
        ["tools"],
        ["key", "list"],
    ],
)
def test_a_named_settings_file_that_is_not_there_ends_every_command_that_reads_settings(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    monkeypatch.setenv("FARTHING_CONFIG", "typo.toml")
    said = farthing(*args)
    assert said.code == 2 and not said.out
    assert said.err.startswith("error: FARTHING_CONFIG names typo.toml, which is not there.\n  do: ")
    assert not Path(os.environ["FARTHING_DB"]).exists()


@pytest.mark.promise("MOD-7")
def test_a_named_settings_file_that_is_not_there_ends_the_server_before_it_starts(process: Farthing) -> None:
    said = process("serve", ".", FARTHING_CONFIG="typo.toml")
    assert said.code == 2 and not said.out
    assert said.err.startswith("error: FARTHING_CONFIG names typo.toml, which is not there.\n  do: ")
    assert not Path(os.environ["FARTHING_DB"]).exists()


def test_doctor_finds_a_named_settings_file_that_is_not_there(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARTHING_CONFIG", "typo.toml")
    said = farthing("doctor", "--json")
    assert said.code == 1
    (problem,) = said.json["problems"]
    assert "typo.toml, which is not there" in problem["message"] and not problem["note"]


def test_no_key_is_written_beside_the_null_device(process: Farthing) -> None:
    said = process("key", "set", "openai", "--file", input=b"sk-x\n", FARTHING_CONFIG=os.devnull)
    assert said.code == 2 and os.devnull in said.err


@pytest.mark.promise("CLI-3")
@pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes a stream")
@pytest.mark.parametrize(
    "args", [["key", "set", "openai"], ["facts", "import", "-"], ["run", "example:summarise"]], ids=" ".join
)
def test_a_closed_standard_input_is_an_empty_one(folder: Path, args: list[str]) -> None:
    command = ["sh", "-c", 'exec "$0" "$@" <&-', str(SCRIPT), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "Farthing itself failed" not in done.stderr


class Unreachable(type(Path())):  # type: ignore[misc]
    """A file in a folder that may not be entered: tests may be run by a user who enters every one."""

    def exists(self, **_more: object) -> bool:
        raise PermissionError(13, "Permission denied", str(self))


def test_doctor_tells_of_a_database_that_cannot_be_reached() -> None:
    problems: list[Problem] = []
    settings = msgspec.structs.replace(load_settings({"FARTHING_CONFIG": os.devnull}), db=Unreachable("x.db"))
    section = database_section(settings, problems)
    assert section.data == {"path": "x.db", "exists": None}
    assert [each.message for each in problems] == ["The database x.db cannot be reached: Permission denied."]
