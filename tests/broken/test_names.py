"""Ids that read like a part of another's pot, and the user id under which everyone is counted."""

from __future__ import annotations

import os
from typing import Any

import pytest

from runtime.errors import BadFlow, BadInput
from runtime.settings import load_settings
from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, says

POT: list[dict[str, Any]] = [{"metric": "tokens", "period": "daily", "limit": 100, "name": "b"}]


@pytest.mark.promise("BUD-12", "BUD-14", "MOD-9")
@pytest.mark.parametrize("field", ["id", "name"])
@pytest.mark.parametrize("found", ["shared:team", "settings", "limit", "*", "@admin", "a/b"])
async def test_flow_cannot_go_by_an_id_that_leads_into_another_pot(found: str, field: str) -> None:
    with pytest.raises(BadFlow) as caught:
        await run_flow(agent_flow(budgets=POT) | {field: found}, "Hello", script=[says("Hi")])
    assert repr(found) in str(caught.value)


async def test_name_may_hold_what_an_id_may_not() -> None:
    ran = await run_flow(agent_flow(budgets=POT) | {"id": "q", "name": "Q/A"}, "Hello", script=[says("Hi")])
    assert ran.outcome.state == "completed"


@pytest.mark.promise("BUD-8", "LED-2")
async def test_nobody_goes_by_the_name_of_everyone() -> None:
    with pytest.raises(BadInput, match="user"):
        await run_flow(agent_flow(budgets=POT), "Hello", script=[says("Hi")], user="*")


@pytest.mark.promise("EVT-7")
@pytest.mark.parametrize("what", ["user", "session"])
async def test_no_name_holds_a_configured_secret(what: str) -> None:
    secret = "very-secret-value-0815"
    settings = load_settings({"FARTHING_CONFIG": os.devnull, "OPENAI_API_KEY": secret}, folder=None)
    async with Bench(settings=settings) as bench:
        with pytest.raises(BadInput) as caught:
            names: dict[str, Any] = {what: f"a-{secret}"}
            await bench.run(agent_flow(), "Hello", script=[says("Hi")], **names)
    assert caught.value.code == "run.secret_name"
    assert secret not in str(caught.value)
