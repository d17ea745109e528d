"""Connecting a model: which providers there are and what each needs, one test call, and its key, which goes
in and never comes back."""

from __future__ import annotations

import asyncio

import msgspec

from runtime.cli.probe import try_model
from runtime.errors import BadInput, BadSettings, NotFound
from runtime.ledger import amount_text
from runtime.providers import SCRIPTED, Provider
from runtime.settings import Settings, write_key
from studio.api.me import ModelOut, default_model
from studio.api.route import Call, Endpoint
from studio.api.shapes import UsageOut, amount_out, cost_out, usage_out

MAX_NAME_CHARS = 300


class ProviderOut(msgspec.Struct, frozen=True, kw_only=True):
    """A provider: `needs` says in words what is missing or needed, null where nothing is; `key_from` where
    its key came from or should come from. `free`: its calls cost nothing."""

    name: str
    configured: bool
    needs: str | None
    takes_key: bool
    key_from: str | None
    default_model: str | None
    free: bool


class OwnBudgetOut(msgspec.Struct, frozen=True, kw_only=True):
    """One of the user's own limits as the settings have it."""

    name: str
    metric: str
    period: str
    limit: int | str | None
    text: str
    everyone: bool
    flow: str | None
    provider: str | None
    paid_only: bool


class SettingsOut(msgspec.Struct, frozen=True, kw_only=True):
    """The settings without anything secret. `paths` and `warnings` are for operators."""

    model: ModelOut
    providers: list[ProviderOut]
    budgets: list[OwnBudgetOut]
    warnings: list[str]
    paths: dict[str, str]


class TryIn(msgspec.Struct, frozen=True):
    """The model to try: `provider:name`, or a provider with a default model."""

    model: str


class TryErrorOut(msgspec.Struct, frozen=True):
    """Why it did not work."""

    code: str
    message: str
    remedy: str | None


class TryOut(msgspec.Struct, frozen=True, kw_only=True):
    """What the test call gave and used."""

    ok: bool
    model: str
    ms: int
    usage: UsageOut
    cost: str | None
    text: str | None
    error: TryErrorOut | None
    session_uid: str | None


class ProviderKeyIn(msgspec.Struct, frozen=True):
    """A provider's API key."""

    provider: str
    key: str

    def __repr__(self) -> str:
        return f"ProviderKeyIn(provider={self.provider!r})"


async def settings(call: Call) -> SettingsOut:
    """The settings that matter for runs; keys only as "set" or "missing"."""
    if call.who.operator:
        await asyncio.to_thread(call.studio.refresh)
    known = call.studio.settings
    paths, warnings = dict[str, str](), list[str]()
    if call.who.operator:
        paths = {"settings": str(known.path), "database": str(known.db), "keys": str(known.keys)}
        warnings = [*([call.studio.trouble] if call.studio.trouble else []), *known.warnings]
    return SettingsOut(
        model=default_model(known),
        providers=[provider_out(known, provider) for provider in known.providers.values()],
        budgets=[
            OwnBudgetOut(
                name=budget.rule.name,
                metric=budget.rule.metric,
                period=budget.rule.period,
                limit=amount_out(budget.rule.metric, budget.rule.limit),
                text=f"{amount_text(budget.rule.metric, budget.rule.limit)} {budget.rule.period}",
                everyone=budget.rule.everyone,
                flow=budget.flow,
                provider=budget.provider,
                paid_only=budget.paid_only,
            )
            for budget in known.budgets
        ],
        warnings=warnings,
        paths=paths,
    )


def provider_out(known: Settings, provider: Provider) -> ProviderOut:
    """A provider without its key."""
    takes_key, usable = provider.name in known.needs_key, known.usable(provider.name)
    needs = None
    if not usable:
        needs = f"an API key: paste it here, or set {provider.key_from}"
    elif provider.free and provider.name != SCRIPTED:
        needs = f"a server that answers at {provider.base_url}"
    return ProviderOut(
        name=provider.name,
        configured=usable,
        needs=needs,
        takes_key=takes_key,
        key_from=provider.key_from or None,
        default_model=provider.default_model,
        free=provider.free or provider.name == SCRIPTED,
    )


async def test_model(call: Call) -> TryOut:
    """Make one small call to a model, under the user's budgets, and say how it went."""
    name = call.body.model.strip()
    if not name or len(name) > MAX_NAME_CHARS:
        raise BadInput("Name the model to try.", remedy="For example openai:gpt-4.1-mini.")
    await asyncio.to_thread(call.studio.refresh)
    clock = call.studio.services.clock
    began = clock.monotonic()
    try:
        outcome = await try_model(call.studio.services, name, call.who.user)
    except BadSettings as error:
        told = TryErrorOut(error.code, error.message, error.remedy)
        return TryOut(
            ok=False, model=name, ms=0, usage=UsageOut(0, 0, 0, 0, 0, 0), cost=None, text=None, error=told,
            session_uid=None,
        )  # fmt: skip
    failure = outcome.error
    return TryOut(
        ok=outcome.state == "completed",
        model=name,
        ms=round((clock.monotonic() - began) * 1000),
        usage=usage_out(outcome.usage),
        cost=cost_out(outcome.cost, outcome.unknown),
        text=str(outcome.outputs.get("probe", ""))[:200] or None,
        error=None if failure is None else TryErrorOut(failure.code, failure.message, failure.remedy),
        session_uid=outcome.session_uid,
    )


async def put_key(call: Call) -> None:
    """Keep a provider's key: in the system's keyring where there is one, else in a private file."""
    known, name = call.studio.settings, call.body.provider
    if name not in known.providers:
        raise NotFound(f"There is no provider {name!r}.", remedy=f"There are: {', '.join(known.providers)}.")
    if name not in known.needs_key:
        raise BadInput(f"The provider {name!r} takes no key here.", remedy="Change it in your settings.")
    await asyncio.to_thread(write_key, known.keys, name, call.body.key)
    await asyncio.to_thread(call.studio.refresh)


ENDPOINTS = (
    Endpoint("GET", "/settings", "viewer", settings, gives=SettingsOut, tag="settings"),
    Endpoint("POST", "/models/test", "operator", test_model, body=TryIn, gives=TryOut, tag="settings"),
    Endpoint("PUT", "/models/key", "operator", put_key, body=ProviderKeyIn, status=204, tag="settings"),
)
