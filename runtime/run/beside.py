"""A run of kind `maintenance`: claimed, worked at, finished; what was claimed is always finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from runtime.calls import to_the_end
from runtime.errors import FarthingError
from runtime.events import CallError, Event, RunFinished, RunStarted
from runtime.journal import Journal
from runtime.record import RunEnd, RunStart, RunTotals, SessionKey
from runtime.run.services import Services

SESSION = "@maintenance"
"""The session that takes its events, one for each flow and user."""


def cancelled_by(actor: str) -> FarthingError:
    """What a run says that somebody asked to end."""
    return FarthingError(f"Cancelled by {actor}.", code="run.cancelled", remedy="Start it again to go on.")


class Purpose(msgspec.Struct, frozen=True, kw_only=True):
    """Of which flow a maintenance run is, for whom, and to which session its calls are charged (null: to its
    own)."""

    session: SessionKey
    flow_name: str
    flow_hash: str
    flow: bytes
    flow_path: str | None = None
    model: str | None = None
    charged: str | None = None


class BesideRun:
    """One run beside the others."""

    def __init__(self, services: Services, purpose: Purpose) -> None:
        self.services, self._purpose = services, purpose
        self.run_id = services.clock.new_id()
        self.journal = Journal(services.record, self.run_id, services.clock)
        self.cancelled_by: str | None = None
        self._began = services.clock.monotonic()

    async def carry_out(self, work: Callable[[], Awaitable[None]]) -> None:
        """Claim, work, finish. An error of our own ends the run as failed and is not raised; nor is it where
        somebody asks through the store that it ends: then `cancelled_by` says who."""
        _, cancelled = await to_the_end(self._claim())
        state, error = "cancelled", None
        try:
            if cancelled:
                raise asyncio.CancelledError
            self.cancelled_by = await self._unless_asked(work)
            if self.cancelled_by is None:
                state = "completed"
            else:
                error = cancelled_by(self.cancelled_by)
        except FarthingError as failure:
            state, error = "failed", failure
        finally:
            await to_the_end(self._finish(state, error))

    async def _unless_asked(self, work: Callable[[], Awaitable[None]]) -> str | None:
        """Work until that is done, or until somebody asks that it ends: then who."""
        working = asyncio.ensure_future(work())
        asking = asyncio.ensure_future(self.services.record.cancel_asked(self.run_id))
        try:
            await asyncio.wait([working, asking], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return asking.result()
            working.result()
            return None
        finally:
            asking.cancel()
            if working.cancel():
                await to_the_end(asyncio.wait([working]))
            if not working.cancelled():
                working.exception()  # where this task was cancelled at the same moment, nobody else takes it

    async def skip(self, why: str, remedy: str) -> None:
        """Claim and finish as cancelled, without any work: what was wished for is on record."""
        await to_the_end(self._claim())
        error = FarthingError(why, code="maintenance.skipped", remedy=remedy)
        await to_the_end(self._finish("cancelled", error))

    async def _claim(self) -> None:
        what, now = self._purpose, self.services.clock.now()
        session = msgspec.structs.replace(what.session, name=SESSION)
        begin = RunStart(
            run_id=self.run_id,
            session=session,
            flow_name=what.flow_name,
            flow_hash=what.flow_hash,
            flow=what.flow,
            flow_path=what.flow_path,
            kind="maintenance",
            charged=what.charged,
            model=what.model,
            at=now,
        )
        said = RunStarted(
            at=now,
            run_id=self.run_id,
            flow_id=session.flow_id,
            flow_name=what.flow_name,
            flow_hash=what.flow_hash,
            kind="maintenance",
            model=what.model,
            rehearsal=session.partition == "rehearsal",
        )
        await self.services.record.claim(begin, [said])

    async def _finish(self, state: str, failure: FarthingError | None) -> None:
        now = self.services.clock.now()
        error = None
        if failure is not None:
            error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)

        def said(found: RunTotals) -> list[Event]:
            return [
                RunFinished(
                    at=now,
                    run_id=self.run_id,
                    state=state,
                    usage=found.usage,
                    cost=found.cost,
                    unknown_cost=found.unknown,
                    error=error,
                    ms=round((self.services.clock.monotonic() - self._began) * 1000),
                )
            ]

        told: dict[str, Any] | None = None if error is None else msgspec.to_builtins(error)
        end = RunEnd(run_id=self.run_id, state=state, error=told, at=now)  # type: ignore[arg-type]
        await self.journal.finish(end, said)
