"""Nodes that call no model: what each costs in memory and on disk."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from tests.bench.measure import Figure, in_turns
from tests.bench.ours import Ours, chain


async def figures(folder: Path) -> list[Figure]:
    """Microseconds a node, and whether a long chain costs more a node than a short one."""
    return [
        Figure("an entry set in a plain loop: how fast the machine is now", _loop(), "ns CPU"),
        *await _chains(folder, stored=False, target=4, name="in memory"),
        *await _chains(folder, stored=True, target=20, name="persisted"),
    ]


def _loop() -> float:
    """Nanoseconds of one round. Shared machines halve their speed for minutes; what nodes cost follows."""
    rounds, best = 200_000, float("inf")
    for _ in range(20):
        seen: dict[int, int] = {}
        begun = process_time()
        for number in range(rounds):
            seen[number & 1023] = number
        best = min(best, process_time() - begun)
    return best / rounds * 1e9


async def _chains(folder: Path, *, stored: bool, target: float, name: str) -> list[Figure]:
    ours = await Ours.open(folder, stored=stored)
    small, large = ours.prepared(chain(100)), ours.prepared(chain(10_000))
    few, many = await in_turns(7, (lambda: ours.drive(small), 30), (lambda: ours.drive(large), 1))
    await ours.close()
    per_small, per_large = min(few) / 101 * 1e6, min(many) / 10_001 * 1e6
    return [
        Figure(f"node without a model, {name}", per_large, "µs CPU", target),
        Figure(f"node of 10,000 / node of 100, {name}", per_large / per_small, "×", 1.3),
    ]
