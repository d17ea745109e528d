"""Usage as facts: read from the ledger's counters when asked for, never sent by itself, never written."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says

BUDGETS: list[dict[str, Any]] = [
    {"name": "daily", "metric": "tokens", "period": "daily", "limit": 5000},
    {"name": "run", "metric": "spend", "period": "run", "limit": "1.50", "unknown_cost": "warn"},
]
DAILY, RUN = "usage/f/daily/tokens/daily", "usage/f/run/spend/run"


def read(ran: Ran, call: int = 0) -> Any:
    return ran.of("tool.response")[call].result


async def test_a_budget_is_read_as_it_stands() -> None:
    document = agent_flow(memory={"scope": "user"}, budgets=BUDGETS)
    async with Bench() as bench:
        await bench.run(document, "go", script=[says("x", 700, cost="0.25")])
        script = [
            calls("memory_read", {"keys": [DAILY]}, 100, cost="0.25"),
            calls("memory_read", {"keys": ["usage/"]}, 50, cost="0.50"),
            says("x"),
        ]
        ran = await bench.run(document, "go", script=script, strict=True)
    day = "2026-01-06T00:00:00+00:00"
    assert read(ran) == {
        "facts": {DAILY: {"used": 800, "limit": 5000, "left": 4200, "unit": "tokens", "resets_at": day}}
    }
    whole = read(ran, 1)["facts"]
    assert whole[DAILY]["used"] == 850
    assert whole[RUN] == {
        "used": "0.75",
        "limit": "1.5",
        "left": "0.75",
        "unit": "dollars",
        "resets_at": None,
    }
    assert list(whole) == [DAILY, RUN]


async def test_of_two_limits_on_one_pot_the_narrowest_is_read() -> None:
    budgets: list[dict[str, Any]] = [
        {"pot": "p", "metric": "tokens", "period": "run", "limit": limit, "name": str(limit)}
        for limit in (900, 300, 600)
    ]
    script = [calls("memory_read", {"keys": ["usage/f/p/tokens/run"]}, 10), says("x")]
    ran = await run_flow(agent_flow(memory={}, budgets=budgets), "go", script=script, strict=True)
    assert read(ran)["facts"]["usage/f/p/tokens/run"]["limit"] == 300


@pytest.mark.promise("MEM-17")
async def test_they_are_never_sent_nor_among_all_facts_nor_written() -> None:
    document = agent_flow(memory={}, budgets=BUDGETS)
    script = [
        calls("memory_read", {}),
        calls("memory_write", {"key": DAILY, "value": 0}),
        calls("memory_read", {"keys": ["usage/f/other/tokens/daily", "name"]}),
        says("x"),
    ]
    ran = await run_flow(document, "go", script=script, strict=True)
    assert read(ran) == {"facts": {}}
    assert ran.of("memory.refused")[0].code == "memory.reserved_key"
    assert read(ran, 2)["absent"] == ["usage/f/other/tokens/daily", "name"]
    assert "usage/" not in "".join(m.content or "" for m in ran.requests[0].messages)


async def test_the_model_is_told_only_where_there_are_budgets() -> None:
    with_budgets = await run_flow(agent_flow(memory={}, budgets=BUDGETS), "go", script=[says("x")])
    without = await run_flow(agent_flow(memory={}), "go", script=[says("x")])
    assert "usage/" in with_budgets.requests[0].tools[0].description
    assert "usage/" not in without.requests[0].tools[0].description


async def test_nobody_reads_the_usage_of_another_user() -> None:
    document = agent_flow(memory={"scope": "user"}, budgets=BUDGETS)
    async with Bench() as bench:
        await bench.run(document, "go", script=[says("x", 700)], user="ann")
        script = [calls("memory_read", {"keys": [DAILY]}, 0), says("x")]
        ran = await bench.run(document, "go", script=script, user="eve", strict=True)
    assert read(ran)["facts"][DAILY]["used"] == 0
