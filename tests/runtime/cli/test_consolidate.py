"""`farthing memory consolidate` and `undo`: a preview, a copy, changes with their reasons, the way back."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import SystemClock
from runtime.errors import Conflict
from runtime.facts import FactWrite, Shelf
from runtime.memory_service.consolidating import Done, carry_out, keep, look
from runtime.record import Record
from runtime.store.upkeep import back_up, exclusive
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import answer, failure
from tests.fake_model.server import FakeModel
from tests.runtime.cli.conftest import Farthing
from tests.runtime.store.support import Scene, with_db

__all__ = ["fake_model"]

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
        def killed(_done: Done) -> None:
            raise KeyboardInterrupt

        plans = await look(record, "real", "ada", datetime.now(UTC))
        parts = await keep(record, "real", "ada", plans, "batch", "bo", datetime.now(UTC))
        with pytest.raises(KeyboardInterrupt):
            await carry_out(record, "real", parts, "bo", lambda: datetime.now(UTC), killed)

    with_db(db, half)
    assert current(db, OTHER) == {}
    assert "insight" in current(db)
    assert farthing("memory", "consolidate", "--user", "ada", "--execute", "--db", str(db)).code == 0
    assert "insight" not in current(db)
    assert [farthing("memory", "undo", "--user", "ada", "--db", str(db)).code for _ in range(2)] == [0, 2]
    assert {"insight", "mood"} < set(current(db))
    assert set(current(db, OTHER)) == {"mood"}


def add(path: Path, key: str, value: str, origin: Any = "model", shelf: Shelf = ADA) -> None:
    write = FactWrite(key=key, value=value, origin=origin)
    with_db(path, lambda record: record.write_fact(shelf, write, PAST, lambda _w: [], run_id=None))


@pytest.mark.promise("MEM-18")
def test_what_was_previewed_is_what_is_done_and_what_moved_on_is_left(farthing: Farthing, db: Path) -> None:
    at = ("--user", "ada", "--db", str(db))
    seen = farthing("memory", "consolidate", *at, "--json").json
    assert seen["batch"]
    add(db, "later", "rides a red tandem to work", "derived")
    add(db, "insight", "rides a unicycle")
    said = farthing("memory", "consolidate", *at, "--execute")
    assert said.code == 0, said.err
    assert "Carried out: the preview of" in said.err
    assert "insight left alone" in said.err
    assert set(current(db)) == {"bike", "city", "insight", "later"}, "what came later was not previewed"
    assert farthing("memory", "consolidate", *at, "--execute", "--json").json["planned_at"] is None
    assert "later" not in current(db)


def test_the_same_preview_twice_is_one_plan(farthing: Farthing, db: Path) -> None:
    call = ("memory", "consolidate", "--user", "ada", "--json", "--db", str(db))
    first = farthing(*call).json
    assert farthing(*call).json == first


def test_a_preview_without_changes_takes_the_place_of_an_earlier_one(farthing: Farthing, db: Path) -> None:
    at = ("--user", "eve", "--db", str(db))
    farthing("memory", "consolidate", *at)
    add(db, "mood", "new", "user", EVE)
    assert "Nothing to consolidate" in farthing("memory", "consolidate", *at).err
    said = farthing("memory", "consolidate", *at, "--execute")
    assert "Nothing to consolidate" in said.err
    assert list(db.parent.glob("*.backup")) == []


ALIKE = Shelf("rehearsal", "shop", "user", "ada")


@pytest.mark.promise("MEM-22")
def test_a_model_finds_what_words_do_not_and_the_preview_says_what_that_costs(
    farthing: Farthing, db: Path
) -> None:
    add(db, "home", "lives in Ghent", "user", ALIKE)
    add(db, "place", "lives in Ghent near the canal", "derived", ALIKE)
    add(db, "bikes", "has 2 bicycles in the shed", "user", ALIKE)
    add(db, "bicycles", "has 3 bicycles in the shed", "user", ALIKE)
    at = ("--user", "ada", "--rehearsal", "--db", str(db))
    first = farthing("memory", "consolidate", *at)
    assert "are alike: --with-model asks scripted:rehearsal" in first.err
    assert "at most 2 calls" in first.err
    asked = farthing("memory", "consolidate", *at, "--with-model")
    assert "place would be retired, home says the same" in asked.err
    assert "bicycles and bikes contradict each other, would be marked" in asked.err
    assert set(current(db, ALIKE)) == {"home", "place", "bikes", "bicycles"}
    assert farthing("memory", "consolidate", *at, "--execute").code == 0
    assert set(current(db, ALIKE)) == {"home", "bikes", "bicycles"}, "what people wrote stays"
    again = farthing("memory", "consolidate", *at, "--with-model")
    assert "No facts are alike that were not asked about before" in again.err
    assert "farthing facts settle bicycles --over bikes, or --beside it" in again.err
    spent = farthing("spend", "--rehearsal", "--by", "purpose", "--json", "--db", str(db)).json
    (line,) = [each for each in spent["lines"] if each["purpose"] == "consolidation"]
    assert line["calls"] == 1
    assert farthing("memory", "undo", *at).code == 0
    assert set(current(db, ALIKE)) == {"home", "place", "bikes", "bicycles"}


def test_without_a_model_the_rules_remain_and_it_is_said(
    farthing: Farthing, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FARTHING_MODEL", raising=False)
    said = farthing("memory", "consolidate", "--user", "ada", "--with-model", "--db", str(db))
    assert said.code == 0
    assert "No model is configured, so only the rules were applied." in said.err
    assert "insight would be retired" in said.err
    mixed = farthing("memory", "consolidate", "--user", "ada", "--model", "scripted", "--db", str(db))
    assert mixed.code == 2
    assert "cannot judge facts of real runs" in mixed.err


def test_undo_of_much_names_some_keys_and_counts_the_rest(farthing: Farthing, db: Path) -> None:
    async def many(record: Record) -> None:
        for number in range(30):
            write = FactWrite(key=f"mood{number:02}", value=str(number), origin="model", valid_to=PAST)
            await record.write_fact(ADA, write, PAST, lambda _written: [], run_id=None)

    with_db(db, many)
    at = ("--user", "ada", "--db", str(db))
    assert farthing("memory", "consolidate", *at, "--execute").code == 0
    said = farthing("memory", "undo", *at)
    assert "mood00" in said.err and "mood29" not in said.err
    assert said.err.rstrip().endswith("13 more.")
    assert len(current(db)) == 30 + 4


def test_a_copy_that_was_begun_is_made_whole_and_one_that_is_there_stays(db: Path) -> None:
    db.with_name(f"{db.name}.x.backup.part").write_bytes(b"half")
    copy = back_up(db, "x")
    assert current(copy) == current(db)
    add(db, "more", "of it")
    assert back_up(db, "x") == copy
    assert "more" not in current(copy)
    assert list(db.parent.glob("*.part")) == []


@pytest.mark.promise("MEM-22")
def test_a_model_over_http_judges_and_the_ledger_agrees(
    farthing: Farthing, db: Path, monkeypatch: pytest.MonkeyPatch, fake_model: FakeModel
) -> None:
    monkeypatch.setenv("FARTHING_BASE_URL", fake_model.url)
    monkeypatch.setenv("FARTHING_MODEL", "m")
    monkeypatch.setenv("FARTHING_API_KEY", "none")
    add(db, "dog", "has a dog")
    add(db, "pet", "has a terrier, a dog")
    verdict = {"pair": 1, "relation": "merge", "text": "has a dog, a terrier", "why": "one dog"}
    at = ("--user", "ada", "--db", str(db))
    fake_model.play(answer("that is one dog"), answer(json.dumps({"verdicts": [verdict]})))
    said = farthing("memory", "consolidate", *at, "--with-model")
    assert said.code == 0, said.err
    assert "dog and pet would become one, pet: has a dog, a terrier" in said.err
    spent = farthing("spend", "--by", "purpose", "--json", "--db", str(db)).json["lines"]
    assert {line["purpose"]: line["calls"] for line in spent} == {"consolidation": 1, "repair": 1}
    done = farthing("memory", "consolidate", *at, "--execute", "--json").json
    (shop,) = [shelf for shelf in done["shelves"] if shelf["namespace"] == "shop"]
    assert {change["action"] for change in shop["changes"]} == {"merge", "expire", "rewrite"}
    assert current(db)["pet"] == "has a dog, a terrier"
    shown = farthing("facts", "history", "pet", "--namespace", "shop", *at)
    assert "has a terrier, a dog" in shown.out
    farthing("memory", "undo", *at)
    assert (current(db)["pet"], current(db)["dog"]) == ("has a terrier, a dog", "has a dog")


def test_a_provider_that_fails_is_told_and_the_rules_remain(
    farthing: Farthing, db: Path, monkeypatch: pytest.MonkeyPatch, fake_model: FakeModel
) -> None:
    monkeypatch.setenv("FARTHING_BASE_URL", fake_model.url)
    monkeypatch.setenv("FARTHING_MODEL", "m")
    monkeypatch.setenv("FARTHING_API_KEY", "none")
    add(db, "dog", "has a dog")
    add(db, "pet", "has a terrier, a dog")
    fake_model.play(failure(401, {"message": "no such key"}))
    said = farthing("memory", "consolidate", "--user", "ada", "--with-model", "--db", str(db))
    assert said.code == 1
    assert "model.auth" in said.err
    assert "insight would be retired" in said.err


@pytest.mark.promise("MEM-25")
def test_contradictions_are_shown_with_the_facts_and_settled(farthing: Farthing, db: Path) -> None:
    add(db, "bikes", "has 2 bicycles in the shed", "user", ALIKE)
    add(db, "bicycles", "has 3 bicycles in the shed", "user", ALIKE)
    at = ("--user", "ada", "--rehearsal", "--db", str(db))
    farthing("memory", "consolidate", *at, "--with-model")
    farthing("memory", "consolidate", *at, "--execute")
    told = "bicycles and bikes of ada contradict each other (the same words with other numbers)"
    assert told in farthing("facts", *at).err
    assert told in farthing("facts", "history", "bikes", *at).err
    by_key = {fact["key"]: fact for fact in farthing("facts", *at, "--json").json}
    assert by_key["bikes"]["contradicts"] == [{"key": "bicycles", "why": "the same words with other numbers"}]
    assert "farthing facts settle bicycles --over bikes" in farthing("memory", "consolidate", *at).err
    assert farthing("facts", "settle", "bikes", *at).code == 2
    assert farthing("facts", "settle", "bikes", "--over", "home", *at).code == 2
    said = farthing("facts", "settle", "bikes", "--beside", "bicycles", *at)
    assert "bikes stays, and so does bicycles." in said.err
    assert "contradict" not in farthing("facts", *at).err
    farthing("memory", "undo", *at)
    assert told in farthing("facts", *at).err
    assert "bicycles is retired" in farthing("facts", "settle", "bikes", "--over", "bicycles", *at).err
    assert current(db, ALIKE) == {"bikes": "has 2 bicycles in the shed"}
    shown = farthing("events", "@admin", *at).out
    assert "bikes is right, bicycles was retired by" in shown
    assert "mark that bicycles and bikes contradict each other" in shown
    judged = farthing("events", "@maintenance", *at).out
    assert "scripted:rehearsal, " in judged and "bicycles and bikes contradict" in judged


def test_of_many_changes_the_first_are_listed_and_the_rest_counted(farthing: Farthing, db: Path) -> None:
    async def many(record: Record) -> None:
        for number in range(25):
            write = FactWrite(key=f"k{number:02}", value="old", origin="model", valid_to=PAST)
            await record.write_fact(EVE, write, PAST, lambda _w: [], run_id=None)

    with_db(db, many)
    at = ("--user", "eve", "--db", str(db))
    said = farthing("memory", "consolidate", *at)
    assert said.err.count("would be retired") == 20
    assert "and 6 more changes: --json has all of them." in said.err
    assert "--execute makes 26 changes" in said.err
    (shelf,) = farthing("memory", "consolidate", *at, "--json").json["shelves"]
    assert len(shelf["changes"]) == 26
    done = farthing("memory", "consolidate", *at, "--execute")
    assert done.err.count("was retired") == 20
    assert "and 6 more changes" in done.err
