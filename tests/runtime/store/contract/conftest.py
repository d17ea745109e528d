"""Every test here runs on each store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.clock import SystemClock
from tests.runtime.store.support import Scene, open_scene


@pytest.fixture(params=["memory", "sqlite"])
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    """A store on a virtual clock, or on the real one where a test asks for `real_time`."""
    path = None if request.param == "memory" else tmp_path / "data" / "farthing.db"
    stage = await open_scene(path, SystemClock() if "real_time" in request.fixturenames else None)
    yield stage
    await stage.record.close()


@pytest.fixture
def real_time() -> None:
    """Asked for by tests in which calls wait for each other."""
