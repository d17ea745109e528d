"""`farthing memory lifecycle`: how derived facts have aged, first as a preview."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runtime.facts import FactWrite, Shelf
from runtime.record import Record
from tests.flows import agent_flow
from tests.runtime.cli.conftest import Farthing
from tests.runtime.store.support import with_db

ADA = Shelf("rehearsal", "f", "user", "ada")
LONG_AGO = datetime.now(UTC) - timedelta(days=60)


def prepare(farthing: Farthing, folder: Path, lifecycle: dict[str, Any]) -> Path:
    """A run of ada's, and after it a derived fact of long ago and one of now."""
    flow = folder / "f.json"
    flow.write_text(json.dumps(agent_flow(memory={"scope": "user", "lifecycle": lifecycle})))
    db = folder / "f.db"
    assert (
        farthing("run", str(flow), "hello", "--user", "ada", "--session", "talk", "--db", str(db)).code == 0
    )

    async def fill(record: Record) -> None:
        for key, at in (("old", LONG_AGO), ("new", datetime.now(UTC))):
            write = FactWrite(key=key, value="tea", origin="derived", confidence=0.7)
            await record.write_fact(ADA, write, at, lambda _written: [], run_id=None)

    with_db(db, fill)
    return db


def current(path: Path) -> list[str]:
    async def read(record: Record) -> list[str]:
        return [fact.key for fact in await record.facts(ADA) if not fact.internal]

    found: list[str] = with_db(path, read)
    return found


def test_it_shows_first_then_does_and_can_be_taken_back(farthing: Farthing, tmp_path: Path) -> None:
    db = prepare(farthing, tmp_path, {"enabled": True})
    where = ("--session", "talk", "--user", "ada", "--rehearsal", "--db", str(db))
    shown = farthing("memory", "lifecycle", *where)
    assert shown.code == 0
    assert "old would be retired: its score is 0.00" in shown.err
    assert "new is worth 1.00, fades in 161 hours" in shown.err
    assert "Nothing was changed" in shown.err
    assert current(db) == ["new", "old"]
    told = json.loads(farthing("memory", "lifecycle", *where, "--json").out)
    assert told["executed"] is False
    assert [(fact["key"], fact["action"]) for fact in told["shelves"][0]["facts"]] == [
        ("new", "stay"),
        ("old", "fade"),
    ]
    done = farthing("memory", "lifecycle", *where, "--execute")
    assert "old retired" in done.err
    assert current(db) == ["new"]
    again = farthing("memory", "lifecycle", *where, "--execute")
    assert "old" not in again.err
    undone = farthing("memory", "undo", "--user", "ada", "--rehearsal", "--db", str(db))
    assert undone.code == 0, undone.err
    assert current(db) == ["new", "old"]


def test_a_flow_without_it_says_so(farthing: Farthing, tmp_path: Path) -> None:
    db = prepare(farthing, tmp_path, {})
    found = farthing(
        "memory", "lifecycle", "--session", "talk", "--user", "ada", "--rehearsal", "--db", str(db)
    )
    assert found.code == 2
    assert "lifecycle.enabled" in found.err
    assert current(db) == ["new", "old"]
