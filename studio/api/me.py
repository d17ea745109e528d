"""Who one is here, and what a run would be: which model and why, under which limits."""

from __future__ import annotations

import asyncio

import msgspec

from runtime.errors import BadSettings
from runtime.ledger import Subject, gauge_text
from runtime.providers import SCRIPTED
from runtime.settings import Settings
from studio.api.route import Call, Endpoint
from studio.api.shapes import GaugeOut, gauge_out
from studio.gauges import standing
from studio.version import version


class ModelOut(msgspec.Struct, frozen=True):
    """The default model of a run; `why` says where it comes from, or what is wrong with it."""

    name: str
    provider: str
    rehearsal: bool
    why: str


class LimitOut(msgspec.Struct, frozen=True):
    """One of the user's own limits, in words and numbers."""

    name: str
    text: str
    gauge: GaugeOut


class MeOut(msgspec.Struct, frozen=True, kw_only=True):
    """The acting user and this server. `db` is empty for whom it does not concern."""

    user: str
    role: str
    version: str
    db: str
    folder: str
    rehearsal_default: bool
    model: ModelOut
    limits: list[LimitOut]


async def me(call: Call) -> MeOut:
    """Who the credential is, and the default model and limits of a run."""
    if call.who.operator:
        await asyncio.to_thread(call.studio.refresh)
    model, folder = default_model(call.studio.settings), call.studio.folder.root
    return MeOut(
        user=call.who.user,
        role=call.who.role,
        version=version(),
        db=str(call.studio.settings.db) if call.who.operator else "",
        folder=str(folder) if call.who.operator else folder.name,
        rehearsal_default=model.rehearsal,
        model=model,
        limits=await _limits(call, model),
    )


def default_model(settings: Settings) -> ModelOut:
    """The model of a run that names none."""
    try:
        chosen = settings.resolve_model()
    except BadSettings as error:
        return ModelOut("", "", False, error.message)
    name = chosen.provider.name
    return ModelOut(str(chosen.model), name, name == SCRIPTED, _why(settings, rehearsal=name == SCRIPTED))


def _why(settings: Settings, *, rehearsal: bool) -> str:
    if settings.from_env.endpoint or settings.from_env.model:
        return "FARTHING_MODEL says so"
    if settings.folder_model:
        return "farthing.toml in this folder says so"
    if settings.default_model:
        return "default_model in your settings says so"
    return "no model is connected yet" if rehearsal else "it is the default"


async def _limits(call: Call, model: ModelOut) -> list[LimitOut]:
    """The user's own limits that any flow would meet on the default model."""
    rules = [
        budget.rule
        for budget in call.studio.settings.budgets
        if budget.flow is None and budget.rule in call.studio.settings.rules_for("", model.provider)
    ]
    partition = "rehearsal" if model.rehearsal else "real"
    subject = Subject(partition, call.who.user, "", "")
    found = await standing(call.studio.record, rules, subject, call.studio.services.clock.now())
    return [LimitOut(gauge.budget, gauge_text(gauge), gauge_out(gauge)) for gauge in found]


ENDPOINTS = (Endpoint("GET", "/me", "viewer", me, gives=MeOut, tag="me"),)
