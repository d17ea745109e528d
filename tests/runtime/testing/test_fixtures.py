"""The fixtures: one store and clock a test, for plain functions and for coroutines."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from runtime.testing import KEEP, Bench, VirtualClock, assert_spend
from runtime.testing_pytest import (
    KeptTimeline,
    RunFlow,
    bench,
    farthing_home,
    kept_timeline,
    run_flow,
    virtual_clock,
)  # fmt: skip
from tests.flows import agent_flow, calls, says

__all__ = ["bench", "farthing_home", "kept_timeline", "run_flow", "virtual_clock"]
TELLS = [calls("memory_write", {"key": "name", "value": "Ada", "ttl": 60}), says("Noted.")]


def test_runs_of_one_test_share_a_session(run_flow: RunFlow) -> None:
    run_flow(agent_flow(memory={}), "I am Ada.", script=TELLS, strict=True)
    again = run_flow(agent_flow(memory={}), "Who am I?", script=[says("Ada.", 7)], strict=True)
    assert again.text == "Ada."
    sent = [message.content for message in again.requests[0].messages]
    assert "I am Ada." in sent
    assert "Ada" in str(sent[0])
    assert_spend(again, calls=1, tokens=7)


def test_clock_of_a_test_is_its_runs_clock(run_flow: RunFlow, virtual_clock: VirtualClock) -> None:
    first = run_flow(agent_flow(memory={}), "I am Ada.", script=TELLS, strict=True)
    virtual_clock.advance(3_600)
    again = run_flow(agent_flow(memory={}), "Who am I?", script=[says("Nobody.")], strict=True)
    assert again.events[0].at - first.events[0].at >= timedelta(hours=1)
    roles = [message.role for message in again.requests[0].messages]
    assert roles[0] == "user", "the only fact has expired, so that there is no system text"


async def test_bench_serves_coroutines(bench: Bench) -> None:
    await bench.run(agent_flow(memory={}), "I am Ada.", script=TELLS, strict=True)
    again = await bench.run(agent_flow(memory={}), "Who am I?", script=[says("Ada.")], strict=True)
    assert len(again.requests[0].messages) > 2


def test_next_test_starts_with_nothing(run_flow: RunFlow) -> None:
    ran = run_flow(agent_flow(memory={}), "Who am I?", script=[says("Nobody.")], strict=True)
    assert len(ran.requests[0].messages) == 1


def test_timeline_is_kept_beside_the_test(
    run_flow: RunFlow, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request.node, "path", tmp_path / "test_mine.py")
    compare: KeptTimeline = request.getfixturevalue("kept_timeline")
    ran = run_flow(agent_flow(), "Hello", script=[says("Fine.")], strict=True)
    with pytest.raises(AssertionError, match=KEEP):
        compare(ran)
    compare(ran, keep=True)
    compare(ran, "second", keep=True)
    compare(ran)
    names = sorted(path.name for path in (tmp_path / "timelines").iterdir())
    assert names == [
        "test_mine-test_timeline_is_kept_beside_the_test-second.json",
        "test_mine-test_timeline_is_kept_beside_the_test.json",
    ]


def test_home_is_for_the_test_alone(farthing_home: Path) -> None:
    import os

    from runtime.settings import load_settings

    settings = load_settings(os.environ, folder=None)
    assert settings.path == farthing_home / "config.toml"
    assert settings.db == farthing_home / "farthing.db"
    assert settings.resolve_model().provider.name == "scripted"
