"""The migrated schema is the one that `tables.py` documents, and a run never imports it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine
from sqlmodel import SQLModel

import runtime.store.tables as tables
from runtime.store.migrations import STEPS, migrate


def shape(connection: sqlite3.Connection) -> dict[str, Any]:
    """Columns, keys, indexes of every table, in one comparable form."""
    found: dict[str, Any] = {}
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    for (table,) in names:
        if table.startswith("sqlite_"):
            continue
        columns = [
            (name, _type(kind), bool(notnull), key)
            for _, name, kind, notnull, _, key in connection.execute(f"PRAGMA table_info('{table}')")
        ]
        foreign = sorted(
            (row[3], row[2], row[4]) for row in connection.execute(f"PRAGMA foreign_key_list('{table}')")
        )
        (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        found[table] = {
            "columns": columns,
            "foreign": foreign,
            "rowid": "WITHOUT ROWID" not in sql,
            "autoincrement": "AUTOINCREMENT" in sql,
            "indexes": sorted(_indexes(connection, table)),
        }
    return found


def _type(kind: str) -> str:
    """SQLAlchemy's names for what SQLite stores as these."""
    return {"VARCHAR": "TEXT", "BIGINT": "INTEGER", "FLOAT": "REAL"}.get(kind, kind)


def _indexes(connection: sqlite3.Connection, table: str) -> Iterator[tuple[str, bool, tuple[str, ...], str]]:
    for _, name, unique, origin, partial in connection.execute(f"PRAGMA index_list('{table}')").fetchall():
        if origin == "c":
            columns = tuple(row[2] for row in connection.execute(f"PRAGMA index_info('{name}')"))
            (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
            where = " ".join(sql.split("WHERE", 1)[1].split()) if partial else ""
            yield name, bool(unique), columns, where


def test_the_migrated_schema_is_the_documented_one(tmp_path: Path) -> None:
    migrated = sqlite3.connect(tmp_path / "migrated.db", isolation_level=None)
    migrate(migrated, "migrated.db")
    engine = create_engine(f"sqlite:///{tmp_path / 'documented.db'}")
    ours = [cls.__table__ for cls in vars(tables).values() if hasattr(cls, "__table__")]
    with engine.begin() as connection:
        assert isinstance(connection, Connection)
        SQLModel.metadata.create_all(connection, tables=ours)
    engine.dispose()
    documented = sqlite3.connect(tmp_path / "documented.db")
    expected, got = shape(documented), shape(migrated)
    assert got.keys() == expected.keys()
    for table in expected:
        assert got[table] == expected[table], table
    migrated.close()
    documented.close()


def test_every_table_says_what_it_is() -> None:
    documented = [cls for cls in vars(tables).values() if hasattr(cls, "__table__")]
    assert documented
    for cls in documented:
        assert cls.__doc__


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (done TEXT)")
        raise LookupError("in the middle")

    monkeypatch.setattr("runtime.store.migrations.STEPS", (*STEPS, broken))
    connection = sqlite3.connect(tmp_path / "farthing.db", isolation_level=None)
    with pytest.raises(LookupError):
        migrate(connection, "farthing.db")
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    connection.close()


HEADLESS = """
import asyncio, sys
from pathlib import Path
from runtime.facts import Shelf
from tests.runtime.store.support import open_scene, rule, turn

ANN = Shelf("real", "flow", "user", "ann")

async def main(path, run_id):
    scene = await open_scene(path)
    claimed = await scene.claim(run_id)
    await scene.call("k", rule(), cost=5, run_id=run_id)
    await scene.write(ANN, "k", 1, run_id=run_id)
    await scene.finish(run_id, turns=[turn("a", "b")])
    await scene.record.facts(ANN)
    await scene.record.history(claimed.session_uid, "agent")
    await scene.record.events_json(claimed.session_uid)
    await scene.record.close()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
print(sorted({"sqlmodel", "sqlalchemy", "pydantic", "openai", "networkx", "starlette"} & set(sys.modules)))
"""


def test_a_headless_run_imports_nothing_heavy(tmp_path: Path) -> None:
    for run_id in ("run-1", "run-2"):  # on a new database and on an existing one
        arguments = [sys.executable, "-c", HEADLESS, str(tmp_path / "farthing.db"), run_id]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "[]", done.stderr
