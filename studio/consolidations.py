"""Consolidations that were started here, one a user: how far each is, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal, NamedTuple

from runtime.errors import Conflict, FarthingError
from runtime.facts import Partition
from runtime.memory_service.consolidating import refuse_while_active
from runtime.run.services import Services

MOST_KEPT = 200
"""Users whose last consolidation is remembered."""


class Whose(NamedTuple):
    """One user's facts, real or rehearsed."""

    partition: Partition
    user_id: str


class Progress(NamedTuple):
    """How far it is: `done` of `of` parts. `error`: why it ended early, with what to do."""

    state: Literal["running", "done", "failed"]
    batch: str
    at: datetime
    done: int = 0
    of: int = 0
    error: str | None = None
    remedy: str | None = None


class Consolidations:
    """Those of this server. A process that is killed leaves every shelf whole; the rest is found anew."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._known: dict[Whose, Progress] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def progress(self, whose: Whose) -> Progress | None:
        """How far the user's last one is; null where none was started here."""
        return self._known.get(whose)

    async def start(self, whose: Whose, actor: str) -> Progress:
        """Begin one. Raises Conflict while one is under way, or a run of the user is."""
        services = self._services()
        before = self._known.get(whose)
        if before is not None and before.state == "running":
            raise Conflict("These facts are being consolidated.", remedy="Wait until it has ended.")
        begun = Progress("running", services.clock.new_id(), services.clock.now())
        self._known.pop(whose, None)
        self._known[whose] = begun
        while len(self._known) > MOST_KEPT:
            self._known.pop(next(iter(self._known)))
        try:
            await refuse_while_active(services.record, whose.user_id)
        except BaseException:
            self._known.pop(whose, None)
            raise
        task = asyncio.create_task(self._go(services, whose, actor, begun))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return begun

    async def idle(self) -> None:
        """Wait until none is under way."""
        await asyncio.gather(*self._tasks)

    async def _go(self, services: Services, whose: Whose, actor: str, begun: Progress) -> None:
        try:
            await self._carry_out(services, whose, actor, begun)
        except FarthingError as error:
            now = self._known.get(whose, begun)
            self._known[whose] = now._replace(state="failed", error=error.message, remedy=error.remedy)
        except BaseException:
            now = self._known.get(whose, begun)
            self._known[whose] = now._replace(state="failed", error="The server itself failed.")
            raise

    async def _carry_out(self, services: Services, whose: Whose, actor: str, begun: Progress) -> None:
        from runtime.run.consolidation import Wish, execute, preview

        wish = Wish(partition=whose.partition, user_id=whose.user_id, actor=actor)

        def tell(_what: str, done: int, of: int) -> None:
            self._known[whose] = begun._replace(of=of, done=done)

        await preview(services, wish, batch=begun.batch)
        outcome = await execute(services, wish, tell)
        of = len(outcome.done)
        self._known[whose] = begun._replace(state="done", of=of, done=of)
