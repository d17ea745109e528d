"""The model as a pytest fixture: `from tests.local_model.fixture import local_model`.

Where it cannot be had its tests are skipped, and the end of the run says so; with
FARTHING_REQUIRE_LOCAL_MODEL=1 that is an error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest

from tests.local_model.weights import Missing, weights

REQUIRE = "FARTHING_REQUIRE_LOCAL_MODEL"
SKIPPED = "no local model"
"""How the reason of a skipped test begins; the summary looks for it."""
ROOT = Path(__file__).parent.parent.parent
START_S = 120.0
"""Seconds that the server may take to load 98 MB on a busy machine."""


class LocalModel:
    """A running server of the small model."""

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def url(self) -> str:
        """What a provider's `base_url` is set to."""
        return f"{self.address}/v1"

    def busy(self) -> bool:
        """Whether its one slot works on an answer."""
        with urlopen(f"{self.address}/slots", timeout=30) as answered:
            return any(slot["is_processing"] for slot in json.load(answered))

    def wait_idle(self, seconds: float = 30.0) -> float:
        """Seconds until its slot was free. Fails where it never was."""
        began = time.monotonic()
        while self.busy():
            assert time.monotonic() - began < seconds, "the model went on with an answer that nobody awaits"
            time.sleep(0.05)
        return time.monotonic() - began


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalModel]:
    """The small model, served for as long as the tests run."""
    try:
        process, address = _start()
    except Missing as missing:
        if os.environ.get(REQUIRE):
            pytest.fail(f"{REQUIRE} is set, but there is {SKIPPED}: {missing}", pytrace=False)
        pytest.skip(f"{SKIPPED}: {missing}")
    try:
        yield LocalModel(address)
    finally:
        _end(process)


def _start() -> tuple[subprocess.Popen[str], str]:
    """The server's process and address. Raises Missing."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise Missing("xllamacpp is not installed (pip install 'farthing[local]')")
    file = weights()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.local_model", str(file)], cwd=ROOT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = _first_line(process.stdout, START_S)
    if not address.startswith("http://127.0.0.1:"):
        _end(process)
        raise Missing("its server did not start")
    return process, address


def _end(process: subprocess.Popen[str]) -> None:
    """Close its input, which ends it; a server that does not listen is killed."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _first_line(stream: IO[str], seconds: float) -> str:
    """What a process says first; empty where it says nothing in time."""
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(stream.readline().strip()), daemon=True)
    reader.start()
    reader.join(seconds)
    return said[0] if said else ""


def say_what_was_skipped(reporter: pytest.TerminalReporter) -> None:
    """A section at the end of the run, where tests went without the model."""
    reasons = [str(report.longrepr) for report in reporter.stats.get("skipped", []) if report.longrepr]
    missing = [reason for reason in reasons if SKIPPED in reason]
    if missing:
        reporter.section("the real model was NOT tried", sep="!", red=True, bold=True)
        why = missing[0].partition(f"{SKIPPED}: ")[2].rstrip("')")
        reporter.line(f"{len(missing)} tests were skipped: {why}.")
        reporter.line(f"{REQUIRE}=1 makes that an error.")
