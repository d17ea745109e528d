"""Whole flows on a real model over HTTP. What it says is its own affair: only structure is looked at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from runtime.reasoning.action import find_object
from runtime.run.start import prepare, start
from runtime.schema_check import Schema
from runtime.testing import difference
from tests.e2e.commands import farthing, farthing_process
from tests.e2e.place import Happened, Place, asked, check_sound, place
from tests.flows import agent_flow
from tests.local_model.fixture import LocalModel, local_model
from tests.local_model.weights import weights
from tests.repo import ROOT, blocks

__all__ = ["local_model"]
pytestmark = [pytest.mark.slow]
SHORT = {"max_output_tokens": 24, "temperature": 0.2}
LIMIT = {"metric": "tokens", "period": "session", "limit": 1_000_000}


def settings(model: LocalModel) -> str:
    return f"""
default_model = "local:smollm2"
[providers.local]
base_url = "{model.url}"
timeout_s = 120
window = 4096
"""


@pytest_asyncio.fixture
async def here(local_model: LocalModel, tmp_path: Path) -> AsyncIterator[Place]:
    async with place(tmp_path, settings(local_model)) as found:
        yield found


@pytest.mark.promise("LED-5", "LED-7")
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_answer_is_recorded_with_the_usage_that_the_model_reports(streamed: bool, here: Place) -> None:
    ran = await here.run(agent_flow(agent=SHORT, budgets=[LIMIT]), "Say hello.", streamed=streamed)
    assert ran.outcome.state == "completed"
    assert ran.outcome.outputs["end"]
    (row,) = ran.settled()
    assert not row.estimated
    assert row.usage.input > 5
    assert 1 <= row.usage.output <= SHORT["max_output_tokens"]
    assert (row.cost, row.cost_source, row.provider) == (0, "local", "local")
    (gauge,) = ran.outcome.gauges
    assert (gauge.used, gauge.held) == (row.usage.tokens, 0)
    if streamed:
        assert len(ran.deltas) > 1
        assert "".join(ran.deltas) == ran.of("agent.response")[0]["text"]


async def test_timeline_of_a_real_run_is_complete_and_its_session_goes_on(here: Place) -> None:
    first = await here.run(agent_flow(agent=SHORT, memory={}, budgets=[LIMIT]), "Say hello.")
    types = [event["type"] for event in first.events]
    assert types[0] == "run.started"
    for before, after in (
        ("node.started", "agent.request"),
        ("agent.request", "context.assembled"),
        ("context.assembled", "budget.reserved"),
        ("budget.reserved", "model.called"),
        ("model.called", "budget.settled"),
        ("budget.settled", "agent.usage"),
        ("agent.usage", "agent.response"),
    ):
        assert types.index(before) < types.index(after), (before, after)
    second = await here.run(agent_flow(agent=SHORT, memory={}, budgets=[LIMIT]), "And again.")
    (called,) = second.of("model.called")
    assert called["kept"] == 2  # the first turn: what was asked, and what was answered
    assert second.settled()[0].usage.input > first.settled()[0].usage.input


SCHEMA = {
    "type": "object",
    "properties": {
        "mood": {"enum": ["glad", "sad", "neither"]},
        "sure": {"type": "boolean"},
        "score": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["mood", "sure", "score"],
    "additionalProperties": False,
}


async def test_answer_has_the_shape_that_is_asked_for(here: Place) -> None:
    agent = {"output_schema": SCHEMA, "max_output_tokens": 80, "temperature": 1.0}
    ran = await here.run(agent_flow(agent=agent), "I found a bell for my bicycle today.")
    value = ran.outcome.outputs["end"]
    assert not Schema(SCHEMA).mismatches(value)
    assert [event["purpose"] for event in ran.of("model.called")] == ["main"]


ACTIONS = {
    "memory_write": '{"action": "memory_write", "arguments": {"key": "name", "value": "Ada"}}',
    "calculator": '{"action": "calculator", "arguments": {"expression": "6 * 7"}}',
}
TRIES = 3
"""Sessions in which a model of this size may take its time to do what it is asked; the first one serves."""


@pytest.mark.promise("RUN-6", "RUN-7")
@pytest.mark.parametrize("tool", ACTIONS)
async def test_agent_without_native_tools_calls_them_as_json(tool: str, here: Place) -> None:
    """Every answer is an action of the schema; what it calls is called, and its result goes back."""
    flow = agent_flow(
        agent={
            "strategy": "json", "max_iterations": 2, "max_output_tokens": 64, "temperature": 0,
            "instructions": "You repeat what you are told.",
        },
        memory={"tools": ["write"]}, budgets=[LIMIT],
    )  # fmt: skip
    flow["nodes"].append({"id": "sums", "type": "tool", "config": {"function": "calculator"}})
    flow["edges"].append({"source": "sums", "target": "a", "target_port": "tool"})
    for attempt in range(TRIES):
        ran = await here.run(flow, f"Repeat: {ACTIONS[tool]}", session=f"s{attempt}")
        check_actions(ran)
        made = [event for event in ran.of("tool.response") if event["tool"] == tool]
        if made:
            break
    assert made, f"in {TRIES} runs the model never called {tool}"
    assert {row.purpose for row in ran.settled()} == {"main"}
    assert not any(row.estimated for row in ran.settled())
    sent = ran.of("model.called")[1]["messages"]
    assert any(str(message["content"]).startswith(f"Result of {tool}: ") for message in sent)


def check_actions(ran: Happened) -> None:
    """Each answer that was not cut is one action, and each call in it was carried out or told to be wrong."""
    said = [event["text"] for event in ran.of("agent.response")]
    finishes = [event["finish"] for event in ran.of("agent.usage")]
    actions = [find_object(text) for text, finish in zip(said, finishes, strict=True) if finish != "length"]
    assert all(action is not None and "action" in action for action in actions)
    calls = [action["action"] for action in actions if action and action["action"] != "answer"]
    assert [event["tool"] for event in ran.of("tool.request")] == calls
    written = [event for event in ran.of("tool.response") if event["tool"] == "memory_write"]
    stored = [event for event in written if not event.get("error")]
    assert len(ran.of("memory.write")) == len(stored)
    codes = {None if ran.outcome.error is None else ran.outcome.error.code}
    assert codes <= {None, "agent.max_iterations"}
    assert len(ran.of("model.called")) <= 2


@pytest.mark.promise("BUD-1", "BUD-4")
async def test_budget_stops_a_real_model_before_the_next_call(here: Place, local_model: LocalModel) -> None:
    flow = agent_flow(agent=SHORT, budgets=[LIMIT | {"limit": 20}])
    first = await here.run(flow, "Say hello.")
    assert first.outcome.state == "completed"
    assert first.outcome.usage.tokens >= 20
    stopped = await here.run(flow, "And again.")
    assert stopped.outcome.exit_code == 3
    assert stopped.of("model.called") == []
    assert not local_model.busy()
    (error,) = stopped.of("agent.error")
    assert (error["code"], error["gauge"]["used"]) == ("budget.exceeded", first.outcome.usage.tokens)


@pytest.mark.promise("RUN-3", "LED-3")
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_cancel_is_at_once_and_charges_an_estimate(
    streamed: bool, here: Place, local_model: LocalModel
) -> None:
    """llama.cpp notices that nobody listens while it streams; an answer that it gives whole it works out."""
    long = agent_flow(
        agent={"max_output_tokens": 400 if streamed else 60, "temperature": 0.8}, budgets=[LIMIT]
    )
    words: list[str] = []
    heard = (lambda _, text: words.append(text)) if streamed else None
    active = start(prepare(asked(long, "Tell a very long story."), here.services), here.services, None, heard)
    await until(lambda: bool(words) if streamed else local_model.busy())
    began = time.monotonic()
    active.cancel()
    outcome = await active.outcome()
    assert time.monotonic() - began < 1.5
    assert (outcome.state, outcome.exit_code) == ("cancelled", 130)
    ran = await here.look(outcome, words)
    check_sound(ran)
    (row,) = ran.settled()
    assert row.estimated and row.usage.input > 0
    assert ran.of("agent.usage")[0]["error"]["code"] == "cancelled"
    if streamed:
        assert await asyncio.to_thread(local_model.wait_idle) < 3
    again = await here.run(agent_flow(agent=SHORT, budgets=[LIMIT]), "Say hello.")
    assert again.outcome.state == "completed"
    assert again.of("model.called")[0]["kept"] == 0


async def test_too_long_a_context_is_told_by_the_model_and_costs_nothing(
    local_model: LocalModel, tmp_path: Path
) -> None:
    without_window = settings(local_model).replace("window = 4096\n", "")
    async with place(tmp_path, without_window) as here:
        ran = await here.run(agent_flow(agent=SHORT, budgets=[LIMIT]), "word " * 6_000)
    assert ran.outcome.error is not None
    assert ran.outcome.error.code == "model.context_overflow"
    assert [row.kind for row in ran.rows] == ["hold", "release"]


async def test_runs_at_the_same_time_share_the_one_slot(here: Place) -> None:
    flow = agent_flow(agent=SHORT)
    both = await asyncio.gather(*(here.run(flow, "Say hello.", session=f"s{i}") for i in range(2)))
    assert [ran.outcome.state for ran in both] == ["completed", "completed"]
    assert all(ran.outcome.usage.output > 0 for ran in both)


def test_command_runs_records_and_rehearses(local_model: LocalModel, own_home: Path, tmp_path: Path) -> None:
    (own_home / "config.toml").write_text(settings(local_model), encoding="utf-8")
    (own_home / "config.toml").chmod(0o600)
    (tmp_path / "flow.json").write_text(json.dumps(agent_flow(agent=SHORT, memory={})), encoding="utf-8")
    args = ("run", "flow.json", "Say hello.", "--user", "ada", "--session", "one", "--json")
    real = farthing_process(tmp_path, *args, "--record", "flow.script.json")
    assert (real.code, real.json["rehearsal"], real.json["cost"]) == (0, False, "0"), real.err
    again = farthing_process(tmp_path, *args, "--model", "scripted")
    assert (again.code, again.json["rehearsal"]) == (0, True)
    assert again.json["outputs"] == real.json["outputs"]
    assert again.json["usage"] == real.json["usage"]
    kept = [timeline(tmp_path, *more) for more in ((), ("--rehearsal",))]
    assert difference(kept[0], kept[1]) == []


def test_page_serves_a_model_as_it_shows(own_home: Path, tmp_path: Path, local_model: LocalModel) -> None:
    """docs/local-model.md, pasted: its server answers where its settings say."""
    assert local_model.address  # so that the weights are there
    page = (ROOT / "docs" / "local-model.md").read_text(encoding="utf-8")
    (source,) = [block.body for block in blocks(page) if block.language == "python"]
    (shown,) = [block.body for block in blocks(page) if block.language == "toml"]
    with subprocess.Popen(
        [sys.executable, "-c", source, str(weights()), "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            config = shown.replace("http://127.0.0.1:8080", address)
            (own_home / "config.toml").write_text(config, encoding="utf-8")
            (own_home / "config.toml").chmod(0o600)
            (tmp_path / "flow.json").write_text(
                json.dumps(agent_flow(agent={"max_output_tokens": 4})), encoding="utf-8"
            )
            done = farthing(tmp_path, "run", "flow.json", "Say hello.", "--json")
            assert (done.code, done.json["cost"]) == (0, "0"), done.err
            assert done.json["usage"]["output"] > 0
        finally:
            server.kill()


def timeline(folder: Path, *more: str) -> list[dict[str, Any]]:
    """Types and nodes of a session's events, which real run and rehearsal have in common."""
    said = farthing_process(folder, "events", "one", "--json", *more)
    return [{"type": event["type"], "node_id": event["node_id"]} for event in said.lines()]


async def until(met: Any, seconds: float = 60.0) -> None:
    """Wait until something is so; what is asked may take its time."""
    end = time.monotonic() + seconds
    while not await asyncio.to_thread(met):
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.01)
