"""A command line to try things on: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from runtime.cli.main import call as run

SCRIPT = Path(sys.executable).with_name("farthing")


class Said(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Farthing = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def farthing(folder: Path) -> Farthing:
    """Runs a command line in this process, with its errors told as the console script tells them."""

    def call(*args: str, input: str | bytes | None = "") -> Said:  # noqa: A002
        runner = CliRunner()
        with runner.isolation(input=input) as (out, err, _):
            code = run(args)
            sys.stdout.flush()
            sys.stderr.flush()
            return Said(code, out.getvalue().decode(), err.getvalue().decode())

    return call


@pytest.fixture
def process(folder: Path) -> Farthing:
    """Runs the console script as a process."""

    def call(*args: str, input: bytes = b"", **env: str) -> Said:  # noqa: A002
        done = subprocess.run(
            [str(SCRIPT), *args], input=input, capture_output=True, env={**os.environ, **env}, timeout=120
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def flow(**agent: Any) -> dict[str, Any]:
    """A flow of one agent with a memory and a daily budget."""
    return {
        "format": "farthing.flow/1",
        "id": "flow-1",
        "name": "greeter",
        "nodes": [
            {"id": "question", "type": "input", "config": {}},
            {"id": "helper", "type": "agent", "config": {"instructions": "You help.", **agent}},
            {"id": "notes", "type": "memory", "config": {"scope": "user"}},
            {
                "id": "daily",
                "type": "budget",
                "config": {"metric": "spend", "period": "daily", "limit": "0.50"},
            },
            {"id": "answer", "type": "output", "config": {}},
        ],
        "edges": [
            {"source": "question", "target": "helper"},
            {"source": "notes", "target": "helper", "target_port": "memory"},
            {"source": "daily", "target": "helper", "target_port": "budget"},
            {"source": "helper", "target": "answer"},
        ],
    }


def script(*replies: dict[str, Any]) -> dict[str, Any]:
    """What the scripted model says, one reply a call."""
    return {"format": "farthing.script/1", "replies": {"*": list(replies)}}


@pytest.fixture
def write_flow(folder: Path) -> Callable[..., str]:
    """Writes a flow and, where replies are given, its script; gives the flow's file name."""

    def write(*replies: dict[str, Any], name: str = "greeter", **agent: Any) -> str:
        (folder / f"{name}.json").write_text(json.dumps(flow(**agent)), encoding="utf-8")
        if replies:
            (folder / f"{name}.script.json").write_text(json.dumps(script(*replies)), encoding="utf-8")
        return f"{name}.json"

    return write
