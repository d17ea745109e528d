"""A model's judgement of facts that are alike: which models can be asked and what each may cost at most,
beginning it, and cancelling it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from runtime.calls.pricing import prices_of
from runtime.errors import BadInput, InputError
from runtime.providers import BUILT_IN, SCRIPTED
from runtime.settings import Settings
from runtime.usage import decimal_text
from studio.api.consolidation import ProgressOut, progress_out
from studio.api.route import Call, Endpoint
from studio.api.whose import WhoseIn, whose_of

if TYPE_CHECKING:
    from runtime.run.consolidation import Asking

MOST_LIMITS = 8
MOST_MODELS = 20
"""Configured models that are offered."""
MAX_NAME_CHARS = 300


class JudgingQuery(WhoseIn, frozen=True, kw_only=True):
    """Whose facts (null: one's own), and a model (`provider:name`) that is to be offered besides those that
    are configured."""

    model: str | None = None


class OfferOut(msgspec.Struct, frozen=True, kw_only=True):
    """A model that could be asked: `input` and `output` are dollars a million tokens, null where unknown;
    `free`: it costs nothing. `calls`, `tokens` and `cost` (null: unknown) are what asking uses at most."""

    name: str
    default: bool
    free: bool
    input: str | None
    output: str | None
    calls: int
    tokens: int
    cost: str | None


class AskingOut(msgspec.Struct, frozen=True, kw_only=True):
    """What the default model could be asked now: so many pairs of facts that are alike and that none was
    asked about before, with at most so many calls and tokens, for `cost` dollars (null: unknown). `model`
    null: there is none. `why`: what is wrong with the one that is named. `models`: all that could be asked,
    the default first; where there are none, only the rules apply."""

    model: str | None
    why: str | None
    pairs: int
    calls: int
    tokens: int
    cost: str | None
    models: list[OfferOut]


class JudgeIn(WhoseIn, frozen=True, kw_only=True):
    """Whose facts (null: one's own), the model to ask (null: the default), and what asking may use beside the
    user's own budgets: `tokens=20000`, `spend=0.05`."""

    model: str | None = None
    limits: tuple[str, ...] = ()


async def judging(call: Call) -> AskingOut:
    """What a model could be asked about a user's facts, and what that may cost at most; nobody is asked."""
    from runtime.run.consolidation import Wish, asking, offers

    query: JudgingQuery = call.query
    whose = whose_of(call, query)
    if call.who.operator:
        await asyncio.to_thread(call.studio.refresh)
    services = call.studio.services
    wish = Wish(partition=whose.partition, user_id=whose.user_id, actor=call.who.user)
    default, why = _default(services.settings, rehearsal=whose.partition == "rehearsal")
    names = [] if default is None else [default]
    names += [] if whose.partition == "rehearsal" else configured(services.settings)
    names = list(dict.fromkeys(names))[:MOST_MODELS]
    if query.model is not None:
        names = list(dict.fromkeys([*names, _named(services.settings, query.model)]))
    found = await offers(services, wish, names)
    first = await asking(services, wish) if default is None else found[0]
    return AskingOut(
        model=first.model,
        why=why,
        pairs=first.pairs,
        calls=first.most.calls,
        tokens=first.most.tokens,
        cost=decimal_text(first.most.cost),
        models=[_offer(call, each, default=each is first) for each in found],
    )


def configured(settings: Settings) -> Iterator[str]:
    """Models that the settings know and that can be used: the providers' own and those with a price. A server
    on one's own machine counts where the settings name it."""
    for provider in settings.providers.values():
        if (provider in BUILT_IN and provider.free) or provider.name == SCRIPTED:
            continue
        if settings.usable(provider.name):
            own = [provider.default_model] if provider.default_model else []
            yield from (f"{provider.name}:{name}" for name in (*own, *provider.prices))


def _default(settings: Settings, *, rehearsal: bool) -> tuple[str | None, str | None]:
    """The model that is asked where none is named, or why there is none."""
    try:
        chosen = settings.resolve_model(SCRIPTED if rehearsal else None)
    except InputError as error:
        return None, error.message
    return (None, None) if chosen.provider.name == SCRIPTED and not rehearsal else (str(chosen.model), None)


def _named(settings: Settings, given: str) -> str:
    if not given.strip() or len(given) > MAX_NAME_CHARS:
        raise BadInput("Name a model.", remedy="For example openai:gpt-4.1-mini.")
    return str(settings.resolve_model(given).model)


def _offer(call: Call, asking: Asking, *, default: bool) -> OfferOut:
    services, name = call.studio.services, asking.model or ""
    provider, model = services.settings.resolve_model(name)
    prices = prices_of(provider, model.name, services.clock.now())
    return OfferOut(
        name=name,
        default=default,
        free=prices is not None and prices.free,
        input=None if prices is None else decimal_text(prices.input),
        output=None if prices is None else decimal_text(prices.output),
        calls=asking.most.calls,
        tokens=asking.most.tokens,
        cost=decimal_text(asking.most.cost),
    )


async def judge(call: Call) -> ProgressOut:
    """Begin to ask a model about a user's facts that are alike. It is charged to the user's own budgets;
    answers are kept and no pair is asked about twice."""
    body: JudgeIn = call.body
    if len(body.limits) > MOST_LIMITS:
        raise BadInput(f"There are {MOST_LIMITS} limits at most.", remedy="Leave some out.")
    whose = whose_of(call, body)
    model = None if body.model is None else _named(call.studio.services.settings, body.model)
    return progress_out(await call.studio.consolidations.judge(whose, call.who.user, body.limits, model))


async def cancel(call: Call) -> ProgressOut:
    """Stop asking; what was answered is kept."""
    return progress_out(call.studio.consolidations.cancel(whose_of(call, call.body)))


ENDPOINTS = (
    Endpoint(
        "GET", "/memory/judging", "viewer", judging, query=JudgingQuery, gives=AskingOut, tag="memory"
    ),
    Endpoint(
        "POST", "/memory/judge", "operator", judge, body=JudgeIn, gives=ProgressOut, status=202, tag="memory"
    ),
    Endpoint(
        "POST", "/memory/judge/cancel", "operator", cancel, body=WhoseIn, gives=ProgressOut, status=202,
        tag="memory",
    ),
)  # fmt: skip
