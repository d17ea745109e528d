"""Spend as an assertion: exact numbers, bounds, and a bill that shows where the difference is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from runtime.testing import Ran, assert_spend, run_flow
from tests.flows import agent_flow, calls, flow, node, says


async def two_calls() -> Ran:
    script = [
        calls("memory_read", {}, usage={"input": 100, "output": 20}, cost="0.0002"),
        {"error": {"kind": "rate_limited"}},
        says("Fine.", usage={"input": 150, "output": 10}, cost="0.0003"),
    ]
    return await run_flow(agent_flow(memory={}), "Hello", script=script, strict=True)


RIGHT: list[dict[str, Any]] = [
    {"calls": 3, "tokens": 280, "cost": "0.0005"},
    {"cost": Decimal("0.0005"), "node": "a", "purpose": "main"},
    {"at_most_calls": 3, "at_most_tokens": 280, "at_most_cost": "0.0005"},
    {"calls": 0, "tokens": 0, "cost": 0, "node": "nobody"},
    {},
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"calls": 2}, "3 calls, not 2"),
    ({"tokens": 281}, "280 tokens, not 281"),
    ({"cost": "0.0006"}, "500,000 nano-dollars, not 600,000"),
    ({"at_most_calls": 2}, "3 calls, more than 2"),
    ({"at_most_tokens": 279}, "280 tokens, more than 279"),
    ({"at_most_cost": "0.000499999"}, "500,000 nano-dollars, more than 499,999"),
]


@pytest.mark.parametrize("wanted", RIGHT, ids=str)
async def test_spend_that_is_right_passes(wanted: dict[str, Any]) -> None:
    assert_spend(await two_calls(), **wanted)


@pytest.mark.parametrize(("wanted", "said"), WRONG, ids=str)
async def test_spend_that_is_wrong_shows_the_bill(wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError) as told:
        assert_spend(await two_calls(), **wanted)
    lines = str(told.value).splitlines()
    assert lines == [
        f"The run used otherwise: {said}.",
        "  a step 1 main: 100 in, 20 out, $0.0002",
        "  a step 2 main: 0 in, 0 out, $0 (model.rate_limited)",
        "  a step 2 main: 150 in, 10 out, $0.0003 (attempt 2)",
    ]


async def test_unknown_cost_fits_no_cost() -> None:
    ran = await run_flow(agent_flow(), "Hello", script=[says("Fine.", 5, cost=None)], strict=True)
    assert_spend(ran, calls=1, tokens=5)
    bounds: list[dict[str, Any]] = [{"cost": 0}, {"at_most_cost": 1}]
    for wanted in bounds:
        with pytest.raises(AssertionError, match="1 of the calls have no known cost"):
            assert_spend(ran, **wanted)


async def test_run_without_a_model_has_used_nothing() -> None:
    ran = await run_flow(flow([node("start", "input"), node("end", "output")], [("start", "end")]), "x")
    assert_spend(ran, calls=0, tokens=0, cost=0)
    with pytest.raises(AssertionError, match="no model call"):
        assert_spend(ran, calls=1)


async def test_floats_are_no_money() -> None:
    with pytest.raises(TypeError, match="as text"):
        assert_spend(await two_calls(), cost=0.0005)  # type: ignore[arg-type]
