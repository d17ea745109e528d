"""Large things to look at: a flow of hundreds of nodes, a session of thousands of events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.events import (
    AgentUsage,
    Event,
    ModelCalled,
    NodeFinished,
    NodeStarted,
    RunFinished,
    RunStarted,
    ToolRequest,
    ToolResponse,
)
from runtime.record import RunEnd, RunStart, SessionKey
from runtime.usage import Usage
from tests.studio.browser.tab import doc, node
from tests.studio.live import Live

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
ROW = 20
"""Nodes side by side."""


def large_flow(name: str, nodes: int) -> dict[str, Any]:
    """Chains of templates between one input and one output, each node in its place; a budget and a memory
    for some agents among them."""
    made = [{**node("start", "input"), "ui": {"x": 0, "y": 0}}]
    edges: list[tuple[str, ...]] = []
    count = nodes - 4
    for number in range(count):
        kind = (
            ("agent", {"instructions": f"Part {number}."})
            if number % 10 == 0
            else ("template", {"text": f"{number}: {{{{ input }}}}"})
        )
        place = {"x": 280 * (number % ROW + 1), "y": 160 * (number // ROW)}
        made.append({**node(f"part_{number}", kind[0], **kind[1]), "ui": place})
        edges.append(("start" if number % ROW == 0 else f"part_{number - 1}", f"part_{number}"))
        if number % 10 == 0:
            edges += [("purse", f"part_{number}", "budget"), ("notes", f"part_{number}", "memory")]
    made += [
        {**node("purse", "budget", metric="tokens", limit=1_000_000), "ui": {"x": 0, "y": 300}},
        {**node("notes", "memory", scope="session"), "ui": {"x": 0, "y": 460}},
        {**node("end", "output"), "ui": {"x": 280 * (ROW + 1), "y": 160 * ((count - 1) // ROW)}},
    ]
    edges.append((f"part_{count - 1}", "end"))
    return doc(name, made, edges)


def steps(run: str, count: int) -> Iterator[Event]:
    """About `count` events of an agent that calls a tool at each step."""
    for number in range(count // 4):
        at = AT + timedelta(milliseconds=20 * number)
        near: dict[str, Any] = {"run_id": run, "node_id": "helper", "step": number + 1}
        call, tool = f"c{number}", f"t{number}"
        yield ModelCalled(at=at, call=call, purpose="main", model="scripted:play", digest="d", **near)
        yield AgentUsage(
            at=at + timedelta(milliseconds=8), call=call, purpose="main", model="scripted:play",
            usage=Usage(input=100 + number, output=10), cost=120_000, cost_source="script", ms=8, **near,
        )  # fmt: skip
        yield ToolRequest(
            at=at + timedelta(milliseconds=9),
            call=tool,
            tool="calculator",
            arguments={"expression": "1+1"},
            **near,
        )
        yield ToolResponse(
            at=at + timedelta(milliseconds=15), call=tool, tool="calculator", result="2", ms=6, **near
        )


def long_session(live: Live, name: str, events: int) -> str:
    """A session of one run with so many events (five more than a multiple of four); its uid."""
    return asyncio.run_coroutine_threadsafe(_write(live, name, events), live.loop).result(60)


async def _write(live: Live, name: str, events: int) -> str:
    record, run = live.studio.record, f"run-{name}"
    start = RunStart(
        run_id=run, session=SessionKey("real", "local", "talk", name), flow_name="talk", flow_hash="h",
        flow=(live.flows / "talk.json").read_bytes(), at=AT,
    )  # fmt: skip
    said: list[Event] = [
        RunStarted(at=AT, run_id=run, flow_id="talk", flow_name="talk", flow_hash="h", input="Count on."),
        NodeStarted(at=AT, run_id=run, node_id="helper"),
    ]
    claimed, _ = await record.claim(start, said)
    batch: list[Event] = list(steps(run, events - 5))
    for first in range(0, len(batch), 1000):
        await record.append(run, batch[first : first + 1000])
    end = AT + timedelta(milliseconds=20 * (events // 4))
    await record.append(run, [NodeFinished(at=end, run_id=run, node_id="helper")])
    await record.finish(
        RunEnd(run_id=run, state="completed", at=end),
        [],
        lambda _totals: [RunFinished(at=end, run_id=run, state="completed")],
    )
    return claimed.session_uid
