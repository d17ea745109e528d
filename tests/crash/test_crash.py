"""Whatever becomes of the processes, budgets, ledger and timelines stay true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.world import experiment


@pytest.mark.promise("BUD-8", "RUN-3", "RUN-10", "EVT-2", "LED-4")
@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), [(201, 4), (202, 2)])
async def test_the_laws_hold_whatever_becomes_of_the_processes(tmp_path: Path, seed: int, count: int) -> None:
    """Killed, ended, cancelled, raised, over the end of a day, a week, a month and a year at once."""
    seen = await experiment(tmp_path, seed, count, runs=10)
    assert seen["row settle settled"] > 0
    assert seen["killed"] + seen["ended"] + seen["asked to cancel"] + seen["raise"] > 0
