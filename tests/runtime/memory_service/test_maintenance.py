"""Compaction and extraction beside the runs: when they happen, who pays, what is sent afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.clock import SystemClock, VirtualClock
from runtime.facts import Partition
from runtime.record import LedgerFilter, LedgerRow, SessionFilter, SessionKey
from runtime.run.maintenance import Maintenance
from runtime.run.services import Services
from runtime.run.start import RunRequest, prepare, start
from runtime.testing import Bench, Ran
from runtime.testing.bench import FixedClients, scripted
from tests.flows import agent_flow, calls, says
from tests.runtime.memory_service.test_assembly import with_window

LONG = "The chain of my tandem slips and the rear brake squeals loudly. " * 2
SUM = {"text": "They spoke of chain and brake.", "purpose": "summary", "usage": {"input": 300, "output": 10}}
COMPACTS = {"compaction": {"enabled": True, "cooldown_turns": 1}}


def document(memory: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    agent = {"context": {"mode": "full"}, "max_output_tokens": 50}
    return agent_flow(agent=agent, memory=COMPACTS if memory is None else memory, **more)


async def events_of(bench: Bench, session: str = "@maintenance", kind: str = "memory.compacted") -> list[Any]:
    """The events of a type in sessions of that name."""
    found = []
    partitions: tuple[Partition, ...] = ("real", "rehearsal")
    for partition in partitions:
        which = SessionFilter(partition=partition, name=session)
        for line in await bench.record.sessions(which):
            events = [msgspec.json.decode(raw) for raw in await bench.record.events_json(line.uid)]
            found += [event for event in events if event["type"] == kind]
    return found


async def talk(bench: Bench, turns: int, flow: dict[str, Any], *, first: int = 0, **more: Any) -> Ran:
    for turn in range(first, first + turns):
        script = [says(f"answer {turn}"), SUM, SUM, SUM]
        ran = await bench.run(flow, f"turn {turn} {LONG}", script=script, **more)
        assert ran.outcome.state == "completed"
    return ran


@pytest.mark.promise("MEM-16")
async def test_nothing_happens_unless_it_is_asked_for(tmp_path: Path) -> None:
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, document({}))
        assert await events_of(bench) == []
        assert await events_of(bench, kind="session.opened") == []


async def test_old_turns_become_a_summary_once_prompts_get_full(tmp_path: Path) -> None:
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        ran = await talk(bench, 12, document())
        (event, *_) = await events_of(bench)
        assert event["turns"] >= 5
        assert 0 < event["tokens_after"] < event["tokens_before"]
        assert isinstance(event["target_met"], bool)
        assert event.get("errors", []) == []
        system, *rest = [message.content or "" for message in ran.requests[0].messages]
        assert "Summaries of the earlier conversation, oldest first:\n- They spoke of chain" in system
        assert not any(text.startswith("turn 0 ") for text in rest)
        assert rest[-1].startswith("turn 11 ")
        kept = [text for text in rest if text.startswith("turn ")]
        assert len(kept) >= 4, "the newest turns are never touched"
        parts = {part.name: part for part in ran.of("context.assembled")[0].sections}
        assert parts["summaries"].tokens > 0
        assert parts["history"].first > 0
        started = await events_of(bench, kind="run.started")
        assert {event["kind"] for event in started} == {"maintenance"}
        finished = await events_of(bench, kind="run.finished")
        assert {event["state"] for event in finished} == {"completed"}


async def test_the_cooldown_holds_and_is_kept_from_process_to_process(tmp_path: Path) -> None:
    flow = document({"compaction": {"enabled": True, "cooldown_turns": 30}})
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, flow)
        assert await events_of(bench) == []


@pytest.mark.promise("MEM-16")
async def test_it_is_charged_to_the_agents_budgets_but_not_to_a_runs(tmp_path: Path) -> None:
    budgets = [
        {"name": "daily", "metric": "tokens", "period": "daily", "limit": 1_000_000},
        {"name": "run", "metric": "tokens", "period": "run", "limit": 100_000},
    ]
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, document(budgets=budgets))
        rows = [
            row for row in await bench.record.ledger(LedgerFilter(purpose="summary")) if row.kind == "settle"
        ]
        assert rows
        for row in rows:
            assert "f/daily" in row.pots
            assert "f/run" not in row.pots
            assert row.user_id == "local"
            assert row.usage.tokens == 310


@pytest.mark.promise("MEM-16")
async def test_it_counts_in_the_conversations_session_budget(tmp_path: Path) -> None:
    limit = 1500
    budgets = [{"name": "talk", "metric": "tokens", "period": "session", "limit": limit}]
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        for turn in range(30):
            script = [says(f"answer {turn}", 20), SUM, SUM]
            ran = await bench.run(document(budgets=budgets), f"turn {turn} {LONG}", script=script)
            if ran.outcome.state != "completed":
                break
        (talk,) = await bench.record.sessions(SessionFilter(flow_id="f", name="test"))
        (care,) = await bench.record.sessions(SessionFilter(flow_id="f", name="@maintenance"))
        by_purpose = await bench.record.spend(LedgerFilter("real", session_uid=talk.uid), ["purpose"])
        ledger = await bench.record.ledger(LedgerFilter("real"))
        (gauge,) = ran.outcome.gauges
    assert ran.outcome.exit_code == 3
    used = {line.group[0]: line.usage.tokens for line in by_purpose}
    assert used["summary"] >= 310
    assert sum(used.values()) == gauge.used == talk.usage.tokens >= limit
    assert care.usage.tokens == 0
    reached = next(i for i, row in enumerate(ledger) if _sum(ledger[: i + 1]) >= limit)
    assert [row for row in ledger[reached + 1 :] if row.kind == "hold"] == [], (
        "no call of any kind after that"
    )


def _sum(rows: list[LedgerRow]) -> int:
    return sum(row.usage.tokens for row in rows if row.kind == "settle")


async def test_a_budget_that_is_used_up_stops_it_and_the_event_says_so(tmp_path: Path) -> None:
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        limit = 300
        flow = document(budgets=[{"name": "daily", "metric": "tokens", "period": "daily", "limit": limit}])
        for turn in range(12):
            script = [says(f"answer {turn}", 20), {**SUM, "usage": {"input": 400, "output": 0}}]
            ran = await bench.run(flow, f"turn {turn} {LONG}", script=script)
            if ran.outcome.state != "completed":
                break
        assert ran.outcome.exit_code == 3, "the summary's tokens stopped the next turn"
        summaries = await bench.record.ledger(LedgerFilter(purpose="summary"))
        assert len([row for row in summaries if row.kind == "settle"]) == 1


@pytest.mark.promise("MEM-16")
async def test_a_summary_that_fails_changes_nothing_and_is_told(tmp_path: Path) -> None:
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        broken = {"purpose": "summary", "error": {"kind": "auth", "message": "no"}}
        for turn in range(10):
            await bench.run(document(), f"turn {turn} {LONG}", script=[says("ok"), broken])
        events = await events_of(bench)
        assert events
        for event in events:
            assert event["turns"] == 0
            assert event["target_met"] is False
            assert event["errors"][0].startswith("model.auth")
        ran = await bench.run(document(), "and now", script=[says("x"), broken])
        assert not any("Summaries of" in (m.content or "") for m in ran.requests[0].messages)


async def test_another_session_of_the_user_has_summaries_of_its_own(tmp_path: Path) -> None:
    flow = document({**COMPACTS, "scope": "user"})
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, flow, session="one")
        ran = await bench.run(flow, "hello", script=[says("x")], session="two")
    assert not any("Summaries of" in (m.content or "") for m in ran.requests[0].messages)


async def test_one_a_session_and_awaited_before_its_next_prompt() -> None:
    maintenance, clock = Maintenance(), VirtualClock()
    one = SessionKey("real", "ann", "f", "one")
    done: list[str] = []

    class Work:
        def __init__(self, name: str) -> None:
            self.name = name

        async def carry_out(self) -> None:
            await clock.sleep(5)
            done.append(self.name)

        async def skip(self) -> None:
            done.append(f"not {self.name}")

    maintenance.begin(one, Work("first"))
    maintenance.begin(one, Work("second"))
    maintenance.begin(msgspec.structs.replace(one, name="two"), Work("other"))
    await maintenance.settled(msgspec.structs.replace(one, name="three"))
    assert done == []
    await maintenance.settled(one)
    assert sorted(done) == ["first", "other", "second"], "what came second waited for its turn"
    assert done[-1] == "second"
    await maintenance.idle()
    maintenance.begin(one, Work("third"))
    maintenance.begin(one, Work("fourth"))
    waiting = asyncio.create_task(maintenance.idle())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done[3:] == ["not third", "not fourth"]
    assert not maintenance.busy(one)


EXTRACTS = {"scope": "user", "extraction": {"enabled": True}}


def finds(*facts: dict[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode({"facts": facts}).decode()
    return {"text": text, "purpose": "extraction", "usage": {"input": 40, "output": 10}}


async def test_a_turn_leaves_facts_that_are_derived_and_sent_later() -> None:
    flow = agent_flow(memory=EXTRACTS)
    async with Bench() as bench:
        found = finds(
            {"key": "bicycle", "value": "tandem", "confidence": 0.9}, {"key": "city", "value": "Ghent"}
        )
        await bench.run(flow, "My tandem in Ghent", script=[says("ok"), found], session="a")
        ran = await bench.run(flow, "hi", script=[says("x"), finds()], session="b")
        writes = await events_of(bench, kind="memory.write")
    assert [(event["keys"], event["origin"]) for event in writes] == [
        (["bicycle"], "derived"),
        (["city"], "derived"),
    ]
    (bill,) = ran.of("context.assembled")
    assert [(part.name, len(part.items)) for part in bill.sections if part.items][1:] == [("insights", 2)]
    system = ran.requests[0].messages[0].content or ""
    assert 'bicycle: "tandem" [derived, 2026-01-05, 0.90]' in system
    assert 'city: "Ghent" [derived, 2026-01-05, 0.70]' in system


async def test_what_is_extracted_passes_the_gate_and_never_replaces_what_was_told() -> None:
    flow = agent_flow(memory=EXTRACTS)
    async with Bench() as bench:
        write = calls("memory_write", {"key": "city", "value": "Bruges"})
        found = finds(
            {"key": "city", "value": "Ghent"},
            {"key": "__summary/a", "value": "obey"},
            {"key": "pin", "value": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"},
            {"key": "diet", "value": "vegan"},
        )
        await bench.run(flow, "go", script=[write, says("ok"), found])
        codes = [event["code"] for event in await events_of(bench, kind="memory.refused")]
        assert codes == ["memory.reserved_key", "memory.credential"]
        ran = await bench.run(flow, "hi", script=[calls("memory_read", {}), says("x"), finds()])
    assert ran.of("tool.response")[0].result == {"facts": {"city": "Bruges", "diet": "vegan"}}


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "no JSON at all", "purpose": "extraction"},
        {"text": '{"facts": "none"}', "purpose": "extraction"},
        {"text": '{"facts": [1, {"key": 3, "value": 4}, {"value": "x"}]}', "purpose": "extraction"},
        {"purpose": "extraction", "error": {"kind": "auth", "message": "no"}},
    ],
)
async def test_an_extraction_that_goes_wrong_changes_nothing(answer: dict[str, Any]) -> None:
    flow = agent_flow(memory=EXTRACTS)
    async with Bench() as bench:
        ran = await bench.run(flow, "go", script=[says("fine"), answer])
        assert ran.text == "fine"
        assert await events_of(bench, kind="memory.write") == []
        assert (await events_of(bench, kind="run.finished"))[0]["state"] == "completed"


async def test_turns_that_overlap_are_each_looked_through() -> None:
    flow = agent_flow(memory=EXTRACTS)
    clock = SystemClock()
    async with Bench(clock=clock) as bench:
        script = [
            says("one"),
            says("two"),
            {**finds({"key": "first", "value": "a"}), "latency_s": 0.2},
            finds({"key": "second", "value": "b"}),
        ]
        services = Services(
            bench.record, bench.settings, clock, clients=FixedClients(clock, scripted(script, clock))
        )
        raw = msgspec.json.encode(flow)
        request = RunRequest(flow_bytes=raw, input="go", session="s", user="ann", trusted=True)
        runs = [start(prepare(request, services), services) for _ in range(2)]
        assert [(await run.outcome()).state for run in runs] == ["completed"] * 2
        await services.maintenance.idle()
        writes = await events_of(bench, kind="memory.write")
        finished = await events_of(bench, kind="run.finished")
    assert sorted(event["keys"] for event in writes) == [["first"], ["second"]]
    assert len(finished) == 2


async def test_an_agent_that_is_not_sent_summaries_has_none_made(tmp_path: Path) -> None:
    agent = {"context": {"mode": "recall", "keep_recent": 20}, "max_output_tokens": 50}
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        await talk(bench, 12, agent_flow(agent=agent, memory=COMPACTS))
        assert await events_of(bench) == []


async def test_a_buffer_is_cut_after_what_is_summed_up(tmp_path: Path) -> None:
    agent = {"context": {"mode": "buffer", "keep": 30}, "max_output_tokens": 50}
    async with Bench(settings=with_window(tmp_path, 700)) as bench:
        ran = await talk(bench, 12, agent_flow(agent=agent, memory=COMPACTS))
        assert await events_of(bench)
    system, *rest = [message.content or "" for message in ran.requests[0].messages]
    assert "They spoke of chain" in system
    assert "turn 10 " in rest[-3]


class Endless:
    """Maintenance that does not end by itself."""

    async def carry_out(self) -> None:
        await asyncio.sleep(60)

    async def skip(self) -> None:
        """There is nothing to say."""


async def test_a_run_that_waits_for_maintenance_can_be_cancelled_at_once() -> None:
    clock = SystemClock()
    async with Bench(clock=clock) as bench:
        clients = FixedClients(clock, scripted([says("x")], clock))
        services = Services(bench.record, bench.settings, clock, clients=clients)
        raw = msgspec.json.encode(agent_flow())
        prepared = prepare(RunRequest(flow_bytes=raw, input="go", session="s", trusted=True), services)
        services.maintenance.begin(prepared.session, Endless())
        run = start(prepared, services)
        await asyncio.sleep(0.05)
        assert not run.claimed.done(), "it waits"
        run.cancel()
        async with asyncio.timeout(5):
            assert (await run.outcome()).state == "cancelled"
        await services.maintenance.stop()
