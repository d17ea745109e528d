"""A headless run as a process: CPU, memory, and what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.bench.measure import Figure

COUNT = """
import os, resource, subprocess, sys
command = sys.argv[1:]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
LIBRARIES = "import asyncio, click, msgspec, sqlite3"
IMPORTED = """
import sys
from runtime.cli.main import main
sys.argv = ["farthing", "run", "example:summarise", "The boat leaves at eight."]
try:
    main()
except SystemExit:
    pass
heavy = ("openai", "sqlmodel", "sqlalchemy", "pydantic", "networkx", "starlette", "numpy", "rich")
print(",".join(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


async def figures(folder: Path) -> list[Figure]:
    """A one-step run on the scripted model with an existing database, and a bare interpreter beside it."""
    env = {**os.environ, "FARTHING_DB": str(folder / "f.db"), "FARTHING_CONFIG": os.devnull}
    command = [sys.executable, "-m", "runtime.cli", "run", "example:summarise", "The boat leaves at eight."]
    _used(command, env)
    runs = [_used(command, env) for _ in range(9)]
    bare = [_used([sys.executable, "-c", "pass"], env) for _ in range(9)]
    heavy = [_used([sys.executable, "-c", LIBRARIES], env) for _ in range(9)]
    told = subprocess.run(
        [sys.executable, "-c", IMPORTED], env=env, capture_output=True, text=True, check=True
    ).stderr.splitlines()[-1]
    cpu = min(run[0] for run in runs)
    return [
        Figure(
            "headless run as a process",
            cpu * 1000,
            "ms CPU",
            250,
            f"imports of the heavy ones: {told or 'none'}",
        ),
        Figure("headless run as a process, median", median(run[0] for run in runs) * 1000, "ms CPU"),
        Figure("peak memory of it", max(run[1] for run in runs) / 1024, "MB", 60),
        Figure("a bare interpreter", min(run[0] for run in bare) * 1000, "ms CPU"),
        Figure(
            "asyncio, click, msgspec and sqlite3 alone",
            min(run[0] for run in heavy) * 1000,
            "ms CPU",
        ),
    ]


def _used(command: list[str], env: dict[str, str]) -> tuple[float, int]:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *command], env=env, capture_output=True, text=True, check=True
    )
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes)
