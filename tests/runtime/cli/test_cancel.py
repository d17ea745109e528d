"""`farthing cancel`: a run of another process ends, by its session's name or its own id."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.runtime.cli.conftest import Farthing
from tests.runtime.cli.test_run import background

Write = Callable[..., str]
SLOW = {"text": "Too late.", "latency_s": 60}


def until_said(farthing: Farthing, kind: str = "model.called", times: int = 1) -> str:
    """Wait until an event of that type is in the session `s`; its run's id."""
    end = time.monotonic() + 60
    while len(out := farthing("events", "s", "--type", kind, "--json").out.splitlines()) < times:
        assert time.monotonic() < end
    return str(json.loads(out[-1])["run_id"])


@pytest.mark.promise("RUN-3")
def test_cancel_ends_what_another_process_runs_and_says_who(farthing: Farthing, write_flow: Write) -> None:
    flow = write_flow(SLOW)
    with background("run", flow, "hi", "--session", "s") as running:
        run_id = until_said(farthing)
        began = time.monotonic()
        said = farthing("cancel", "s", "--actor", "mia")
        assert time.monotonic() - began < 3
        assert (said.code, said.out) == (0, "")
        assert said.err == f"The run {run_id} has ended: cancelled.\n"
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, b"")
    assert b"Cancelled by mia." in err
    events = [json.loads(line) for line in farthing("events", "s", "--json").out.splitlines()]
    assert (events[-1]["state"], events[-1]["error"]["code"]) == ("cancelled", "run.cancelled")
    assert "budget.settled" in {event["type"] for event in events}
    again = farthing("cancel", "s")
    assert (again.code, again.err) == (0, "Nothing of s is under way.\n")
    over = farthing("cancel", run_id)
    assert (over.code, over.err) == (0, f"The run {run_id} had ended: cancelled.\n")


def test_cancel_of_one_run_leaves_the_others_of_its_session(farthing: Farthing, write_flow: Write) -> None:
    flow = write_flow(SLOW)
    with background("run", flow, "one", "--session", "s") as one:
        first = until_said(farthing)
        with background("run", flow, "two", "--session", "s") as two:
            second = until_said(farthing, "run.started", 2)
            said = farthing("cancel", first, "--json")
            assert said.json == [{"run_id": first, "was": "running", "state": "cancelled"}]
            one.communicate(timeout=30)
            assert two.poll() is None
            assert farthing("cancel", "s", "--json").json[0]["run_id"] == second
            two.communicate(timeout=30)
    assert (one.returncode, two.returncode) == (130, 130)


@pytest.mark.slow
def test_cancel_of_a_process_that_stands_still_is_told_and_comes_into_effect_later(
    farthing: Farthing, write_flow: Write
) -> None:
    with background("run", write_flow(SLOW), "hi", "--session", "s") as running:
        run_id = until_said(farthing)
        running.send_signal(signal.SIGSTOP)
        try:
            said = farthing("cancel", "s", "--json")
        finally:
            running.send_signal(signal.SIGCONT)
        assert said.code == 1
        assert said.json == [{"run_id": run_id, "was": "running", "state": "running"}]
        assert "stands still" in said.err
        running.communicate(timeout=30)
    assert running.returncode == 130


def test_cancel_of_what_is_not_there_is_refused(farthing: Farthing, write_flow: Write) -> None:
    farthing("run", write_flow({"text": "Hello."}), "hi", "--session", "monday")
    said = farthing("cancel", "mondy")
    assert said.code == 2
    assert "There is no session 'mondy'" in said.err and "monday" in said.err
    assert farthing("cancel", "").code == 2
    assert farthing("cancel").code == 2
    assert farthing("cancel", "monday", "--user", os.urandom(4).hex()).code == 2
