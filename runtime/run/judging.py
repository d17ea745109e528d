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
from runtime.run.beside import SESSION, BesideRun, Purpose
from runtime.run.judge import NODE, REPAIR, Question, request_for
from runtime.run.services import Assignment, Services

_FLOW = b"{}"


class Answers(NamedTuple):
    """What came of asking: how many questions were answered, and what went wrong with others."""

    answered: int
    failures: tuple[CallError, ...]


async def ask(
    services: Services,
    judge: Assignment,
    partition: Partition,
    user_id: str,
    questions: Sequence[Question],
    done: Callable[[], None] = lambda: None,
) -> Answers:
    """Ask, question by question; `done` is told after each. A budget or a provider that fails ends it, an
    answer that cannot be used only its question; both are said on the timeline and change nothing."""
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
    await run.carry_out(lambda: judging.all_of(questions, done))
    return Answers(judging.answered, tuple(judging.failures))


class _Judging:
    """The questions of one run."""

    def __init__(self, services: Services, judge: Assignment, run: BesideRun, whose: Whose) -> None:
        self._services, self._judge, self._journal = services, judge, run.journal
        self._run_id, self._whose = run.run_id, whose
        self.answered = 0
        self.failures: list[CallError] = []

    async def all_of(self, questions: Sequence[Question], done: Callable[[], None]) -> None:
        for step, each in enumerate(questions, 1):
            try:
                verdicts = await self._verdicts(each, step)
            except ValueError as wrong:
                self._failed(CallError(code="consolidation.bad_answer", message=f"An answer: {wrong}."))
            except (ModelFailure, BudgetStop) as failure:
                self._failed(_told(failure))
                return
            else:
                self.answered += 1
                self._journal.say(self._event(each, verdicts))
            await self._journal.flush()
            done()

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
        return (await self._services.gate.call(account, asked)).reply.text

    def _event(self, each: Question, verdicts: tuple[Verdict, ...]) -> MemoryJudged:
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
        )

    def _failed(self, error: CallError) -> None:
        self.failures.append(error)
        now = self._services.clock.now()
        self._journal.say(
            PolicyFailed(at=now, run_id=self._run_id, node_id=NODE, policy="consolidation", error=error)
        )


def _told(failure: FarthingError) -> CallError:
    return CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
