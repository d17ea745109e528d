"""Opening a database: what is made, what is refused, and that nothing there is harmed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.clock import VirtualClock
from runtime.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreNewer, StoreReadOnly
from runtime.store.migrations import APPLICATION_ID, VERSION
from runtime.store.sqlite.record import SqliteRecord
from tests.runtime.store.support import START, Scene, open_scene


async def open_path(path: Path, *, busy_ms: int = 10_000) -> SqliteRecord:
    record = SqliteRecord(path, VirtualClock(START), busy_ms=busy_ms)
    await record.open()
    return record


@pytest.mark.promise("STO-6")
async def test_the_folder_and_its_files_are_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "farthing.db"
    old = os.umask(0)
    try:
        scene = await open_scene(path)
        await scene.claim()
        await scene.call("k")
        await scene.finish()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {"farthing.db", "farthing.db-wal", "farthing.db-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    await scene.record.close()
    assert [file.name for file in path.parent.iterdir()] == ["farthing.db"]


async def test_a_database_that_others_may_read_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await (await open_path(path)).close()
    path.chmod(0o664)
    await (await open_path(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_database_says_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await (await open_path(path)).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


async def refuse(path: Path, error: type[StoreError], *words: str) -> None:
    """Opening is refused in one sentence with a remedy, and the file is as it was."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error) as caught:
        await open_path(path, busy_ms=50)
    assert caught.value.remedy
    assert str(path) in caught.value.message
    for word in words:
        assert word in caught.value.message
    if before is not None:
        assert path.read_bytes() == before


def alter(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    path.write_bytes(b"once upon a time " * 500)
    await refuse(path, StoreCorrupt)


@pytest.mark.promise("STO-5")
async def test_a_torn_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    scene = await open_scene(path)
    await scene.claim()
    await scene.record.close()
    path.write_bytes(path.read_bytes()[:5000] + b"\xff" * 30_000)
    await refuse(path, StoreCorrupt)


@pytest.mark.promise("STO-5")
async def test_a_database_damaged_anywhere_is_told_as_such(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    scene = await open_scene(whole)
    claimed = await scene.claim()
    await scene.call("k")
    await scene.finish()
    await scene.record.close()
    sound = whole.read_bytes()
    refused = 0
    for at in range(4096, len(sound), 4096):
        path = tmp_path / f"{at}.db"
        path.write_bytes(sound[:at] + b"\xff" * 4096 + sound[at + 4096 :])
        try:
            record = await open_path(path)
            try:
                await record.events_json(claimed.session_uid)
            finally:
                await record.close()
        except StoreError as error:
            assert error.remedy
            refused += 1
    assert refused > 3


@pytest.mark.promise("STO-5")
async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    alter(path, "CREATE TABLE diary (page TEXT)")
    await refuse(path, StoreCorrupt, "another program")
    marked = tmp_path / "marked.db"
    alter(marked, "PRAGMA application_id = 7")
    await refuse(marked, StoreCorrupt, "another program")


@pytest.mark.promise("STO-5")
async def test_a_newer_database_is_refused_with_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    await (await open_path(path)).close()
    alter(path, f"PRAGMA user_version = {VERSION + 3}")
    await refuse(path, StoreNewer, str(VERSION + 3), f"up to {VERSION}")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER spy AFTER INSERT ON event BEGIN DELETE FROM ledger; END",
        "CREATE VIEW spy AS SELECT * FROM fact",
    ],
)
async def test_triggers_and_views_are_refused(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "farthing.db"
    await (await open_path(path)).close()
    alter(path, statement)
    await refuse(path, StoreCorrupt, "spy")


async def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    path.mkdir()
    await refuse(path, StoreCorrupt, "folder")


async def test_a_place_that_cannot_be_written_is_refused() -> None:
    await refuse(Path("/proc/farthing/farthing.db"), StoreReadOnly)
    await refuse(Path("/dev/null/farthing.db"), StoreReadOnly)


READ_ONLY = """
import asyncio, os, sys
from pathlib import Path
from runtime.clock import SystemClock
from runtime.errors import StoreReadOnly
from runtime.store.opening import open_record
from runtime.store.sqlite.record import SqliteRecord
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
for path in map(Path, sys.argv[1:]):
    try:
        asyncio.run(open_record(path, SystemClock()).open())
    except StoreReadOnly as error:
        assert error.remedy and str(path) in error.message
        print("refused")
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach too, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.promise("STO-5")
async def test_a_read_only_file_or_folder_is_refused_and_kept(open_folder: Path) -> None:
    file = open_folder / "file" / "farthing.db"
    await (await open_path(file)).close()
    file.chmod(0o444)
    file.parent.chmod(0o555)
    before = file.read_bytes()
    missing = open_folder / "empty" / "farthing.db"
    missing.parent.mkdir(mode=0o555)
    hidden = open_folder / "hidden" / "farthing.db"
    hidden.parent.mkdir(mode=0o000)
    arguments = [sys.executable, "-c", READ_ONLY, *map(str, (file, missing, hidden))]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    for folder in (file.parent, missing.parent, hidden.parent):
        folder.chmod(0o755)
    assert done.stdout.split() == ["refused"] * 3, done.stderr
    assert file.read_bytes() == before


@pytest.mark.promise("STO-5")
async def test_a_full_disk_fails_the_verb_and_keeps_what_was_there(tmp_path: Path) -> None:
    record = await open_path(tmp_path / "farthing.db")
    scene = Scene(record, VirtualClock(START))
    await scene.claim()

    def bound(rows: object, most: int | None = None) -> int:
        connection = rows.connection  # type: ignore[attr-defined]
        (now,) = connection.execute("PRAGMA page_count").fetchone()
        (got,) = connection.execute(f"PRAGMA max_page_count = {most or now}").fetchone()
        return int(got)

    await record._do(bound)
    names = ["x" * 4000] * 40
    with pytest.raises(StoreFull) as caught:
        await scene.say("run-1", *names)
    assert caught.value.remedy
    results = await asyncio.gather(
        scene.say("run-1", *names), scene.say("run-1", "small"), return_exceptions=True
    )
    assert isinstance(results[0], StoreFull)
    assert isinstance(results[1], tuple), "a verb that fits must not suffer from one that does not"
    await record._do(lambda rows: bound(rows, 100_000))
    await scene.say("run-1", *names)
    assert [event["seq"] for event in await scene.events()] == list(range(1, 44))
    await record.close()


async def test_busy_for_too_long_is_said(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    record = await open_path(path, busy_ms=50)
    scene = Scene(record, VirtualClock(START))
    await scene.claim()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        await scene.say("run-1", "a")
    with pytest.raises(StoreBusy):
        await open_path(path, busy_ms=50)
    started = asyncio.get_running_loop().time()
    many = await asyncio.gather(*(scene.say("run-1", "a") for _ in range(100)), return_exceptions=True)
    assert all(isinstance(answer, StoreBusy) for answer in many)
    assert asyncio.get_running_loop().time() - started < 3, "a hundred verbs wait together, not in turn"
    other.execute("ROLLBACK")
    other.close()
    (entry,) = await scene.say("run-1", "b")
    assert entry.seq == 3
    await record.close()


async def test_a_record_that_is_not_open_says_so(tmp_path: Path) -> None:
    for path in (None, tmp_path / "farthing.db"):
        scene = await open_scene(path)
        await scene.record.close()
        await scene.record.close()
        with pytest.raises(StoreError, match="not open"):
            await scene.claim()
        with pytest.raises(StoreError):
            await scene.record.write_fact(None, None, START, None, run_id=None)  # type: ignore[arg-type]
