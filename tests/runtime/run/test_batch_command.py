"""Batches as the command line runs them: killed, cancelled, piped, with tools of a file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.clock import SystemClock
from runtime.record import SessionFilter
from runtime.store.opening import open_record
from tests.e2e.commands import farthing, farthing_process
from tests.flows import agent_flow, node

SCRIPT = Path(sys.executable).with_name("farthing")


# -- the command


def write_batch(folder: Path, lines: int, latency_s: float, **agent: Any) -> None:
    (folder / "f.json").write_bytes(msgspec.json.encode(agent_flow(agent=agent)))
    replies = [{"text": "ok", "latency_s": latency_s, "usage": {"input": 10, "output": 1}}]
    script = {"format": "farthing.script/1", "replies": {"*": replies}}
    (folder / "f.script.json").write_text(json.dumps(script))
    (folder / "in.jsonl").write_text("".join(f'"question {n}"\n' for n in range(1, lines + 1)))


COMMAND = [str(SCRIPT), "run", "f.json", "--batch", "in.jsonl", "--out", "out.jsonl"]


def finished(path: Path) -> list[dict[str, Any]]:
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


@pytest.mark.slow
@pytest.mark.promise("BAT-2")
def test_a_batch_that_is_killed_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    write_batch(tmp_path, 24, 0.15)
    out = tmp_path / "out.jsonl"
    for least in (3, 9):  # killed twice, at different places
        running = subprocess.Popen(
            [*COMMAND, "--concurrency", "3"], cwd=tmp_path, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while len(finished(out)) < least and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    before = {each["line"]: each["run_id"] for each in finished(out)}
    assert 9 <= len(before) < 24
    done = subprocess.run(COMMAND, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    results = finished(out)
    assert [each["line"] for each in results] == list(range(1, 25))
    assert all(each["state"] == "completed" for each in results)
    assert {each["line"]: each["run_id"] for each in results if each["line"] in before} == before
    completed = asyncio.run(completed_runs())
    assert completed == 24, "every line was run to its end exactly once"
    assert done.stderr.splitlines()[-1].startswith(f"24 done ({len(before)} of them before)")


async def completed_runs() -> int:
    record = open_record(Path(os.environ["FARTHING_DB"]), SystemClock())
    await record.open()
    count = 0
    for session in await record.sessions(SessionFilter(partition="rehearsal", limit=1000)):
        runs = await record.runs(session.uid)
        assert all(run.state in ("completed", "interrupted") for run in runs)
        count += sum(run.state == "completed" for run in runs)
    await record.close()
    return count


def test_ctrl_c_ends_a_batch_cleanly_and_it_can_go_on(tmp_path: Path) -> None:
    write_batch(tmp_path, 6, 0.4)
    running = subprocess.Popen(
        [*COMMAND, "--concurrency", "2"], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(finished(tmp_path / "out.jsonl")) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err
    states = [each["state"] for each in finished(tmp_path / "out.jsonl")]
    assert len(states) == 6
    assert "not_run" in states
    done = subprocess.run(COMMAND, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0
    assert [each["state"] for each in finished(tmp_path / "out.jsonl")] == ["completed"] * 6


def test_results_go_to_standard_output_in_order_and_the_rest_to_standard_error(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, 0.0)
    (tmp_path / "in.csv").write_text('text,id\nhello,a\n"two, lines",b\nhello\n')
    done = subprocess.run(
        [str(SCRIPT), "run", "f.json", "--batch", "in.csv"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["line"], each["id"], each["state"]) for each in results] == [
        (2, "a", "completed"), (3, "b", "completed"), (4, None, "invalid"),
    ]  # fmt: skip
    assert results[0]["outputs"] == {"end": "ok"}
    assert (results[0]["tokens"], results[0]["rehearsal"]) == (11, True)
    assert done.returncode == 1
    assert "line 4: it has 1 cells and there are 2 columns." in done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 done, 1 failed · 22 tokens · $")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("hello", "--batch", "in.jsonl"), "takes its inputs from its file"),
        (("--batch", "none.jsonl"), "There is no file 'none.jsonl'"),
        (("--batch", "empty.jsonl"), "has no lines"),
        (("--batch", "in.jsonl", "--concurrency", "0"), "a number from 1 to"),
        (("--out", "x.jsonl"), "--out is for a batch"),
        (("--batch", "in.jsonl", "--out", "no/such/folder/x.jsonl"), "There is no folder"),
    ],
    ids=range(6),
)
def test_a_batch_that_cannot_begin_says_why(args: Sequence[str], words: str, tmp_path: Path) -> None:
    write_batch(tmp_path, 1, 0.0)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    done = farthing(tmp_path, "run", "f.json", *args)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_tools_from_a_file_are_named_granted_and_called(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, 0.0)
    document = agent_flow()
    document["nodes"].append(node("t", "tool", function="shout"))
    document["edges"].append({"source": "t", "target": "a", "target_port": "tool"})
    (tmp_path / "f.json").write_bytes(msgspec.json.encode(document))
    replies = [{"tool_calls": [{"name": "shout", "arguments": {"text": "hi"}}]}, {"text": "done"}]
    script = {"format": "farthing.script/1", "replies": {"*": replies}}
    (tmp_path / "f.script.json").write_text(json.dumps(script))
    (tmp_path / "mine.py").write_text(
        "def shout(text: str) -> str:\n    'Shout.'\n    print('noise')\n    return text.upper()\n"
    )

    unknown = farthing(tmp_path, "validate", "f.json")
    assert unknown.code == 2
    assert "names the function 'shout', which is not registered" in unknown.out
    checked = farthing(tmp_path, "validate", "f.json", "--tools", "mine.py", "--json").json
    hash_ = checked["flows"][0]["allow"]
    refused = farthing(tmp_path, "run", "f.json", "hi", "--tools", "mine.py")
    assert refused.code == 2
    assert hash_ in refused.err
    command = ("run", "f.json", "hi", "--tools", "mine.py", "--real-tools", "--allow", hash_)
    ran = farthing_process(tmp_path, *command)
    assert (ran.code, ran.out) == (0, "done\n")
    assert "noise" in ran.err
