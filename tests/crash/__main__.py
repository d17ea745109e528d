"""Many experiments: `python -m tests.crash FIRST LAST` (seeds); prints what happened in each, and in all."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter as Tally
from pathlib import Path

from tests.crash.world import experiment


def main(first: int, last: int) -> int:
    total: Tally[str] = Tally()
    wrong = 0
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                seen = asyncio.run(experiment(Path(folder), seed, 4 if seed % 2 else 2))
            except (AssertionError, TimeoutError) as error:
                wrong += 1
                print(f"seed {seed}: {type(error).__name__} {error}", flush=True)
                continue
        total += seen
        print(f"seed {seed}: {dict(sorted(seen.items()))}", flush=True)
    print(f"all: {dict(sorted(total.items()))}; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
