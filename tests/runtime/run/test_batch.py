"""Batches: every line a run, under shared budgets, with early stops and going on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from runtime.clock import SystemClock
from runtime.errors import BadFlow, BadInput, NotGranted
from runtime.models.scripted import ScriptedModel
from runtime.record import Record, SessionFilter
from runtime.run.batch import Batch, BatchRequest
from runtime.run.batch_lines import Line
from runtime.run.batch_result import Result, Summary
from runtime.run.services import Services
from runtime.run.start import RunRequest
from runtime.settings import load_settings
from runtime.store.opening import open_record
from runtime.testing import FixedClients
from tests.flows import Document, agent_flow, flow, node, says

# -- running


class Place:
    """A store and a scripted model for batches of one test."""

    def __init__(self, replies: Sequence[Document] | None = None, record: Record | None = None) -> None:
        clock = SystemClock()
        self.record = record or open_record(None, clock)
        if replies is None:
            self.model = ScriptedModel(clock=clock)
        else:
            self.model = ScriptedModel.playing({"*": replies}, clock=clock)
        settings = load_settings({"FARTHING_CONFIG": os.devnull}, folder=None)
        self.services = Services(self.record, settings, clock, clients=FixedClients(clock, self.model))
        self.told: list[Result] = []

    async def run(self, document: Document, lines: Sequence[Line], **how: Any) -> Summary:
        """Run a batch of a flow that came from the caller."""
        batch = Batch(self.request(document, lines, **how), self.services, self.told.append)
        return await batch.run()

    def request(
        self,
        document: Document,
        lines: Sequence[Line],
        *,
        kept: Sequence[Result] = (),
        concurrency: int = 4,
        batch: str = "b",
        retry_failed: bool = False,
        **run: Any,
    ) -> BatchRequest:
        """A batch for the user u, trusted unless said otherwise."""
        asked = RunRequest(flow_bytes=msgspec.json.encode(document), **{"user": "u", "trusted": True, **run})
        return BatchRequest(
            run=asked, lines=tuple(lines), batch=batch, concurrency=concurrency,
            kept={result.line: result for result in kept}, retry_failed=retry_failed,
        )  # fmt: skip

    async def runs(self) -> int:
        """How many runs the store has, of whatever state."""
        found = await self.record.sessions(SessionFilter(partition="rehearsal", limit=1000))
        return sum(line.runs for line in found)


def texts(*inputs: Any) -> list[Line]:
    return [Line(n, f"hash {text}", text) for n, text in enumerate(inputs, 1)]


@pytest.mark.promise("BAT-1")
async def test_every_line_is_a_run_and_bad_ones_stop_nothing() -> None:
    at = Place([says("one", 10), says("two", 10), says("three", 10)])
    await at.record.open()
    lines = [*texts("a", "b", {"no": "text"}, "c"), Line(5, "h", wrong="it is none")]
    summary = await at.run(agent_flow(), lines, concurrency=2)
    assert summary == Summary(done=3, failed=2, usage=summary.usage, cost=summary.cost, rehearsal=True)
    assert (summary.usage.tokens, summary.exit_code) == (30, 1)
    by_line = {result.line: result for result in at.told}
    assert {n: r.state for n, r in by_line.items()} == {
        1: "completed", 2: "completed", 3: "invalid", 4: "completed", 5: "invalid",
    }  # fmt: skip
    assert len({r.session for r in by_line.values() if r.session}) == 3
    assert by_line[3].error is not None
    assert "asks for a text" in by_line[3].error.message
    await at.services.close()


async def test_lines_run_at_the_same_time_up_to_the_bound() -> None:
    at = Place([says("ok", latency_s=0.2) for _ in range(8)])
    await at.record.open()
    began = time.monotonic()
    assert (await at.run(agent_flow(), texts(*"abcdefgh"), concurrency=8)).done == 8
    together = time.monotonic() - began
    assert together < 1.2  # one after the other takes 1.6 s and more
    await at.services.close()


async def test_lines_have_users_and_sessions_of_their_own() -> None:
    at = Place()
    await at.record.open()
    lines = [
        Line(1, "1", "My name is Ada.", user="ada", session="s"),
        Line(2, "2", "What is my name?", user="ada"),
        Line(3, "3", "What is my name?", user="bob"),
    ]
    await at.run(agent_flow(memory={"scope": "user"}), lines, concurrency=1)
    answers = [next(iter(result.outputs.values())) for result in at.told]
    assert answers[1:] == ["Your name: Ada.", "I know no facts about you yet."]
    assert at.told[0].session == "s"
    await at.services.close()


@pytest.mark.promise("BAT-3")
async def test_a_budget_that_governs_every_line_ends_the_batch() -> None:
    at = Place([says("ok", 60) for _ in range(9)])
    await at.record.open()
    document = agent_flow(budgets=[{"metric": "tokens", "period": "daily", "limit": 100}])
    summary = await at.run(document, texts(*"abcdef"), concurrency=1)
    assert (summary.done, summary.failed, summary.not_run) == (2, 1, 3)
    assert (summary.stopped, summary.exit_code) == (True, 3)
    assert at.model.calls == 2
    assert [result.state for result in at.told] == ["completed"] * 2 + ["failed"] + ["not_run"] * 3
    assert "used up" in str(summary.why)
    other = [line._replace(user="v") for line in texts("a")]
    assert (await at.run(document, other)).exit_code == 0  # the budget of another user
    await at.services.close()


async def test_a_budget_of_one_run_or_of_a_part_ends_only_that_line() -> None:
    one = agent_flow(budgets=[{"metric": "tokens", "period": "run", "limit": 0}])
    at = Place([])
    await at.record.open()
    summary = await at.run(one, texts("a", "b"))
    assert (summary.failed, summary.not_run, summary.exit_code) == (2, 0, 1)
    routed = flow(
        [
            node("start", "input"),
            node("r", "router", branches=[{"name": "x", "when": "input == 'x'"}], default="y"),
            node("paid", "agent"), node("free", "agent"), node("end", "output"),
            node("b", "budget", metric="tokens", period="daily", limit=0),
        ],
        [("start", "r"), ("r.x", "paid"), ("r.y", "free"), ("paid", "end"), ("free", "end"),
         ("b", "paid", "budget")],
    )  # fmt: skip
    at = Place([says("ok") for _ in range(2)])
    await at.record.open()
    summary = await at.run(routed, texts("x", "y", "y"), concurrency=1)
    assert (summary.done, summary.failed, summary.not_run, summary.exit_code) == (2, 1, 0, 1)
    await at.services.close()


async def test_limits_of_the_command_line_hold_for_the_whole_batch_and_go_on_with_it() -> None:
    at = Place([says("ok", 60) for _ in range(9)])
    await at.record.open()
    lines = [line._replace(user=user) for line, user in zip(texts(*"abcd"), "uvwx", strict=True)]
    first = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=100",))
    assert (first.done, first.failed, first.not_run, first.exit_code) == (2, 1, 1, 3)
    again = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=100",), kept=at.told)
    assert (again.done, again.kept, again.exit_code) == (2, 2, 3)
    raised = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=500",), kept=at.told[:4])
    assert (raised.done, raised.kept, raised.exit_code) == (4, 2, 0)
    await at.services.close()


async def test_what_would_be_refused_for_every_line_is_refused_once() -> None:
    at = Place([])
    await at.record.open()
    needy = agent_flow(budgets=[{"limit": 5, "pot": "shared:team"}])
    with pytest.raises(NotGranted):
        await at.run(needy, texts("a", "b"), trusted=False)
    with pytest.raises(BadFlow):
        await at.run({"format": "farthing.flow/1", "name": "f", "nodes": []}, texts("a"))
    with pytest.raises(BadInput, match="user"):
        await at.run(agent_flow(memory={"scope": "user"}), texts("a"), user=None)
    assert at.told == []
    assert await at.runs() == 0
    await at.services.close()


@pytest.mark.promise("BAT-2")
async def test_finished_lines_are_not_run_again_and_changed_ones_are() -> None:
    at = Place([says(f"answer {n}") for n in range(6)])
    await at.record.open()
    await at.run(agent_flow(), texts("a", "b", "c"), concurrency=1)
    first = list(at.told)
    lines = [*texts("a", "B", "c"), Line(4, "hash d", "d")]
    summary = await at.run(agent_flow(), lines, kept=first, concurrency=1)
    assert (summary.done, summary.kept) == (4, 2)
    assert [result.line for result in at.told[3:]] == [2, 4]
    assert await at.runs() == 5
    await at.services.close()


async def test_failed_lines_are_run_once_more_only_when_asked() -> None:
    down = {"error": {"kind": "bad_request", "message": "bad day"}}
    at = Place([says("ok"), down, says("better")])
    await at.record.open()
    first = await at.run(agent_flow(), texts("a", "b"), concurrency=1)
    assert (first.done, first.failed) == (1, 1)
    again = await at.run(agent_flow(), texts("a", "b"), kept=at.told)
    assert (again.failed, again.kept, at.model.calls) == (1, 2, 2)
    retried = await at.run(agent_flow(), texts("a", "b"), kept=at.told, retry_failed=True)
    assert (retried.done, retried.kept, retried.exit_code) == (2, 1, 0)
    assert at.told[-1].outputs == {"end": "better"}
    await at.services.close()


async def test_a_run_that_ended_before_its_line_was_written_is_found_in_the_store() -> None:
    at = Place([says("first", 5), says("second", 7), says("never")])
    await at.record.open()
    await at.run(agent_flow(), texts("a", "b"), concurrency=1)
    first, second = at.told
    summary = await at.run(agent_flow(), texts("a", "b"), kept=[first])
    assert at.model.calls == 2
    found = at.told[-1]
    assert found == second
    assert (summary.done, summary.kept, summary.usage.tokens) == (2, 1, 12)
    await at.services.close()


async def test_cancelling_ends_every_run_and_begins_no_other() -> None:
    at = Place([says("slow", latency_s=60) for _ in range(4)])
    await at.record.open()
    batch = Batch(at.request(agent_flow(), texts(*"abcd"), concurrency=2), at.services, at.told.append)
    work = asyncio.create_task(batch.run())
    while at.model.calls < 2:
        await asyncio.sleep(0.01)
    batch.cancel()
    batch.cancel()
    summary = await asyncio.wait_for(work, 5)
    assert (summary.not_run, summary.exit_code) == (4, 130)
    assert sorted(result.state for result in at.told) == ["cancelled"] * 2 + ["not_run"] * 2
    assert await at.runs() == 2
    await at.services.close()
