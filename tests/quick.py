"""What makes the quick suite quick: fewer examples of each law, and no file compiled twice.

The whole suite, which every CI run ends with, tries every example.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

FULL, QUICK = 100, 25
"""Examples of a law that asks for no number: hypothesis' own, and a quarter of it."""
LEAST = 5


def register() -> None:
    """The profiles `full` and `quick`."""
    settings.register_profile("full", deadline=None, print_blob=True, max_examples=FULL)
    if os.environ.get("CI"):
        # One commit must always get one verdict: the examples are derived from the test, not from chance.
        slow = [HealthCheck.too_slow]
        settings.register_profile(
            "full", settings.get_profile("full"), derandomize=True, suppress_health_check=slow
        )
    settings.register_profile("quick", settings.get_profile("full"), max_examples=QUICK)


def choose(config: pytest.Config | None = None) -> None:
    """The profile of HYPOTHESIS_PROFILE, or `quick` where the slow tests are left out. Laws read it when
    their module is loaded."""
    quick = config is not None and "not slow" in (config.getoption("markexpr") or "")
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("quick" if quick else "full"))


def examples(full: int) -> int:
    """How many examples a law tries that needs `full` of them: in the quick suite a quarter."""
    part = -(-full * settings().max_examples // FULL)
    return max(part, min(full, LEAST))


def keep_compiled(config: pytest.Config) -> None:
    """Where Python is told to write nothing beside the sources, what it compiles is kept with pytest's own
    cache: for the tests and for the processes they start."""
    cache = getattr(config, "cache", None)
    if not sys.dont_write_bytecode or cache is None:
        return
    folder = str(cache.mkdir("compiled"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder
