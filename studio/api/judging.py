"""A model's judgement of facts that are alike: what it may cost at most, beginning it, and cancelling it."""

from __future__ import annotations

import asyncio

import msgspec

from runtime.errors import BadInput
from runtime.usage import decimal_text
from studio.api.consolidation import ConsolidationQuery, ProgressOut, WhoseIn, progress_out, whose_of
from studio.api.route import Call, Endpoint

MOST_LIMITS = 8


class AskingOut(msgspec.Struct, frozen=True, kw_only=True):
    """What a model could be asked now: so many pairs of facts that are alike and that it was not asked about
    before, with at most so many calls and tokens, for `cost` dollars (null: unknown). `model` null: none is
    configured, and only the rules apply. `why`: what is wrong with the one that is."""

    model: str | None
    why: str | None
    pairs: int
    calls: int
    tokens: int
    cost: str | None


class JudgeIn(WhoseIn, frozen=True, kw_only=True):
    """Whose facts (null: one's own), and what asking may use beside the user's own budgets: `tokens=20000`,
    `spend=0.05`."""

    limits: tuple[str, ...] = ()


async def judging(call: Call) -> AskingOut:
    """What a model could be asked about a user's facts, and what that may cost at most; nobody is asked."""
    from runtime.errors import InputError
    from runtime.run.consolidation import Wish, asking

    whose = whose_of(call, call.query)
    if call.who.operator:
        await asyncio.to_thread(call.studio.refresh)
    services, why = call.studio.services, None
    try:
        services.settings.resolve_model()
    except InputError as error:
        why = error.message
    wish = Wish(partition=whose.partition, user_id=whose.user_id, actor=call.who.user)
    found = await asking(services, wish)
    most = found.most
    return AskingOut(
        model=found.model,
        why=why if found.model is None else None,
        pairs=found.pairs,
        calls=most.calls,
        tokens=most.tokens,
        cost=decimal_text(most.cost),
    )


async def judge(call: Call) -> ProgressOut:
    """Begin to ask a model about a user's facts that are alike. It is charged to the user's own budgets;
    answers are kept and no pair is asked about twice."""
    body: JudgeIn = call.body
    if len(body.limits) > MOST_LIMITS:
        raise BadInput(f"There are {MOST_LIMITS} limits at most.", remedy="Leave some out.")
    whose = whose_of(call, body)
    return progress_out(await call.studio.consolidations.judge(whose, call.who.user, body.limits))


async def cancel(call: Call) -> ProgressOut:
    """Stop asking; what was answered is kept."""
    return progress_out(call.studio.consolidations.cancel(whose_of(call, call.body)))


ENDPOINTS = (
    Endpoint(
        "GET", "/memory/judging", "viewer", judging, query=ConsolidationQuery, gives=AskingOut, tag="memory"
    ),
    Endpoint(
        "POST", "/memory/judge", "operator", judge, body=JudgeIn, gives=ProgressOut, status=202, tag="memory"
    ),
    Endpoint(
        "POST", "/memory/judge/cancel", "operator", cancel, body=WhoseIn, gives=ProgressOut, status=202,
        tag="memory",
    ),
)  # fmt: skip
