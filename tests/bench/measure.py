"""How things are measured: CPU of this process, all its threads included, in rounds that take turns."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import NamedTuple

Work = Callable[[], Awaitable[object]]


class Figure(NamedTuple):
    """One line of the result. `target` null: only told."""

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.value <= self.target

    def line(self) -> str:
        verdict = "" if self.met is None else "  ok  " if self.met else " over "
        aim = "" if self.target is None else f"≤ {self.target:g}"
        return f"{verdict:6} {self.name:58} {self.value:10.3f} {self.unit:8} {aim:8} {self.note}".rstrip()


async def cpu(work: Work, times: int = 1) -> float:
    """CPU seconds for one go, over so many."""
    began = time.process_time()
    for _ in range(times):
        await work()
    return (time.process_time() - began) / times


async def in_turns(rounds: int, *works: tuple[Work, int]) -> list[list[float]]:
    """CPU seconds of each work in each round; the works take turns, so that all see the same machine."""
    found: list[list[float]] = [[] for _ in works]
    for work, _ in works:
        await work()
    for _ in range(rounds):
        for index, (work, times) in enumerate(works):
            found[index].append(await cpu(work, times))
    return found


def ratio(one: list[float], other: list[float]) -> float:
    """The median of the ratios of the rounds."""
    return median(a / b for a, b in zip(one, other, strict=True))
