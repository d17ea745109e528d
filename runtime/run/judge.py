"""Consolidation's questions to a model: who is asked, what one looks like, and what all may cost at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runtime.errors import BadInput
from runtime.facts import Partition, Shelf
from runtime.memory.judging import INSTRUCTION, SCHEMA, question
from runtime.memory.pairing import Pair
from runtime.memory_service.consolidated import ADMIN
from runtime.messages import Message, Request
from runtime.providers import SCRIPTED
from runtime.run.limits import parse_limit
from runtime.run.services import Assignment, Services

MAX_OUTPUT_TOKENS = 1500
"""Longest answer to one question."""
REPAIR = "That cannot be used: {wrong}. Answer again with one JSON object as asked for, for every pair."
NODE = "consolidation"
LONGEST_WORD = "answer "
"""A token of an answer that is to be sent back, where its length is reckoned."""


class Question(NamedTuple):
    """Pairs of one shelf that one call asks about."""

    shelf: Shelf
    pairs: tuple[Pair, ...]


class AtMost(NamedTuple):
    """What the calls may use at most by our count, each answer repaired once. `cost` null: unknown."""

    calls: int
    tokens: int
    cost: int | None


def judge_for(
    services: Services, partition: Partition, model: str | None, limits: Sequence[str]
) -> Assignment | None:
    """Who is asked and under which limits; null where no model is configured. Raises BadInput for a scripted
    model with real facts, and the other way round."""
    settings, rehearsal = services.settings, partition == "rehearsal"
    if rehearsal and model is None:
        model = SCRIPTED
    provider, name = settings.resolve_model(model)
    scripted = provider.name == SCRIPTED
    if scripted and not rehearsal and model is None:
        return None
    if scripted != rehearsal:
        raise BadInput(
            f"{name} cannot judge facts of {'rehearsals' if rehearsal else 'real runs'}.",
            code="model.mixed",
            remedy="Leave --model out." if rehearsal else "Name another --model, or add --rehearsal.",
        )
    rules = (*settings.rules_for(ADMIN, provider.name), *map(parse_limit, limits))
    return Assignment(provider, name, services.clients.client(provider), rules)


def at_most(services: Services, judge: Assignment, questions: Sequence[Question]) -> AtMost:
    """What asking all of it costs at most. A retry after a failure of the provider may come on top."""
    longest = Message("assistant", LONGEST_WORD * MAX_OUTPUT_TOKENS), Message("user", REPAIR)
    calls, tokens, cost = 0, 0, 0
    unknown = False
    for each in questions:
        for more in ((), longest):
            most = services.gate.most(judge.provider, judge.model, request_for(judge, each, more))
            calls, tokens = calls + 1, tokens + most.tokens
            cost, unknown = cost + (most.cost or 0), unknown or most.cost is None
    return AtMost(calls, tokens, None if unknown else cost)


def request_for(judge: Assignment, each: Question, more: tuple[Message, ...]) -> Request:
    return Request(
        model=judge.model.name,
        messages=(Message("system", INSTRUCTION), Message("user", question(each.pairs)), *more),
        schema=SCHEMA,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        timeout_s=judge.provider.timeout_s,
        hints={"node_id": NODE, "purpose": "consolidation"},
    )
