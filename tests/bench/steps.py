"""An agent's step, against the floor: with history, with many sessions at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.bench.floor import Floor, conversation
from tests.bench.measure import Figure, Work, in_turns, ratio
from tests.bench.ours import Ours

ROUNDS = 9
STEPS = 11
SESSIONS = 50


async def figures(folder: Path) -> list[Figure]:
    """Steps at 1, 20 and 100 turns; 50 sessions at once."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fake_model", "--play", "tool"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    ours, floor = await Ours.open(folder, url), Floor(url, folder / "floor.db")
    try:
        return [*await _steps(ours, floor), *await _sessions(ours, floor)]
    finally:
        await ours.close()
        await floor.close()
        server.terminate()
        server.wait()


def _run(ours: Ours, steps: int, session: str) -> Work:
    raw = ours.agent(steps)

    async def work() -> None:
        outcome = await ours.run(raw, session)
        assert outcome.error is not None, "the agent is to run into its bound"
        assert outcome.error.code == "agent.max_iterations", outcome.error

    return work


async def _steps(ours: Ours, floor: Floor) -> list[Figure]:
    per_step: dict[int, list[float]] = {}
    floors: list[float] = []
    whole: list[float] = []
    for turns in (1, 20, 100):
        session = await ours.session_of(turns, f"s{turns}")
        messages = conversation(turns)
        many, one, base = await in_turns(
            ROUNDS,
            (_run(ours, STEPS, session), 2),
            (_run(ours, 1, session), 2),
            (lambda messages=messages: floor.call(messages), 10),  # type: ignore[misc]
        )
        per_step[turns] = [(m - o) / (STEPS - 1) for m, o in zip(many, one, strict=True)]
        if turns == 20:
            floors, whole = base, one
    return [
        Figure("agent step at 20 turns / floor", ratio(per_step[20], floors), "×", 0.25),
        Figure("agent step at 100 turns / at 1 turn", ratio(per_step[100], per_step[1]), "×", 1.5),
        Figure("agent step at 20 turns", median(per_step[20]) * 1000, "ms CPU"),
        Figure("whole run of one step at 20 turns", median(whole) * 1000, "ms CPU"),
        Figure("floor at 20 turns", median(floors) * 1000, "ms CPU"),
    ]


async def _sessions(ours: Ours, floor: Floor) -> list[Figure]:
    """50 sessions at once, a step at a time each, at 20 turns."""
    names = [await ours.session_of(20, f"c{i}") for i in range(SESSIONS)]
    many, one, messages = ours.agent(6), ours.agent(1), conversation(20)

    def all_of(raw: bytes) -> Work:
        async def work() -> None:
            await asyncio.gather(*(ours.run(raw, name) for name in names))

        return work

    async def base() -> None:
        await asyncio.gather(*(floor.call(messages) for _ in names))

    six, first, floors = await in_turns(5, (all_of(many), 1), (all_of(one), 1), (base, 2))
    steps = [(s - f) / 5 for s, f in zip(six, first, strict=True)]
    return [Figure(f"step of {SESSIONS} concurrent sessions / floor", ratio(steps, floors), "×", 0.3)]
