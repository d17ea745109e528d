"""Derived facts are cared for when old turns are summed up, and another model may write the summaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.clock import VirtualClock
from runtime.facts import FactWrite, Shelf
from runtime.record import LedgerFilter
from runtime.run.services import Services
from runtime.run.start import RunRequest, prepare
from runtime.settings import load_settings
from runtime.testing import Bench
from runtime.testing.bench import FixedClients, scripted
from tests.flows import agent_flow, says
from tests.runtime.memory_service.test_assembly import with_window
from tests.runtime.memory_service.test_maintenance import COMPACTS, EXTRACTS, document, events_of, finds, talk

SHELF = Shelf("real", "f", "user", "local")


async def derive(bench: Bench, **facts: str) -> None:
    for key, value in facts.items():
        write = FactWrite(key=key, value=value, origin="derived", confidence=0.7)
        await bench.record.write_fact(SHELF, write, bench.clock.now(), lambda _written: [], run_id=None)


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, {"brakes": "model", "drink": "model"}),
        ({"insight_dedup_enabled": False}, {"brakes": "model", "older": "model", "drink": "model"}),
        ({"insight_similarity_threshold": 1.0, "promote_hits": 99}, ("brakes", "drink", "older")),
    ],
)
async def test_summing_up_also_cares_for_derived_facts(
    tmp_path: Path, settings: dict[str, Any], left: Any
) -> None:
    words = "wants the rear brakes of the red tandem looked at before each of the long summer tours with ada"
    flow = document({"scope": "user", **COMPACTS, "injection": {"tokens": 300}})
    compaction = flow["nodes"][3]["config"]["compaction"]
    flow["nodes"][3]["config"]["compaction"] = {**compaction, **settings}
    async with Bench(settings=with_window(tmp_path, 900)) as bench:
        await derive(bench, older=words, drink="tea")
        clock = bench.clock
        assert isinstance(clock, VirtualClock)
        clock.advance(60)
        await derive(bench, brakes=words)
        await talk(bench, 16, flow)
        assert await events_of(bench)
        facts = await bench.record.facts(SHELF)
        found = {fact.key: fact.origin for fact in facts if not fact.internal}
        told = await events_of(bench, kind="memory.consolidated")
    if isinstance(left, tuple):
        assert tuple(sorted(found)) == left
        assert told == []
        return
    assert found == left, "what so many runs used stays"
    merged = [change for event in told for change in event["changes"] if change["action"] == "merge"]
    assert [(change["key"], change["by"]) for change in merged] == (
        [] if "older" in left else [("older", "brakes")]
    )


async def test_another_model_may_write_the_summaries(tmp_path: Path) -> None:
    compaction = {**COMPACTS["compaction"], "model": "local:small"}
    raw = msgspec.json.encode(document({"compaction": compaction}))
    path = tmp_path / "config.toml"
    path.write_text('default_model = "local:m"\n[providers.local]\nwindow = 700\n')
    path.chmod(0o600)
    chosen = load_settings({"FARTHING_CONFIG": str(path)}, folder=None)
    async with Bench(settings=chosen) as bench:
        clients = FixedClients(bench.clock, scripted([says("x")], bench.clock))
        services = Services(bench.record, bench.settings, bench.clock, clients=clients)
        request = RunRequest(flow_bytes=raw, input="go", session="s", user="ann", trusted=True)
        assigned = prepare(request, services).assignments
        assert [given[0].model.name for given in assigned.values()] == ["m", "small"]
        ran = await talk(bench, 12, document({"compaction": compaction}))
        assert ran.outcome.state == "completed"
        rows = await bench.record.ledger(LedgerFilter(purpose="summary"))
        assert {str(row.model) for row in rows if row.kind == "settle"} == {"local:small"}


@pytest.mark.parametrize("origin", ["user", "model"])
async def test_what_is_extracted_never_retires_what_was_told_of_the_same(origin: Any) -> None:
    shelf = SHELF._replace(partition="rehearsal")
    async with Bench() as bench:
        told = FactWrite(key="told", value="coffee", origin=origin, subject="ada", attribute="drink")
        await bench.record.write_fact(shelf, told, bench.clock.now(), lambda _written: [], run_id=None)
        found = finds(
            {"key": "guess", "value": "tea", "subject": "Ada", "attribute": "drink"},
            {"key": "other", "value": "cake", "subject": "Ada", "attribute": "food"},
        )
        await bench.run(agent_flow(memory=EXTRACTS), "go", script=[says("ok"), found])
        assert [fact.key for fact in await bench.record.facts(shelf)] == ["other", "told"]
