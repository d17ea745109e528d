"""One consolidation from beginning to end: the preview, with a model where it is wished for, and the doing.

What was previewed is what is done: the plan is stored, and `execute` carries out the newest one that is not
done yet; only where there is none it makes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from runtime.errors import Conflict, InputError
from runtime.events import MemoryProposed
from runtime.facts import Fact, Partition
from runtime.memory.consolidation import proposals, text_of
from runtime.memory.pairing import Pair, PairKey, batches, pairs
from runtime.memory_service.choosing import Chosen, only
from runtime.memory_service.consolidated import Past, past
from runtime.memory_service.consolidating import (
    Done,
    Plan,
    carry_out,
    keep,
    look,
    refuse_while_active,
    standing,
)
from runtime.run.judge import AtMost, Question, at_most, judge_for
from runtime.run.judging import Answers, SoFar, ask, nobody
from runtime.run.leasing import Leased, judgement_of, refuse_while_leased
from runtime.run.services import Assignment, Services

if TYPE_CHECKING:
    from runtime.memory.pairing import Vector

Told = Callable[[SoFar], None]
Step = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Whose facts, who wishes it, and whether a model is to be asked: which, and under which limits."""

    partition: Partition
    user_id: str
    actor: str
    with_model: bool = False
    model: str | None = None
    limits: tuple[str, ...] = ()


class Asking(NamedTuple):
    """What a model could be asked, or was. `model` null: none is configured."""

    model: str | None
    pairs: int
    most: AtMost
    answers: Answers | None = None


class Preview(NamedTuple):
    """What would be changed, as plans by shelf and as the stored parts of it."""

    plans: list[Plan]
    parts: list[MemoryProposed]
    asking: Asking

    @property
    def failed(self) -> bool:
        """Whether some of what a model was asked got no answer that can be used."""
        return self.asking.answers is not None and bool(self.asking.answers.failures)


class Executed(NamedTuple):
    """What was changed. `planned_at`: when a stored plan was made; null: just now. `preview`: what it was
    made of then. `copy`: where the database was copied to."""

    done: list[Done]
    preview: Preview | None
    planned_at: datetime | None
    copy: Path | None


def no_step(_what: str, _done: int, _of: int) -> None:
    """Nobody watches."""


async def asking(services: Services, wish: Wish) -> Asking:
    """What a model could be asked now and what that may cost at most; nobody is asked and nothing stored."""
    before = await past(services.record, wish.partition, wish.user_id)
    return _asking(services, _judge(services, wish), await _questions(services, wish, before))


async def offers(services: Services, wish: Wish, models: Sequence[str | None]) -> list[Asking]:
    """What each of these models could be asked now, as `asking` says of one; null is the default. Raises
    BadSettings or BadInput for one that cannot be."""
    before = await past(services.record, wish.partition, wish.user_id)
    questions, found = await _questions(services, wish, before), list[Asking]()
    for model in models:
        judge = judge_for(services, wish.partition, model, wish.limits)
        found.append(_asking(services, judge, questions))
        await asyncio.sleep(0)  # each counts the tokens of all questions: others are answered meanwhile
    return found


def _asking(services: Services, judge: Assignment | None, questions: Sequence[Question]) -> Asking:
    most = AtMost(0, 0, 0) if judge is None else at_most(services, judge, questions)
    return Asking(
        None if judge is None else str(judge.model), sum(len(each.pairs) for each in questions), most
    )


async def preview(services: Services, wish: Wish, step: Step = no_step, told: Told = nobody) -> Preview:
    """See what would change, ask a model first where that is wished for, and store it as the plan, unless
    just this is stored already."""
    record, now = services.record, services.clock.now()
    if wish.with_model and (judge := _judge(services, wish)) is not None:
        asked = await _judged(services, wish, judge, step, told)
    else:
        asked = await asking(services, wish)
    before = await past(record, wish.partition, wish.user_id)
    plans = await look(record, wish.partition, wish.user_id, now, before)
    parts = before.open_parts()
    if not _same(parts, plans):
        batch = services.clock.new_id()
        parts = await keep(record, wish.partition, wish.user_id, plans, batch, wish.actor, now)
    return Preview(plans, parts, asked)


async def execute(services: Services, wish: Wish, step: Step = no_step) -> Executed:
    """Carry out the stored plan, or with a model or without any a new one, after a copy of the database.
    Raises Conflict while another process does so or a run of the user is active."""
    from runtime.store.upkeep import exclusive

    record = services.record
    with exclusive(services.settings.db):
        await refuse_while_active(record, wish.user_id)
        parts = [] if wish.with_model else (await past(record, wish.partition, wish.user_id)).open_parts()
        planned_at, seen = (parts[0].at, None) if parts else (None, await preview(services, wish, step))
        if seen is not None:
            parts = seen.parts
        return await _carry_out(services, wish, parts, Executed([], seen, planned_at, None), step)


async def execute_chosen(
    services: Services, wish: Wish, chosen: Chosen, batch: str, step: Step = no_step
) -> Executed:
    """Carry out what a person chose of what would be changed now, stored as a plan of this batch first.
    Raises Conflict as `execute` does, and where they were shown something else."""
    from runtime.store.upkeep import exclusive

    record, now = services.record, services.clock.now()
    with exclusive(services.settings.db):
        await refuse_while_active(record, wish.user_id)
        before = await past(record, wish.partition, wish.user_id)
        plans = only(await look(record, wish.partition, wish.user_id, now, before), chosen)
        parts = await keep(record, wish.partition, wish.user_id, plans, batch, wish.actor, now)
        return await _carry_out(services, wish, parts, Executed([], None, now, None), step)


async def _carry_out(
    services: Services, wish: Wish, parts: Sequence[MemoryProposed], begun: Executed, step: Step
) -> Executed:
    from runtime.store.upkeep import back_up

    if not parts:
        return begun._replace(planned_at=None)
    copy = await asyncio.to_thread(back_up, services.settings.db, parts[0].batch)
    outcomes: list[Done] = []

    def one(outcome: Done) -> None:
        outcomes.append(outcome)
        step("changes", len(outcomes), len(parts))

    step("changes", 0, len(parts))
    await carry_out(services.record, wish.partition, parts, wish.actor, services.clock.now, one)
    return begun._replace(done=outcomes, copy=copy)


def _judge(services: Services, wish: Wish) -> Assignment | None:
    """Who could be asked. A model that cannot be used matters only to those who want one."""
    try:
        return judge_for(services, wish.partition, wish.model, wish.limits)
    except InputError:
        if wish.with_model or wish.model is not None:
            raise
        return None


async def _questions(services: Services, wish: Wish, before: Past) -> list[Question]:
    found = []
    for shelf, _ in await services.record.shelves(wish.partition, wish.user_id):
        facts, _conflicts = await standing(services.record, shelf)
        known = before.verdicts.get(shelf, {})
        by_rule = await asyncio.to_thread(proposals, facts, services.clock.now())
        gone = {proposal.key for proposal in by_rule}
        left = [fact for fact in facts if fact.key not in gone]
        unknown = await asyncio.to_thread(_pairs, left, known.keys())
        found += [Question(shelf, batch) for batch in batches(unknown)]
    return found


def _pairs(facts: Sequence[Fact], known: Collection[PairKey]) -> list[Pair]:
    return pairs(facts, known, vectors=_vectors(facts))


def _vectors(facts: Sequence[Fact]) -> Sequence[Vector] | None:
    """The meaning of facts as vectors, where the extra for it is installed."""
    if len(facts) < 2 or find_spec("wordllama") is None:
        return None
    from runtime.memory.finding.embed import StaticEmbedder

    return StaticEmbedder()([text_of(fact) for fact in facts])


async def refuse_while_judged(services: Services, partition: Partition, user_id: str) -> None:
    """Raises Conflict while a model is asked about these facts, here or in another process."""
    name, refusal = judgement_of(partition, user_id), _under_way(user_id)
    await refuse_while_leased(services.record, services.clock, name, refusal)


def _under_way(user_id: str) -> Conflict:
    return Conflict(
        f"A model is being asked about facts of {user_id!r} already.",
        code="consolidation.under_way",
        remedy="Wait until it has ended; its answers are kept, and no pair is asked about twice.",
    )


async def _judged(services: Services, wish: Wish, judge: Assignment, step: Step, told: Told) -> Asking:
    """Ask about what nobody has answered yet. Only one may at a time: two would both pay for each pair."""
    name, refusal = judgement_of(wish.partition, wish.user_id), _under_way(wish.user_id)
    async with Leased(services.record, services.clock, name, refusal=refusal):
        before = await past(services.record, wish.partition, wish.user_id)
        questions = await _questions(services, wish, before)
        answers = await _ask(services, wish, judge, questions, step, told)
    return _asking(services, judge, questions)._replace(answers=answers)


async def _ask(
    services: Services, wish: Wish, judge: Assignment, questions: Sequence[Question], step: Step, told: Told
) -> Answers:
    if not questions:
        return Answers(0, ())

    def hear(so_far: SoFar) -> None:
        step("pairs", so_far.pairs, so_far.of)
        told(so_far)

    return await ask(services, judge, wish.partition, wish.user_id, questions, hear)


def _same(parts: Sequence[MemoryProposed], plans: Sequence[Plan]) -> bool:
    """Whether the stored plan, or what is left of it, is what would be proposed now."""
    stored = [(p.namespace, p.scope, p.owner, change) for p in parts for change in p.changes]
    found = [
        (plan.shelf.namespace, plan.shelf.scope, plan.shelf.owner, proposal.event())
        for plan in plans
        for proposal in plan.proposals
    ]
    return stored == found
