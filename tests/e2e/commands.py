"""The `farthing` command in this process, or as one of its own, against a provider over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from runtime.cli.main import call
from tests.e2e.place import KEY

SCRIPT = Path(sys.executable).with_name("farthing")


class Said(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """The JSON values of the lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**more: str) -> dict[str, str]:
    """This test's own settings and database; no word of it depends on a terminal."""
    return {**os.environ, "NO_COLOR": "1", **more}


def farthing(folder: Path, *args: str, **env: str) -> Said:
    """Run the command in a folder, in this process, which spares the time that a process takes to start."""
    runner = CliRunner()
    with pytest.MonkeyPatch.context() as patch, runner.isolation() as (out, err, _):
        patch.chdir(folder)
        for name, value in environment(**env).items():
            patch.setenv(name, value)
        code = call(args)
        sys.stdout.flush()
        sys.stderr.flush()
        return checked(Said(code, out.getvalue().decode(), err.getvalue().decode()))


def farthing_process(folder: Path, *args: str, **env: str) -> Said:
    """Run the console script in a folder as a process and wait for its end."""
    done = subprocess.run(
        [str(SCRIPT), *args], cwd=folder, env=environment(**env), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return checked(Said(done.returncode, done.stdout, done.stderr))


def checked(said: Said) -> Said:
    """Nothing that is shown holds the key or a traceback."""
    assert "Traceback" not in said.err, said.err
    assert KEY not in said.out + said.err
    return said
