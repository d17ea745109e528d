"""Asking a model about pairs of facts, for consolidation.

A run of kind `maintenance` of no flow, charged to the user's own budgets and to `--limit`. Each answer is
kept with its call: who is killed and goes on asks only what was not answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from runtime.calls import Account, Asked, Whose
from runtime.errors import BudgetStop, FarthingError, ModelFailure
from runtime.events import CallError, MemoryJudged, PolicyFailed, Verdict
from runtime.facts import Partition
from runtime.memory.judging import verdicts_of
from runtime.memory_service.consolidated import ADMIN
from runtime.messages import Message
from runtime.reasoning.action import find_value
from runtime.record import SessionKey
from runtime.run.beside import SESSION, BesideRun, Purpose, cancelled_by
from runtime.run.judge import NODE, REPAIR, Question, request_for
from runtime.run.services import Assignment, Services

_FLOW = b"{}"


class Spent(NamedTuple):
    """What calls used: `cost` sums the known costs in nano-dollars, `unknown` counts calls that have none."""

    tokens: int = 0
    cost: int = 0
    unknown: int = 0

    def and_of(self, tokens: int, cost: int | None) -> Spent:
        """With one call more."""
        return Spent(self.tokens + tokens, self.cost + (cost or 0), self.unknown + (cost is None))

    def since(self, before: Spent) -> Spent:
        """What came after."""
        return Spent(self.tokens - before.tokens, self.cost - before.cost, self.unknown - before.unknown)


class SoFar(NamedTuple):
    """How far the asking is: pairs that were asked about, of how many, and what that used."""

    pairs: int
    of: int
    spent: Spent


class Answers(NamedTuple):
    """What came of asking: how many questions were answered, what went wrong with others, what it used."""

    answered: int
    failures: tuple[CallError, ...]
    spent: Spent = Spent()


def nobody(_so_far: SoFar) -> None:
    """Nobody watches."""


async def ask(
    services: Services,
    judge: Assignment,
    partition: Partition,
    user_id: str,
    questions: Sequence[Question],
    told: Callable[[SoFar], None] = nobody,
) -> Answers:
    """Ask, question by question; `told` hears before the first and after each. A budget or a provider that
    fails ends it, an answer that cannot be used only its question; both are said on the timeline and change
    nothing."""
    key = SessionKey(partition, user_id, ADMIN, SESSION)
    purpose = Purpose(
        session=key,
        flow_name=ADMIN,
        flow_hash=hashlib.sha256(_FLOW).hexdigest(),
        flow=_FLOW,
        model=str(judge.model),
    )
    run = BesideRun(services, purpose)
    judging = _Judging(services, judge, run, Whose(user_id, ADMIN, "", partition == "rehearsal"))
    await run.carry_out(lambda: judging.all_of(questions, told))
    if run.cancelled_by is not None:
        judging.failures.append(_told(cancelled_by(run.cancelled_by)))
    return Answers(judging.answered, tuple(judging.failures), judging.spent)


class _Judging:
    """The questions of one run."""

    def __init__(self, services: Services, judge: Assignment, run: BesideRun, whose: Whose) -> None:
        self._services, self._judge, self._journal = services, judge, run.journal
        self._run_id, self._whose = run.run_id, whose
        self.answered = 0
        self.failures: list[CallError] = []
        self.spent = Spent()

    async def all_of(self, questions: Sequence[Question], told: Callable[[SoFar], None]) -> None:
        asked, of = 0, sum(len(each.pairs) for each in questions)
        told(SoFar(asked, of, self.spent))
        for step, each in enumerate(questions, 1):
            before = self.spent
            try:
                verdicts = await self._verdicts(each, step)
            except ValueError as wrong:
                self._failed(CallError(code="consolidation.bad_answer", message=f"An answer: {wrong}."))
            except (ModelFailure, BudgetStop) as failure:
                self._failed(_told(failure))
                return
            else:
                self.answered += 1
                self._journal.say(self._event(each, verdicts, self.spent.since(before)))
            await self._journal.flush()
            asked += len(each.pairs)
            told(SoFar(asked, of, self.spent))

    async def _verdicts(self, each: Question, step: int) -> tuple[Verdict, ...]:
        text = await self._call(each, step, 0, ())
        try:
            return verdicts_of(find_value(text), each.pairs)
        except ValueError as wrong:
            again = (Message("assistant", text), Message("user", REPAIR.format(wrong=wrong)))
        return verdicts_of(find_value(await self._call(each, step, 1, again)), each.pairs)

    async def _call(self, each: Question, step: int, index: int, more: tuple[Message, ...]) -> str:
        judge = self._judge
        account = Account(
            journal=self._journal,
            run_id=self._run_id,
            node_id=NODE,
            path=NODE,
            rules=judge.rules,
            provider=judge.provider,
            model=judge.model,
            client=judge.client,
            whose=self._whose,
        )
        request = request_for(judge, each, more)
        asked = Asked(
            request=request, purpose="repair" if more else "consolidation", step=step, index=index,
            warn=step == 1,
        )  # fmt: skip
        answered = await self._services.gate.call(account, asked)
        self.spent = self.spent.and_of(answered.usage.tokens, answered.cost)
        return answered.reply.text

    def _event(self, each: Question, verdicts: tuple[Verdict, ...], spent: Spent) -> MemoryJudged:
        keys = dict.fromkeys(fact.key for pair in each.pairs for fact in (pair.one, pair.other))
        return MemoryJudged(
            at=self._services.clock.now(),
            run_id=self._run_id,
            node_id=NODE,
            namespace=each.shelf.namespace,
            scope=each.shelf.scope,
            owner=each.shelf.owner,
            keys=tuple(keys),
            verdicts=verdicts,
            model=str(self._judge.model),
            tokens=spent.tokens,
            cost=None if spent.unknown else spent.cost,
        )

    def _failed(self, error: CallError) -> None:
        self.failures.append(error)
        now = self._services.clock.now()
        self._journal.say(
            PolicyFailed(at=now, run_id=self._run_id, node_id=NODE, policy="consolidation", error=error)
        )


def _told(failure: FarthingError) -> CallError:
    return CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
