"""Judgements by a model and consolidations that were started here, one at a time for each user: how far each
is, what it used, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from runtime.errors import Conflict, FarthingError
from runtime.events import Retired
from runtime.facts import Partition
from runtime.memory_service.choosing import Chosen
from runtime.memory_service.consolidating import refuse_while_active
from runtime.run.services import Services

if TYPE_CHECKING:
    from runtime.run.consolidation import Wish
    from runtime.run.judging import SoFar

MOST_KEPT = 200
"""Users whose last one is remembered."""


class Whose(NamedTuple):
    """One user's facts, real or rehearsed."""

    partition: Partition
    user_id: str


class Progress(NamedTuple):
    """How far it is: `done` of `of` pairs that a model judges (`what` `judging`) or parts of a plan
    (`changes`). `tokens`, `cost` (nano-dollars) and `unknown` (calls of unknown cost): what asking used so
    far. `made` changes were made, those of `skipped` not, since what they rest on was written meanwhile.
    `error`: why it ended early, with what to do."""

    what: Literal["judging", "changes"]
    state: Literal["running", "done", "failed", "cancelled"]
    batch: str
    at: datetime
    done: int = 0
    of: int = 0
    tokens: int = 0
    cost: int = 0
    unknown: int = 0
    made: int = 0
    skipped: tuple[Retired, ...] = ()
    error: str | None = None
    remedy: str | None = None


Work = Callable[[Services, Progress], Awaitable[Progress]]


class Consolidations:
    """Those of this server. A process that is killed leaves every shelf whole; the rest is found anew, and
    what a model was asked is not asked again."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._known: dict[Whose, Progress] = {}
        self._tasks: dict[Whose, asyncio.Task[None]] = {}

    def progress(self, whose: Whose) -> Progress | None:
        """How far the user's last one is; null where none was started here."""
        return self._known.get(whose)

    async def start(self, whose: Whose, actor: str, chosen: Chosen) -> Progress:
        """Begin a consolidation of what was chosen. Raises Conflict while one is under way, or a run of the
        user is."""

        async def work(services: Services, begun: Progress) -> Progress:
            return await self._change(services, whose, actor, chosen, begun)

        return await self._begin(
            whose, "changes", work, lambda it: refuse_while_active(it.record, whose.user_id)
        )

    async def judge(
        self, whose: Whose, actor: str, limits: tuple[str, ...], model: str | None = None
    ) -> Progress:
        """Begin to ask a model, null the default one, about facts that are alike, under these limits beside
        the user's own budgets. Raises Conflict while one is under way, here or in another process, and where
        no model can be asked."""
        from runtime.run.consolidation import Wish, refuse_while_judged
        from runtime.run.judge import judge_for

        wish = Wish(
            partition=whose.partition,
            user_id=whose.user_id,
            actor=actor,
            with_model=True,
            model=model,
            limits=limits,
        )

        async def can(services: Services) -> None:
            if judge_for(services, whose.partition, model, limits) is None:
                raise Conflict("No model is configured.", remedy="Connect one under Settings.")
            await refuse_while_judged(services, whose.partition, whose.user_id)

        async def work(services: Services, begun: Progress) -> Progress:
            return await self._judge(services, whose, wish, begun)

        return await self._begin(whose, "judging", work, can)

    def cancel(self, whose: Whose) -> Progress:
        """Cancel a judgement; what was answered is kept. Raises Conflict where none is under way."""
        now, task = self._known.get(whose), self._tasks.get(whose)
        if now is None or task is None or (now.what, now.state) != ("judging", "running"):
            raise Conflict("No model is being asked.", remedy="Nothing is to be cancelled.")
        task.cancel()
        return now

    async def idle(self) -> None:
        """Wait until none is under way; questions to a model are not waited for but cancelled."""
        for whose, task in self._tasks.items():
            if self._known[whose].what == "judging":
                task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _begin(
        self,
        whose: Whose,
        what: Literal["judging", "changes"],
        work: Work,
        check: Callable[[Services], Awaitable[None]],
    ) -> Progress:
        services = self._services()
        before = self._known.get(whose)
        if before is not None and before.state == "running":
            raise Conflict("These facts are being consolidated.", remedy="Wait until it has ended.")
        begun = Progress(what, "running", services.clock.new_id(), services.clock.now())
        self._known.pop(whose, None)
        self._known[whose] = begun
        for each in [each for each, known in self._known.items() if known.state != "running"][:-MOST_KEPT]:
            self._known.pop(each)
        try:
            await check(services)
        except BaseException:
            self._known.pop(whose, None)
            raise
        task = asyncio.create_task(self._go(services, whose, work, begun))
        self._tasks[whose] = task
        task.add_done_callback(lambda _: self._over(whose))
        return begun

    def _over(self, whose: Whose) -> None:
        self._tasks.pop(whose, None)
        if self._known[whose].state == "running":  # cancelled before it took its first step
            self._end(whose, state="cancelled")

    async def _go(self, services: Services, whose: Whose, work: Work, begun: Progress) -> None:
        try:
            self._known[whose] = await work(services, begun)
        except FarthingError as error:
            self._end(whose, state="failed", error=error.message, remedy=error.remedy)
        except asyncio.CancelledError:
            self._end(whose, state="cancelled")
            raise
        except BaseException:
            self._end(whose, state="failed", error="The server itself failed.")
            raise

    def _end(
        self,
        whose: Whose,
        *,
        state: Literal["failed", "cancelled"],
        error: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self._known[whose] = self._known[whose]._replace(state=state, error=error, remedy=remedy)

    async def _judge(self, services: Services, whose: Whose, wish: Wish, begun: Progress) -> Progress:
        from runtime.run.consolidation import preview

        def tell(so_far: SoFar) -> None:
            self._known[whose] = begun._replace(done=so_far.pairs, of=so_far.of, **so_far.spent._asdict())

        seen = await preview(services, wish, told=tell)
        ended = self._known[whose]._replace(state="done")
        answers = seen.asking.answers
        if answers is None or not answers.failures:
            return ended
        first = answers.failures[0]
        return ended._replace(state="failed", error=first.message, remedy=first.remedy)

    async def _change(
        self, services: Services, whose: Whose, actor: str, chosen: Chosen, begun: Progress
    ) -> Progress:
        from runtime.run.consolidation import Wish, execute_chosen

        wish = Wish(partition=whose.partition, user_id=whose.user_id, actor=actor)

        def tell(_what: str, done: int, of: int) -> None:
            self._known[whose] = begun._replace(of=of, done=done)

        outcome = await execute_chosen(services, wish, chosen, begun.batch, tell)
        of = len(outcome.done)
        made = sum(len(part.made) for part in outcome.done)
        skipped = tuple(change for part in outcome.done for change in part.skipped)
        return begun._replace(state="done", of=of, done=of, made=made, skipped=skipped)
