"""Budgets as runs meet them: the decision before each step, what counts, and what is said."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from runtime.clock import VirtualClock
from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.spec import load_flow
from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, calls, flow, node, says

# From the text that describes the decision: usage recorded before the step decides it, at >=.
Step = tuple[int, str, int]
"""Used before, the decision, calls made."""
RUNS: dict[str, tuple[int, list[list[int]], list[Step]]] = {
    "crosses_then_blocks": (
        100,
        [[50], [35], [30], [10]],
        [(0, "ok", 1), (50, "ok", 1), (85, "warning", 1), (115, "error", 0)],
    ),
    "zero_limit_blocks_first": (0, [[10]], [(0, "error", 0)]),
    "thinker_two_calls_no_check_between": (
        100,
        [[60], [30, 25], [1]],
        [(0, "ok", 1), (60, "ok", 2), (115, "error", 0)],
    ),
    "no_usage_reported_never_blocks": (100, [[0], [0], [0], [0]], [(0, "ok", 1)] * 4),
}


@pytest.mark.promise("BUD-2")
@pytest.mark.golden
@pytest.mark.parametrize("name", RUNS)
async def test_budget_runs_decide_as_the_text_says(name: str) -> None:
    limit, per_step, steps = RUNS[name]
    budget = {"metric": "tokens", "period": "session", "limit": limit, "threshold_pct": 80}
    async with Bench() as bench:
        for (before, decision, made), tokens in zip(steps, per_step, strict=True):
            two = len(tokens) == 2
            document = agent_flow(agent={"strategy": "thinker" if two else "tools"}, budgets=[budget])
            replies = (
                [says("I think.", tokens[0]), says('{"action": "answer", "answer": "x"}', tokens[1])]
                if two
                else [says("x", tokens[0])]
            )
            ran = await bench.run(document, "go", script=replies, strict=True)
            assert len(ran.requests) == made
            assert bool(ran.of("agent.error")) == (decision == "error")
            assert bool(ran.of("agent.warning")) == (decision == "warning")
            (gauge,) = ran.outcome.gauges
            assert gauge.used == before + sum(tokens[:made])
            assert gauge.held == 0


@pytest.mark.promise("BUD-1")
async def test_exceeded_says_which_budget_the_numbers_the_reset_and_the_field() -> None:
    document = agent_flow(budgets=[{"metric": "spend", "period": "daily", "limit": "0.50", "name": "purse"}])
    async with Bench() as bench:
        await bench.run(document, "a", script=[says("x", cost="0.60")])
        ran = await bench.run(document, "b", script=[says("never")], strict=True)
    assert ran.requests == ()
    assert ran.outcome.exit_code == 3
    assert ran.outcome.state == "failed"
    (error,) = ran.of("agent.error")
    assert error.code == "budget.exceeded"
    assert (
        error.message
        == "The budget 'purse' is used up: $0.60 of $0.50 today, resets 00:00 UTC Tuesday 6 January."
    )
    assert "`limit` of the budget 'b0'" in error.remedy
    assert (error.gauge.used, error.gauge.limit) == (600_000_000, 500_000_000)


@pytest.mark.promise("BUD-8")
async def test_concurrent_runs_never_overspend_by_more_than_one_call() -> None:
    document = agent_flow(budgets=[{"metric": "spend", "period": "session", "limit": "1.00"}])
    reply = says("x", cost="0.40", latency_s=0.2)
    async with Bench() as bench:
        made = await asyncio.gather(
            *(bench.run(document, "go", script=[reply], strict=True) for _ in range(8))
        )
        ninth = await bench.run(document, "go", script=[reply], strict=True)
    sent = sum(len(ran.requests) for ran in made)
    assert sent == 3
    assert sum(ran.outcome.cost for ran in made) == sent * 400_000_000
    assert [ran.outcome.exit_code for ran in made].count(3) == 5
    assert ninth.requests == ()
    (gauge,) = ninth.outcome.gauges
    assert (gauge.used, gauge.held) == (1_200_000_000, 0)


@pytest.mark.promise("BUD-8")
async def test_first_calls_of_a_new_user_cannot_bypass_the_cap() -> None:
    document = agent_flow(budgets=[{"metric": "spend", "period": "lifetime", "limit": "0.50"}])
    async with Bench() as bench:
        reply = says("x", cost="0.30", latency_s=0.1)
        made = await asyncio.gather(
            *(bench.run(document, "go", script=[reply], user="new", session=f"s{i}") for i in range(8))
        )
    assert sum(len(ran.requests) for ran in made) <= 2
    (gauge,) = made[-1].outcome.gauges
    assert gauge.used == 300_000_000 * sum(len(ran.requests) for ran in made)


@pytest.mark.promise("LED-5")
@pytest.mark.parametrize("cached", [{"cached": 9000, "reasoning": 800}, {"cached": 9000}])
async def test_cached_and_reasoning_tokens_are_counted_once(cached: dict[str, int]) -> None:
    usage = {"input": 10_000, "output": 1_000, **cached}
    for limit, allowed in ((11_000, 0), (11_001, 1)):
        document = agent_flow(budgets=[{"metric": "tokens", "period": "session", "limit": limit}])
        async with Bench() as bench:
            first = await bench.run(document, "a", script=[{"text": "x", "usage": usage}])
            assert first.outcome.usage.tokens == 11_000
            assert first.outcome.cost == 5_900_000  # $0.0010 + $0.0009 + $0.0040 at 1.00, 0.10 and 4.00
            second = await bench.run(document, "b", script=[says("y")])
            assert len(second.requests) == allowed


@pytest.mark.promise("BUD-6")
async def test_a_call_belongs_to_the_day_in_which_it_was_reserved() -> None:
    from datetime import UTC, datetime

    clock = VirtualClock(datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC))
    document = agent_flow(
        budgets=[
            {"metric": "spend", "period": "daily", "limit": "1.00"},
            {"metric": "spend", "period": "weekly", "limit": "1.00", "name": "week"},
        ]
    )
    async with Bench(clock=clock) as bench:
        late = await bench.run(document, "a", script=[says("x", cost="1.00", latency_s=3)])
        assert [gauge.used for gauge in late.outcome.gauges] == [0, 0]  # now it is Monday
        clock.set(datetime(2026, 11, 2, 0, 0, 10, tzinfo=UTC))
        assert len((await bench.run(document, "b", script=[says("y")])).requests) == 1
    blocked = VirtualClock(datetime(2026, 11, 1, 23, 59, 50, tzinfo=UTC))
    async with Bench(clock=blocked) as bench:
        await bench.run(document, "a", script=[says("x", cost="1.00")])
        blocked.set(datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC))
        assert (await bench.run(document, "b", script=[says("y")], strict=True)).requests == ()
        blocked.set(datetime(2026, 11, 2, tzinfo=UTC))
        assert len((await bench.run(document, "c", script=[says("y")])).requests) == 1


@pytest.mark.promise("BUD-7")
async def test_the_narrowest_exceeded_budget_is_named() -> None:
    document = agent_flow(
        budgets=[
            {"metric": "spend", "period": "weekly", "limit": "0.50", "name": "week"},
            {"metric": "spend", "period": "daily", "limit": "0.50", "name": "day"},
        ]
    )
    async with Bench() as bench:
        await bench.run(document, "a", script=[says("x", cost="0.60")])
        ran = await bench.run(document, "b", script=[says("y")])
    assert "'day'" in ran.of("agent.error")[0].message


@pytest.mark.promise("BUD-15")
async def test_limits_on_the_command_line_govern_besides_the_flow() -> None:
    ran = await run_flow(
        agent_flow(memory={}),
        "go",
        script=[calls("memory_read", {}, 600), says("never", 1)],
        limits=["tokens=500"],
        strict=True,
    )
    assert len(ran.requests) == 1
    assert ran.outcome.exit_code == 3
    assert "--limit tokens" in ran.of("agent.error")[0].remedy


@pytest.mark.promise("BUD-11")
async def test_strict_refuses_a_call_that_would_not_fit() -> None:
    budget: dict[str, Any] = {"metric": "tokens", "period": "session", "limit": 1000, "strict": True}
    document = agent_flow(agent={"max_output_tokens": 2000}, budgets=[budget])
    ran = await run_flow(document, "go", script=[says("never")], strict=True)
    assert ran.requests == ()
    said = ran.of("agent.error")[0].message
    assert "too little left" in said and "last 20 calls" not in said


async def test_strict_says_where_an_estimate_comes_from_that_is_another_calls() -> None:
    async with Bench() as bench:
        await bench.run(agent_flow(name="large"), "go", script=[says("x", 5000)])
        budget: dict[str, Any] = {"metric": "tokens", "period": "session", "limit": 1000, "strict": True}
        small = agent_flow(agent={"max_output_tokens": 20}, budgets=[budget], name="small")
        ran = await bench.run(small, "go", script=[says("never")])
    assert "as one of the last 20 calls of its model did" in ran.of("agent.error")[0].message


@pytest.mark.promise("BUD-3")
@pytest.mark.parametrize("limit", [0, None, "", "0.00"])
async def test_an_empty_limit_blocks_the_first_step_and_the_validator_says_so(limit: Any) -> None:
    document = agent_flow(budgets=[{"metric": "spend", "period": "session", "limit": limit}])
    plan = compile_flow(load_flow(msgspec.json.encode(document)), installed())
    assert [problem.code for problem in plan.warnings] == ["budget.zero"]
    ran = await run_flow(document, "go", script=[says("never")], strict=True)
    assert ran.requests == ()
    assert ran.outcome.exit_code == 3


@pytest.mark.promise("BUD-12")
async def test_equal_pots_count_together_and_the_lowest_limit_binds() -> None:
    pots = [{"metric": "tokens", "limit": limit, "pot": "both", "name": f"l{limit}"} for limit in (100, 50)]
    document = flow(
        [
            node("start", "input"),
            *(node(name, "agent") for name in ("a", "b")),
            *(node(f"p{i}", "budget", **pot) for i, pot in enumerate(pots)),
            node("end", "output"),
        ],
        [("start", "a"), ("a", "b"), ("b", "end"), ("p0", "a", "budget"), ("p1", "b", "budget")],
    )
    ran = await run_flow(document, "go", script={"a": [says("x", 60)], "b": [says("never")]}, strict=True)
    assert len(ran.requests) == 1
    assert "'l50' is used up: 60 tokens of 50 tokens" in ran.of("agent.error")[0].message
    assert [gauge.used for gauge in ran.outcome.gauges] == [60, 60]


@pytest.mark.parametrize(
    ("period", "model", "said"),
    [
        ("daily", "local:m", "`farthing budget raise b0 --to 10000 --reason WHY --flow f`."),
        ("daily", "scripted", "`farthing budget raise b0 --to 10000 --reason WHY --flow f --rehearsal`."),
        ("session", "scripted", "--session UID --flow f --rehearsal`."),
        ("run", "scripted", "Raise `limit` of the budget 'b0'."),
    ],
)
async def test_the_raise_that_is_proposed_is_one_of_the_budget_that_stopped(
    period: str, model: str, said: str
) -> None:
    async with Bench() as bench:
        document = agent_flow(budgets=[{"metric": "tokens", "period": period, "limit": 0}])
        ran = await bench.run(document, "go", name=model)
    (error,) = ran.of("agent.error")
    assert error.remedy.endswith(said.replace("UID", ran.outcome.session_uid))
