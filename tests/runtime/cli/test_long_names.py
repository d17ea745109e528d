"""What cannot be a name is refused by every command that would keep it; what was kept stays readable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runtime.cli.fact_events import written_by
from runtime.cli.opening import opened
from runtime.clock import SystemClock
from runtime.facts import FactWrite, Shelf
from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]
LONG = "x" * 100_000
ODD = "a\x1b[2Jb"


@pytest.mark.promise("CLI-15")
@pytest.mark.parametrize("name", [LONG, ODD], ids=["long", "odd"])
def test_every_command_that_would_keep_a_name_refuses_what_is_none(
    farthing: Farthing, write_flow: Write, name: str, folder: Path
) -> None:
    path = write_flow({"text": "Hello."})
    (folder / "lines.jsonl").write_text('"one"\n')
    farthing("facts", "set", "k", "v", "--namespace", "n")
    asked = [
        ("run", path, "Hi", "--user", name),
        ("run", path, "Hi", "--session", name),
        ("run", path, "--batch", "lines.jsonl", "--user", name),
        ("facts", "set", "k", "v", "--user", name, "--namespace", "n"),
        ("facts", "set", "k", "v", "--namespace", name),
        ("facts", "set", "k", "v", "--namespace", "n", "--actor", name),
        ("facts", "move", "k", "--namespace", "n", "--to-user", name),
        ("facts", "move", "k", "--namespace", "n", "--to-namespace", name),
        ("budget", "raise", "default-daily", "--to", "9", "--reason", "r", "--user", name),
        ("token", "create", "--user", name, "--role", "viewer"),
        ("new", name, "--to", "-"),
    ]
    for args in asked:
        said = farthing(*args)
        assert said.code == 2 and "do:" in said.err, args[:3]
        assert len(said.err) < 500 and "\x1b[2J" not in said.err and not said.out


def test_a_line_of_a_batch_with_such_a_user_fails_alone(
    farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    path = write_flow({"text": "Hello."}, {"text": "Hello."})
    lines = [{"text": "one", "user": LONG}, {"text": "two", "user": "ada"}]
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    said = farthing("run", path, "--batch", "lines.jsonl")
    states = [json.loads(line)["state"] for line in said.out.splitlines()]
    assert said.code == 1 and states == ["invalid", "completed"]


def test_names_that_a_database_has_already_stay_readable(farthing: Farthing, folder: Path) -> None:
    shelf, at = Shelf("real", "n", "user", LONG), datetime.now(UTC)
    write = FactWrite(key="k", value="kept", kind="fact", origin="user", actor="me")

    async def earlier() -> None:
        async with opened(folder / "old.db", SystemClock()) as record:
            await record.write_fact(shelf, write, at, written_by(shelf, "me", at), run_id=None)

    asyncio.run(earlier())
    for user in ((), ("--user", LONG)):
        said = farthing("facts", *user, "--db", "old.db")
        assert said.code == 0 and "kept" in said.out
    assert (
        farthing("facts", "erase", "k", "--user", LONG, "--namespace", "n", "--yes", "--db", "old.db").code
        == 0
    )
    assert "kept" not in farthing("facts", "history", "k", "--db", "old.db").out
