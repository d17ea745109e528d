"""pytest fixtures for flows: `pytest_plugins = ["runtime.testing_pytest"]` in your conftest.py.

Nothing loads them by itself. Tests that are plain functions call `run_flow(...)`; coroutines `await
bench.run(...)`. Both share one store, one clock and the sessions in it for the length of a test.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.testing import Bench, Flow, Ran, VirtualClock, assert_timeline

RunFlow = Callable[..., Ran]
KeptTimeline = Callable[..., None]


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock of `bench` and `run_flow`: it begins on 5 January 2026, a Monday, at 09:00 UTC, and pauses
    take no time. `virtual_clock.advance(seconds)` lets time pass, `virtual_clock.set(datetime)` jumps."""
    return VirtualClock()


@pytest.fixture
def bench(virtual_clock: VirtualClock) -> Bench:
    """A place to run flows, with a store in memory that lasts for the test: `ran = await bench.run(…)`."""
    return Bench(clock=virtual_clock)


@pytest.fixture
def run_flow(bench: Bench) -> Iterator[RunFlow]:
    """Runs a flow to its end and gives what happened: `ran = run_flow("flows/hello.json", "Hi")`.

    It takes what `Bench.run` takes. For tests that are no coroutines.
    """
    with asyncio.Runner() as runner:

        def run(flow: Flow, input: Any = None, **how: Any) -> Ran:  # noqa: A002
            return runner.run(bench.run(flow, input, **how))

        yield run


@pytest.fixture
def kept_timeline(request: pytest.FixtureRequest) -> KeptTimeline:
    """Compares a run with the timeline that is kept for this test: `kept_timeline(ran)`.

    It lies in `timelines/` beside the test's file, under the test's name; `kept_timeline(ran, "second")` adds
    to the name. `FARTHING_KEEP_TIMELINES=1 pytest` keeps today's.
    """
    folder = Path(str(request.node.path)).parent / "timelines"
    test = f"{Path(str(request.node.path)).stem}-{request.node.name}"

    def compare(ran: Ran, name: str = "", *, keep: bool | None = None) -> None:
        file = re.sub(r"[^\w.-]+", "-", f"{test}-{name}" if name else test).strip("-")
        assert_timeline(ran, folder / f"{file}.json", keep=keep)

    return compare


@pytest.fixture
def farthing_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings and database of its own for every `farthing` that the test starts, as a process or not: no
    settings, no data and no endpoint of the machine's user show through. Gives the folder of both."""
    home = tmp_path / "farthing"
    for name in ("FARTHING_MODEL", "FARTHING_BASE_URL", "FARTHING_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    home.mkdir(mode=0o700)
    (home / "config.toml").touch(0o600)
    monkeypatch.setenv("FARTHING_CONFIG", str(home / "config.toml"))
    monkeypatch.setenv("FARTHING_DB", str(home / "farthing.db"))
    return home
