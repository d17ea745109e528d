"""A model as a doctor tries it: one small call, asked for by name, under every budget and in the ledger."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from runtime.cli.doctor_report import Problem, Section
from runtime.cli.opening import opened
from runtime.cli.plain import clip, one_line
from runtime.cli.run_result import cost_json, cost_text, usage_json
from runtime.clock import SystemClock
from runtime.errors import FarthingError
from runtime.settings import Settings

if TYPE_CHECKING:
    from runtime.run.start import Outcome

ANSWER = 60
"""Columns of the model's answer that are shown."""


def call_section(settings: Settings, flag: str | None, user: str, problems: list[Problem]) -> Section:
    """What one call to the model gave, used and cost."""
    try:
        model = str(settings.resolve_model(flag).model)
        outcome = asyncio.run(_call(settings, model, user))
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or ""))
        return Section("test call", ["not made"], {"made": False})
    if outcome.error is not None:
        problems.append(Problem(f"{model}: {outcome.error.message}", outcome.error.remedy or ""))
    return Section("test call", _lines(model, outcome), _data(model, outcome))


async def _call(settings: Settings, model: str, user: str) -> Outcome:
    from runtime.cli.probe import try_model
    from runtime.run.services import Services

    clock = SystemClock()
    async with opened(settings.db, clock) as record:
        services = Services(record, settings, clock)
        try:
            return await try_model(services, model, user)
        finally:
            await services.clients.close()


def _lines(model: str, outcome: Outcome) -> list[str]:
    kind = " (a rehearsal)" if outcome.rehearsal else ""
    answer = str(next(iter(outcome.outputs.values()), ""))
    lines = [f"{one_line(model)}{kind}: {outcome.state}"]
    if answer:
        lines.append(f"answered: {clip(one_line(answer), ANSWER)}")
    usage = outcome.usage
    lines.append(
        f"{usage.input:,} tokens in, {usage.output:,} out, {cost_text(outcome.cost, outcome.unknown)}"
    )
    lines.append(f"in the ledger as run {outcome.run_id}, purpose test")
    return lines


def _data(model: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "made": True,
        "model": model,
        "rehearsal": outcome.rehearsal,
        "state": outcome.state,
        "run_id": outcome.run_id,
        "answer": next(iter(outcome.outputs.values()), None),
        "usage": usage_json(outcome.usage),
        "cost": cost_json(outcome.cost, outcome.unknown),
        "error": outcome.error,
    }
