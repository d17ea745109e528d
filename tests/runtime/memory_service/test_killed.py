"""Consolidation that is killed at any write or moment goes on: nothing is lost, nothing doubled."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.facts import FactWrite, Shelf
from runtime.memory_service.consolidated import Past, past
from runtime.record import LedgerFilter, Record
from tests.runtime.store.support import with_db

SHELVES = tuple(Shelf("rehearsal", name, "user", "ada") for name in ("bank", "shop"))
LONG_AGO = datetime.now(UTC) - timedelta(days=30)
OVER = LONG_AGO + timedelta(days=1)
FACTS: tuple[dict[str, Any], ...] = (
    {"key": "home", "value": "lives in Ghent", "origin": "user"},
    {"key": "place", "value": "lives in Ghent near the canal", "origin": "derived"},
    {"key": "bikes", "value": "has 2 bicycles in the shed", "origin": "user"},
    {"key": "bicycles", "value": "has 3 bicycles in the shed", "origin": "model"},
    {"key": "note", "value": "in a hurry", "origin": "model", "valid_to": OVER},
    {"key": "pet", "value": "has a dog called Rex", "origin": "model"},
    {"key": "dog", "value": "has a dog called Rex", "origin": "derived"},
)
SCRIPT = Path(sys.executable).with_name("farthing")


async def fill(record: Record) -> None:
    for shelf in SHELVES:
        for write in FACTS:
            await record.write_fact(shelf, FactWrite(**write), LONG_AGO, lambda _written: [], run_id=None)


async def state(record: Record) -> Any:
    """Every version of every fact, and every change that an event says was made."""
    facts = [
        (shelf.namespace, fact.key, fact.version, fact.state, fact.value, fact.origin)
        for shelf in SHELVES
        for fact in await record.fact_versions(shelf)
    ]
    before: Past = await past(record, "rehearsal", "ada")
    changes = sorted(
        (shelf.namespace, mark.key, mark.by or "") for shelf in SHELVES for mark in before.marks(shelf)
    )
    parts = sorted((event.namespace, event.keys) for event in before.last_batch())
    return facts, changes, parts


async def calls(record: Record) -> int:
    rows = await record.ledger(LedgerFilter("rehearsal", purpose="consolidation", kinds=("settle",)))
    return len(rows)


def child(path: Path, what: str, when: str = "before", number: int = 0) -> int:
    command = [
        sys.executable,
        "-m",
        "tests.runtime.memory_service.killed",
        str(path),
        what,
        when,
        str(number),
    ]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "filled.db"
    with_db(path, fill)
    return path


def killed_everywhere(begun: Path, what: str, whole: Any, asked: int) -> int:
    """Kill a process at its writes in turn, before and after; each time another one must end as an unkilled
    one does. How many points there were."""
    for number in range(1, 1000):
        path = begun.with_name(f"{what}-{number}.db")
        shutil.copy(begun, path)
        when = "before" if number % 2 else "after"  # after one is before the next: the file is the same
        code = child(path, what, when, number)
        if code == 0:
            return number - 1
        assert code == -signal.SIGKILL
        assert child(path, what) in ((0,) if what == "consolidate" else (0, 1)), number
        assert with_db(path, state) == whole, number
        assert with_db(path, calls) <= asked + 1, "at most the question in flight is asked again"
    raise AssertionError("it never came to its end")


@pytest.mark.slow
@pytest.mark.promise("MEM-23")
def test_killed_at_any_write_it_goes_on_to_the_same_end(filled: Path) -> None:
    whole = filled.with_name("whole.db")
    shutil.copy(filled, whole)
    assert child(whole, "consolidate") == 0
    end, asked = with_db(whole, state), with_db(whole, calls)
    assert len(end[2]) == len(SHELVES), "every shelf changed"
    assert end[1], "contradictions were marked"
    assert asked == len(SHELVES)
    points = killed_everywhere(filled, "consolidate", end, asked)
    assert points >= 4 * len(SHELVES)


@pytest.mark.slow
@pytest.mark.promise("MEM-23")
def test_an_undo_that_is_killed_goes_on_too(filled: Path) -> None:
    assert child(filled, "consolidate") == 0
    asked = with_db(filled, calls)
    whole = filled.with_name("whole.db")
    shutil.copy(filled, whole)
    assert child(whole, "undo") == 0
    end = with_db(whole, state)
    assert end[1:] == ([], [])
    assert killed_everywhere(filled, "undo", end, asked) == len(SHELVES)


@pytest.mark.slow
@pytest.mark.promise("MEM-23")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_command_killed_at_any_moment_goes_on_to_the_same_end(filled: Path, seed: int) -> None:
    chance = random.Random(seed)
    at = ["--user", "ada", "--rehearsal", "--db"]
    environment = os.environ | {"FARTHING_CONFIG": os.devnull}
    orders = [["--with-model"], ["--execute"]]

    def run(path: Path, order: list[str], life_s: float | None) -> int:
        command = [str(SCRIPT), "memory", "consolidate", *at, str(path), *order]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if life_s is not None:
            time.sleep(life_s)
            process.kill()
        return process.wait(60)

    whole = filled.with_name("whole.db")
    shutil.copy(filled, whole)
    began = time.monotonic()
    assert [run(whole, order, None) for order in orders] == [0, 0]
    usual_s = (time.monotonic() - began) / 2
    for order in orders:
        for _ in range(4):
            run(filled, order, chance.uniform(0.3, 1.0) * usual_s)
        assert run(filled, order, None) == 0
    assert with_db(filled, state) == with_db(whole, state)
