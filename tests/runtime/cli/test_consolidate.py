"""`farthing memory consolidate` and `undo`: a preview, a copy, changes with their reasons, the way back."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import SystemClock
from runtime.errors import Conflict
from runtime.facts import FactWrite, Shelf
from runtime.memory_service.consolidating import Plan, carry_out, look
from runtime.record import Record
from runtime.store.opening import open_record
from runtime.store.upkeep import exclusive
from tests.runtime.cli.conftest import Farthing
from tests.runtime.store.support import Scene

ADA, OTHER = Shelf("real", "shop", "user", "ada"), Shelf("real", "bank", "user", "ada")
EVE = Shelf("real", "shop", "user", "eve")
PAST = datetime.now(UTC) - timedelta(days=2)
FACTS: tuple[tuple[Shelf, dict[str, Any]], ...] = (
    (ADA, {"key": "bike", "value": "rides a red tandem to work", "origin": "user"}),
    (ADA, {"key": "insight", "value": "rides a red tandem to work", "origin": "derived"}),
    (ADA, {"key": "mood", "value": "tired", "origin": "model", "valid_to": PAST}),
    (ADA, {"key": "city", "value": "Ghent", "origin": "user"}),
    (ADA, {"key": "city", "value": "Hell", "origin": "tainted"}),
    (OTHER, {"key": "mood", "value": "fine", "origin": "model", "valid_to": PAST}),
    (EVE, {"key": "mood", "value": "eve's", "origin": "model", "valid_to": PAST}),
)


def with_db(path: Path, work: Callable[[Record], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        record = open_record(path, SystemClock())
        await record.open()
        try:
            return await work(record)
        finally:
            await record.close()

    return asyncio.run(main())


async def fill(record: Record) -> None:
    for shelf, write in FACTS:
        await record.write_fact(shelf, FactWrite(**write), PAST, lambda _written: [], run_id=None)


def current(path: Path, shelf: Shelf = ADA) -> dict[str, Any]:
    async def read(record: Record) -> dict[str, Any]:
        return {fact.key: fact.value for fact in await record.facts(shelf)}

    found: dict[str, Any] = with_db(path, read)
    return found


@pytest.fixture
def db(folder: Path) -> Path:
    with_db(folder / "f.db", fill)
    return folder / "f.db"


@pytest.mark.promise("MEM-18")
def test_a_preview_changes_nothing(farthing: Farthing, db: Path) -> None:
    before = current(db)
    said = farthing("memory", "consolidate", "--user", "ada", "--db", str(db))
    assert said.code == 0, said.err
    assert "insight would be retired: bike says the same" in said.err
    assert "mood would be retired: its time ended" in said.err
    assert "city has a conflict" in said.err
    assert current(db) == before
    assert list(db.parent.glob("*.backup")) == []


@pytest.mark.promise("MEM-18")
def test_changes_have_a_copy_a_reason_and_a_way_back(farthing: Farthing, db: Path) -> None:
    before = current(db)
    said = farthing("memory", "consolidate", "--user", "ada", "--execute", "--actor", "bo", "--db", str(db))
    assert said.code == 0, said.err
    assert current(db) == {"bike": "rides a red tandem to work", "city": "Ghent"}
    assert current(db, OTHER) == {}
    assert current(db, EVE) == {"mood": "eve's"}
    (copy,) = db.parent.glob("*.backup")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert current(copy) == before
    shown = farthing("events", "@admin", "--user", "ada", "--json", "--db", str(db)).out.splitlines()
    events = [json.loads(line) for line in shown if "memory.consolidated" in line]
    assert [event["namespace"] for event in events] == ["bank", "shop"]
    assert events[1]["actor"] == "bo"
    assert (events[1]["merged"], events[1]["expired"], events[1]["conflicts"]) == (1, 1, 1)
    assert events[1]["changes"][0]["by"] == "bike"
    again = farthing("memory", "consolidate", "--user", "ada", "--execute", "--db", str(db))
    assert "would be" not in again.err
    undone = farthing("memory", "undo", "--user", "ada", "--json", "--db", str(db))
    assert sorted(undone.json["keys"]) == ["insight", "mood", "mood"]
    assert current(db) == before
    nothing = farthing("memory", "undo", "--user", "ada", "--db", str(db))
    assert nothing.code == 2
    assert "no consolidation to take back" in nothing.err


def test_what_was_written_since_stays(farthing: Farthing, db: Path) -> None:
    farthing("memory", "consolidate", "--user", "ada", "--execute", "--db", str(db))
    write = FactWrite(key="insight", value="rides a unicycle")
    with_db(db, lambda record: record.write_fact(ADA, write, PAST, lambda _w: [], run_id=None))
    undone = farthing("memory", "undo", "--user", "ada", "--json", "--db", str(db))
    assert undone.json["left"] == ["insight"]
    assert current(db)["insight"] == "rides a unicycle"


@pytest.mark.promise("MEM-18")
def test_it_is_refused_while_a_run_of_the_user_is_active(farthing: Farthing, db: Path) -> None:
    async def active(record: Record) -> Any:
        await Scene(record, SystemClock()).claim("run-1", "s", user="ada")
        from runtime.memory_service.consolidating import refuse_while_active

        await refuse_while_active(record, "eve")
        with pytest.raises(Conflict) as found:
            await refuse_while_active(record, "ada")
        return str(found.value)

    assert "run-1" in with_db(db, active)


def test_two_never_take_care_of_one_database(farthing: Farthing, db: Path) -> None:
    with exclusive(db):
        said = farthing("memory", "consolidate", "--user", "ada", "--execute", "--db", str(db))
    assert said.code == 2
    assert "another process" in said.err
    assert "insight" in current(db)


def test_one_that_was_killed_goes_on_where_it_was(farthing: Farthing, db: Path) -> None:
    async def half(record: Record) -> None:
        def killed(_plan: Plan) -> None:
            raise KeyboardInterrupt

        plans = await look(record, "real", "ada", datetime.now(UTC))
        with pytest.raises(KeyboardInterrupt):
            await carry_out(record, plans, "batch", "bo", datetime.now(UTC), killed)

    with_db(db, half)
    assert current(db, OTHER) == {}
    assert "insight" in current(db)
    assert farthing("memory", "consolidate", "--user", "ada", "--execute", "--db", str(db)).code == 0
    assert "insight" not in current(db)
    assert [farthing("memory", "undo", "--user", "ada", "--db", str(db)).code for _ in range(3)] == [0, 0, 2]
    assert {"insight", "mood"} < set(current(db))
    assert set(current(db, OTHER)) == {"mood"}
