"""One tool call on the timeline and, where it changes something, in the journal.

A call that changes something is opened durably before it is carried out and closed with its result, so that
a run that goes on elsewhere is given the result and does not call again. One that changes nothing only
leaves its events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from runtime.calls import to_the_end
from runtime.events import CallError, Event, ToolRequest, ToolResponse
from runtime.journal import Journal
from runtime.ledger import Admission, Counter
from runtime.memory_service import Where
from runtime.record import CallClose, CallDone, CallIntent, CallOpened

CANCELLED = CallError(code="cancelled", message="The run was cancelled.")


class Outcome(msgspec.Struct, frozen=True):
    """What a tool call came to. `truncated`: the result was cut."""

    result: Any
    error: CallError | None
    truncated: bool = False


class Stored(msgspec.Struct, frozen=True):
    """A finished call as the journal keeps it."""

    result: Any = None
    error: CallError | None = None
    truncated: bool = False


class ToolEntry:
    """The account of one call. `shown` is what the timeline shows of its arguments."""

    def __init__(self, journal: Journal, where: Where, key: str, tool: str, effect: str, shown: Any) -> None:
        self._journal, self._where = journal, where
        self._key, self._tool, self._effect, self._shown = key, tool, effect, shown
        self._began = journal.clock.monotonic()

    def refused(self, outcome: Outcome) -> Outcome:
        """The call is not carried out; both events say so."""
        self._journal.say(self._request())
        self._journal.say(self._response(outcome))
        return outcome

    async def carried_out(
        self, work: Callable[[], Awaitable[Outcome]], *, stored: bool = False, own: bool = False
    ) -> Outcome:
        """Do the work between the call's two events, and in the journal where its result is to be stored.

        What is asked is committed before anybody outside is asked; Farthing's `own` tools commit their own
        changes after it.
        """
        if stored:
            return await self._journaled(work)
        self._journal.say(self._request())
        if not own:
            await self._journal.flush()
        try:
            outcome = await work()
        except asyncio.CancelledError:
            self._journal.say(self._response(Outcome(None, CANCELLED)))
            raise
        self._journal.say(self._response(outcome))
        return outcome

    async def _journaled(self, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        opened, cancelled = await to_the_end(self._journal.open_call(self._intent(), self._requested))
        if isinstance(opened, CallDone):
            found = msgspec.convert(opened.result, Stored)
            return Outcome(found.result, found.error, found.truncated)
        assert isinstance(opened, CallOpened), "a tool call is under no budget"
        if cancelled:
            said = self._response(Outcome(None, CANCELLED))
            await to_the_end(self._journal.release_call(opened.call_id, [said]))
            raise asyncio.CancelledError
        try:
            outcome = await work()
        except BaseException as error:
            why = CANCELLED if isinstance(error, asyncio.CancelledError) else _broken(error)
            await to_the_end(self._close(opened.call_id, Outcome(None, why), "failed"))
            raise
        _, cancelled = await to_the_end(self._close(opened.call_id, outcome, "done"))
        if cancelled:
            raise asyncio.CancelledError
        return outcome

    async def _close(self, call_id: int, outcome: Outcome, state: Literal["done", "failed"]) -> None:
        close = CallClose(
            call_id=call_id,
            run_id=self._where.run_id,
            state=state,
            result=msgspec.to_builtins(Stored(*msgspec.structs.astuple(outcome)))
            if state == "done"
            else None,
            at=self._journal.clock.now(),
        )
        await self._journal.close_call(close, lambda _counters, _over: [self._response(outcome)])

    def _intent(self) -> CallIntent:
        return CallIntent(
            run_id=self._where.run_id,
            key=self._key,
            node_id=self._where.node_id,
            step=self._where.step,
            kind="tool",
            purpose="tool",
            effect="once" if self._effect == "once" else "idempotent",
            at=self._journal.clock.now(),
        )

    def _requested(self, _admission: Admission, _counters: tuple[Counter, ...]) -> Sequence[Event]:
        return [self._request()]

    def _request(self) -> ToolRequest:
        return ToolRequest(
            **self._about(), call=self._key, tool=self._tool, arguments=self._shown, effect=self._effect
        )

    def _response(self, outcome: Outcome) -> ToolResponse:
        return ToolResponse(
            **self._about(),
            call=self._key,
            tool=self._tool,
            result=outcome.result,
            error=outcome.error,
            truncated=outcome.truncated,
            ms=round((self._journal.clock.monotonic() - self._began) * 1000),
        )

    def _about(self) -> dict[str, Any]:
        """The common fields of both events."""
        where = self._where
        return {
            "at": self._journal.clock.now(), "run_id": where.run_id, "node_id": where.node_id,
            "step": where.step,
        }  # fmt: skip


def _broken(error: BaseException) -> CallError:
    return CallError(code="tool.failed", message=f"The tool failed: {type(error).__name__}.")
