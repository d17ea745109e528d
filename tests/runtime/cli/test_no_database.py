"""Commands that look at a database which is not there: said, and none is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runtime.cli.conftest import Farthing

READING = [
    ["events"],
    ["events", "--follow"],
    ["context"],
    ["sessions"],
    ["facts"],
    ["facts", "history", "name"],
    ["facts", "forget", "name"],
    ["facts", "undo", "name"],
    ["facts", "erase", "name", "--yes"],
    ["facts", "export"],
    ["spend"],
    ["spend", "--rows"],
    ["budget"],
    ["budget", "show", "--history"],
    ["memory", "compact", "--session", "one"],
    ["memory", "lifecycle", "--session", "one"],
    ["memory", "consolidate", "--user", "ada"],
    ["memory", "undo", "--user", "ada"],
]


@pytest.mark.promise("CLI-13")
@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_a_database_that_db_names_and_that_is_not_there_is_refused_and_not_made(
    farthing: Farthing, folder: Path, args: list[str]
) -> None:
    said = farthing(*args, "--db", "typo.db")
    assert said.code == 2 and not said.out
    assert said.err.startswith("error: There is no database 'typo.db'.\n  do: Check the path after --db")
    assert not list(folder.iterdir())


@pytest.mark.promise("CLI-13")
@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_looking_before_the_first_run_makes_no_database(
    farthing: Farthing, folder: Path, args: list[str]
) -> None:
    said = farthing(*args)
    path = Path(os.environ["FARTHING_DB"])
    if said.code == 0:
        assert f"There is no database yet; the first run makes {path}.\n" in said.err
    else:
        assert said.code == 2 and said.err.startswith("error: ") and "\n  do: " in said.err
    assert not path.exists() and not list(path.parent.glob("farthing.db*"))


def test_what_is_printed_before_the_first_run_is_that_of_an_empty_database(farthing: Farthing) -> None:
    assert farthing("sessions", "--json").json == []
    assert farthing("facts", "--json").json == []
    assert farthing("spend", "--json").json["total"]["calls"] == 0
    assert [each["budget"] for each in farthing("budget", "--json").json] == ["default-daily"]


@pytest.mark.parametrize(
    "args",
    [
        ["facts", "set", "name", "Ada", "--user", "ada", "--namespace", "shop"],
        ["budget", "raise", "default-daily", "--to", "9", "--reason", "more work"],
        ["run", "example:summarise", "Hi", "--session", "one"],
    ],
    ids=" ".join,
)
def test_commands_that_write_make_the_database(farthing: Farthing, folder: Path, args: list[str]) -> None:
    assert farthing(*args, "--db", "new.db").code == 0
    assert (folder / "new.db").exists()


def test_an_empty_file_is_not_made_a_database_by_looking(farthing: Farthing, folder: Path) -> None:
    (folder / "empty.db").touch()
    said = farthing("sessions", "--db", "empty.db")
    assert said.code == 2 and "There is no database 'empty.db'." in said.err
    assert (folder / "empty.db").stat().st_size == 0
