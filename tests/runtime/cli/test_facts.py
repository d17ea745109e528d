"""Facts governed from the command line: undo, settle, erase, move, export, import, as-of."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.clock import SystemClock
from runtime.facts import FactWrite, Shelf
from runtime.settings import load_settings
from runtime.store.opening import open_record
from tests.runtime.cli.conftest import Farthing, Said

Write = Callable[..., str]
ADA = ("--user", "ada", "--namespace", "shop")


@pytest.fixture
def facts(farthing: Farthing) -> Farthing:
    """`farthing facts …` for Ada, who has a city and a phone."""

    def call(*args: str, **more: str) -> Said:
        return farthing("facts", *args, *ADA, **more)

    assert call("set", "city", "Ghent").code == 0
    assert call("set", "city", "Antwerp").code == 0
    assert call("set", "phone", "+32 555 0100").code == 0
    return call


def values(said: Said) -> dict[str, object]:
    return {each["key"]: each["value"] for each in said.json}


def test_undo_goes_back_and_history_says_who(facts: Farthing) -> None:
    said = facts("undo", "city", "--actor", "Mia")
    assert (said.code, said.err) == (0, "city: Ghent (version 3)\n")
    assert values(facts("list", "--json"))["city"] == "Ghent"
    assert "Mia, from version 1" in facts("history", "city").out
    assert facts("undo", "city").code == 2


def test_undo_lifts_a_forgetting_never_an_erasing(facts: Farthing) -> None:
    facts("forget", "phone")
    assert facts("undo", "phone").code == 0
    assert values(facts("list", "--json"))["phone"] == "+32 555 0100"
    assert facts("erase", "phone", "--yes").code == 0
    said = facts("undo", "phone")
    assert said.code == 2
    assert "erased" in said.err


def test_settle_decides_a_conflict(facts: Farthing, farthing: Farthing) -> None:
    import asyncio

    async def tool_says() -> None:
        import os

        clock = SystemClock()
        record = open_record(load_settings(os.environ, folder=None).db, clock)
        await record.open()
        write = FactWrite(key="city", value="Liège", origin="tainted")
        shelf = Shelf("real", "shop", "user", "ada")
        written, _ = await record.write_fact(shelf, write, clock.now(), lambda _: [], run_id=None)
        assert written.outcome == "conflict"
        await record.close()

    asyncio.run(tool_says())
    assert values(facts("list", "--json"))["city"] == "Antwerp"
    assert "conflict" in facts("history", "city").out
    assert facts("settle", "city", "--keep", "9").code == 2
    assert facts("settle", "city", "--keep", "3").code == 0
    assert values(facts("list", "--json"))["city"] == "Liège"
    assert facts("settle", "city", "--keep", "4").code == 2


def test_list_as_of_shows_what_was(facts: Farthing) -> None:
    first, second = facts("history", "city", "--json").json
    assert values(facts("list", "--json", "--as-of", first["recorded_at"])) == {"city": "Ghent"}
    assert values(facts("list", "--json", "--as-of", second["recorded_at"])) == {"city": "Antwerp"}
    assert facts("list", "--as-of", "2020-01-01").err == "No facts.\n"


@pytest.mark.promise("MEM-10")
def test_erase_shows_first_and_leaves_nothing_but_a_receipt(
    farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    phone = "+32-555-0142"
    flow = write_flow(
        {
            "if": "phone",
            "tool_calls": [{"name": "memory_write", "arguments": {"key": "phone", "value": phone}}],
        },
        {"text": f"Noted: {phone}."},
    )
    db = ("--db", str(folder / "f.db"))
    run = farthing("run", flow, f"My phone is {phone}", "--session", "s", "--user", "ada", *db)
    assert run.code == 0, run.err
    where = ("phone", "--user", "ada", "--rehearsal", *db)
    shown = farthing("facts", "erase", *where)
    assert shown.code == 0
    assert "events on timelines" in shown.out
    assert "Nothing was changed" in shown.err
    assert phone in farthing("events", "s", "--json", *db).out
    said = farthing("facts", "erase", *where, "--yes", "--receipt", "r.json", "--actor", "Mia", "--json")
    assert said.code == 0, said.err
    receipt = json.loads((folder / "r.json").read_text("utf-8"))
    assert receipt == said.json
    assert receipt["erased"] and receipt["actor"] == "Mia" and receipt["keys"] == ["phone"]
    assert {"events", "turns", "inputs", "outputs", "calls", "facts"} <= receipt["reached"].keys()
    assert any("backups" in each for each in receipt["not_reached"])
    assert (folder / "r.json").stat().st_mode & 0o077 == 0
    for path in folder.glob("f.db*"):
        assert phone.encode() not in path.read_bytes()
    timeline = farthing("events", "s", "--json", *db).out
    assert receipt["receipt"] in timeline
    assert farthing("events", "s", *db).code == 0
    events = farthing("events", "@admin", "--user", "ada", "--rehearsal", "--json", *db).out.splitlines()
    (event,) = [each for each in map(json.loads, events) if each["type"] == "memory.erased"]
    assert (event["receipt"], event["actor"]) == (receipt["receipt"], "Mia")


def test_erase_writes_over_no_file(facts: Farthing, folder: Path) -> None:
    (folder / "r.json").write_text("mine", "utf-8")
    assert facts("erase", "phone", "--yes", "--receipt", "r.json").code == 2
    assert values(facts("list", "--json"))["phone"] == "+32 555 0100"


def test_erase_of_nothing_is_told(facts: Farthing) -> None:
    said = facts("erase", "none", "--yes")
    assert (said.code, said.out) == (2, "")


def test_move_takes_facts_to_another_place(facts: Farthing, farthing: Farthing) -> None:
    assert facts("move", "city").code == 2
    assert facts("move", "--to-user", "eve").code == 2
    assert facts("move", "city", "--to-user", "eve", "--to-namespace", "club").code == 0
    assert values(farthing("facts", "--user", "eve", "--namespace", "club", "--json")) == {"city": "Antwerp"}
    assert list(values(facts("list", "--json"))) == ["phone"]
    facts("set", "city", "Namur")
    said = facts("move", "--all", "--to-user", "eve", "--to-namespace", "club")
    assert said.code == 2
    assert "'city'" in said.err
    assert sorted(values(facts("list", "--json"))) == ["city", "phone"]


def test_export_and_import_give_the_same_facts(facts: Farthing, farthing: Farthing, folder: Path) -> None:
    said = facts("export", "--to", "ada.jsonl")
    assert said.code == 0
    assert (folder / "ada.jsonl").read_text("utf-8") == facts("export").out
    assert facts("export", "--to", "ada.jsonl").code == 2
    assert farthing("facts", "import", "ada.jsonl").err.startswith("0 added, 2 there already")
    assert farthing("facts", "import", "ada.jsonl", "--as-user", "eve").err.startswith("2 added")
    eve = ("--user", "eve", "--namespace", "shop", "--json")
    ours = [{**each, "owner": ""} for each in facts("history", "city", "--json").json]
    assert [{**each, "owner": ""} for each in farthing("facts", "history", "city", *eve).json] == ours


def test_import_with_a_conflict_reads_nothing(facts: Farthing, farthing: Farthing, folder: Path) -> None:
    facts("export", "--to", "ada.jsonl")
    farthing("facts", "set", "city", "Mons", "--user", "eve", "--namespace", "shop")
    eve = ("facts", "--user", "eve", "--namespace", "shop", "--json")
    said = farthing("facts", "import", "ada.jsonl", "--as-user", "eve")
    assert said.code == 2
    assert "city of eve" in said.err
    assert values(farthing(*eve)) == {"city": "Mons"}
    assert farthing("facts", "import", "ada.jsonl", "--as-user", "eve", "--keep-ours").code == 0
    assert values(farthing(*eve)) == {"city": "Mons", "phone": "+32 555 0100"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda fact: fact | {"value": "sk-proj-" + "a1B2c3D4" * 6}, "credential"),
        (lambda fact: fact | {"key": "__plan"}, "__"),
        (lambda fact: fact | {"value": "x" * 1_000_001}, "bytes"),
        (lambda fact: fact | {"confidence": 7}, "confidence"),
        (lambda fact: fact | {"recorded_at": "2026-01-01T00:00:00"}, "zone"),
        (lambda fact: fact | {"colour": "red"}, None),
        (lambda fact: fact | {"state": "odd"}, "state"),
        (lambda fact: {}, "key"),
    ],
)
def test_import_refuses_what_may_not_be_kept(
    change: Callable[[dict[str, object]], dict[str, object]],
    told: str | None,
    facts: Farthing,
    farthing: Farthing,
    folder: Path,
) -> None:
    lines = facts("export").out.splitlines()
    bad = json.loads(lines[-1])
    bad["versions"] = [change(bad["versions"][0])]
    (folder / "bad.jsonl").write_text("\n".join([*lines[:-1], json.dumps(bad)]), "utf-8")
    said = farthing("facts", "import", "bad.jsonl", "--as-user", "eve")
    if told is None:  # a field of a later version is none of ours
        assert said.code == 0
        return
    assert said.code == 2
    assert "Line 3" in said.err and told in said.err
    assert farthing("facts", "--user", "eve", "--json").json == []


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"format":"other/1"}', "\xff"])
def test_import_of_another_file_is_told(text: str, farthing: Farthing, folder: Path) -> None:
    (folder / "odd.jsonl").write_bytes(text.encode("latin-1"))
    said = farthing("facts", "import", "odd.jsonl")
    assert said.code == 2
    assert "no export of facts" in said.err
    assert farthing("facts", "import", "missing.jsonl").code == 2


def test_import_needs_the_session_to_be_here(facts: Farthing, farthing: Farthing, folder: Path) -> None:
    facts("export", "--to", "a.jsonl")
    text = (folder / "a.jsonl").read_text("utf-8").replace('"scope":"user"', '"scope":"session"')
    (folder / "a.jsonl").write_text(text, "utf-8")
    assert farthing("facts", "import", "a.jsonl").code == 2
    assert farthing("facts", "import", "a.jsonl", "--as-user", "eve").code == 0


def test_a_database_that_was_erased_from_is_sound(facts: Farthing, folder: Path) -> None:
    import os

    facts("erase", "phone", "--yes")
    path = load_settings(os.environ, folder=None).db
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
