"""Calls that end early on a model of which only the provider's own reports tell the price."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime.run.start import prepare, start
from tests.e2e.place import Happened, Place, asked, place, provider_settings
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import Play, answer
from tests.fake_model.server import FakeModel
from tests.flows import agent_flow

__all__ = ["fake_model"]
NANOS = 400_000_000
"""Forty cents."""
REPORTED: dict[str, Any] = {"prompt_tokens": 12, "completion_tokens": 3, "cost": 0.40}
CAPPED = agent_flow(budgets=[{"metric": "spend", "period": "session", "limit": "1.00"}])


def unpriced(fake: FakeModel) -> str:
    return provider_settings(fake.url, timeout_s=0.3).partition("[providers.fake.prices.m]")[0]


async def cancelled_in_flight(here: Place, fake: FakeModel) -> Happened:
    before = fake.count
    active = start(prepare(asked(CAPPED, "Hello"), here.services), here.services, lambda entry: None, None)
    while fake.count == before:
        await asyncio.sleep(0.005)
    active.cancel()
    return await here.look(await active.outcome())


@pytest.mark.promise("RUN-3", "LED-8", "BUD-18")
async def test_cancelled_call_is_charged_what_such_calls_cost(fake_model: FakeModel, tmp_path: Path) -> None:
    async with place(tmp_path, unpriced(fake_model)) as here:
        fake_model.play(answer(usage=REPORTED), answer(delay_s=30.0), answer(delay_s=30.0))
        await here.run(CAPPED)
        for _ in range(2):
            (row,) = (await cancelled_in_flight(here, fake_model)).settled()
            assert (row.cost, row.cost_source, row.estimated) == (NANOS, "estimate", True)
        stopped = await here.run(CAPPED)
        assert (stopped.outcome.exit_code, fake_model.count) == (3, 3)


@pytest.mark.promise("RUN-8", "LED-8")
@pytest.mark.parametrize("play", [answer(delay_s=30.0), answer(usage=None)], ids=["time-out", "no usage"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_call_without_figures_is_charged_what_such_calls_cost(
    play: Play, streamed: bool, fake_model: FakeModel, tmp_path: Path
) -> None:
    async with place(tmp_path, unpriced(fake_model)) as here:
        fake_model.play(answer(usage=REPORTED), play)
        await here.run(CAPPED, streamed=streamed)
        (row,) = (await here.run(CAPPED, streamed=streamed)).settled()
        assert (row.cost, row.cost_source, row.estimated) == (NANOS, "estimate", True)


@pytest.mark.promise("BUD-13")
async def test_first_call_without_figures_stays_unknown(fake_model: FakeModel, tmp_path: Path) -> None:
    async with place(tmp_path, unpriced(fake_model)) as here:
        fake_model.play(answer(usage=None))
        (row,) = (await here.run(CAPPED)).settled()
        assert (row.cost, row.cost_source, row.estimated) == (None, "unknown", True)


@pytest.mark.promise("BUD-13")
async def test_a_limit_in_money_that_cannot_hold_says_so(fake_model: FakeModel, tmp_path: Path) -> None:
    async with place(tmp_path, unpriced(fake_model)) as here:
        first = await here.run(CAPPED)
        assert first.of("agent.warning") == [], "the first call is what shows it"
        (warning,) = (await here.run(CAPPED)).of("agent.warning")
        assert warning["code"] == "budget.cost_unknown"
        assert "has no price" in warning["message"] and "at least $0.00 of $1.00" in warning["message"]


@pytest.mark.promise("BUD-13")
async def test_no_warning_where_the_cost_is_known(fake_model: FakeModel, tmp_path: Path) -> None:
    async with place(tmp_path, unpriced(fake_model)) as here:
        fake_model.default = answer(usage={**REPORTED, "cost": 0.01})
        for _ in range(2):
            assert (await here.run(CAPPED)).of("agent.warning") == []
