"""After an erasure no stale byte is left in the file, and what cannot be swept is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from runtime.events import MemoryErased
from runtime.facts import Erase, Erased, Shelf
from runtime.store.sqlite.sweeping import CHUNK, Swept, found_in, sweep
from tests.runtime.store.support import Scene, open_scene

ANN = Shelf("real", "flow", "user", "ann")
BOB = ANN._replace(owner="bob")
TEXT = "UNIQUE-MARKER-0193"


async def erase(scene: Scene) -> Erased:
    def said(erased: Erased) -> list[MemoryErased]:
        return [
            MemoryErased(
                at=scene.at, namespace="flow", scope="user", keys=erased.keys, receipt=erased.receipt
            )
        ]

    wish = Erase(keys=("k",), receipt="R", at=scene.at)
    erased, _ = await scene.record.erase_facts(ANN, wish, said)
    return erased


def test_stale_bytes_are_swept_by_writing_the_file_anew(tmp_path: Path) -> None:
    """A file whose freed pages keep what was in them, as without `secure_delete`."""
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a TEXT)")
    connection.executemany("INSERT INTO t VALUES (?)", [(f"{TEXT} {number}",) for number in range(500)])
    connection.execute("DELETE FROM t WHERE rowid > 3")
    connection.execute("UPDATE t SET a = 'gone'")
    connection.close()
    assert found_in(path, [TEXT.encode()])
    assert sweep(path, [TEXT.encode()], 1000) == Swept(done=True, remains=False)
    assert not found_in(path, [TEXT.encode()])
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*), min(a) FROM t").fetchone() == (3, "gone")
    connection.close()


@pytest.mark.promise("MEM-10")
async def test_what_others_have_stays_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "farthing.db"
    scene = await open_scene(path)
    await scene.write(ANN, "k", TEXT)
    await scene.write(BOB, "k", TEXT)
    erased = await erase(scene)
    assert (erased.swept, erased.remains) == (True, True)
    assert await scene.current(BOB) == {"k": TEXT}
    await scene.write(ANN, "k", "new and different")
    assert await scene.current(ANN) == {"k": "new and different"}
    await scene.record.close()


async def test_a_reader_of_another_program_is_told_and_the_value_is_gone_all_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "farthing.db"
    scene = await open_scene(path)
    await scene.write(ANN, "k", TEXT)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM fact").fetchall()
    scene.record._busy_ms = 50  # type: ignore[attr-defined]
    erased = await erase(scene)
    assert erased.swept is False
    assert await scene.current(ANN) == {}
    reader.close()
    assert sweep(path, [TEXT.encode()], 1000) == Swept(done=True, remains=False)
    await scene.record.close()


def test_bytes_are_found_across_the_pieces_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * (CHUNK - 7) + TEXT.encode() + b"x" * 100)
    assert found_in(path, [TEXT.encode(), b"other"])
    assert not found_in(path, [b"other"])
    assert not found_in(path, [])
    assert not found_in(tmp_path / "none", [b"x"])
