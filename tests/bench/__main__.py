"""`python -m tests.bench [PART …]`: measure, and say which targets are met. Exit code 0 whatever they are."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import platform
import sys
import tempfile
from pathlib import Path

PARTS = ("steps", "nodes", "startup", "reading", "producers", "sse", "finding")


async def run(parts: list[str]) -> None:
    for name in parts:
        part = importlib.import_module(f"tests.bench.{name}")
        with tempfile.TemporaryDirectory() as folder:
            for figure in await part.figures(Path(folder)):
                print(figure.line(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}", file=sys.stderr)
    asyncio.run(run(parser.parse_args().parts))


if __name__ == "__main__":
    main()
