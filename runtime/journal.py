"""What a run says: kept together until the next commit, committed through record, then told to listeners.

Events of nodes that call no model cost no transaction of their own: they go with the next call, with the
run's end, after `FLUSH_AFTER_S`, or when `FLUSH_AT` of them wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from runtime.clock import Clock
from runtime.events import Entry, Event
from runtime.facts import Ageing, FactWrite, Shelf, Written
from runtime.record import (
    BuildAdmission,
    BuildAged,
    BuildFinish,
    BuildSettled,
    BuildWritten,
    CallClose,
    CallDone,
    CallHeld,
    CallIntent,
    CallOpened,
    Record,
    RunEnd,
    Settled,
)

FLUSH_AFTER_S = 0.02
"""Longest time that an event waits for company, so that a watcher sees it at once."""
FLUSH_AT = 512
"""Most events that wait."""

OnEvent = Callable[[Entry], None]


class Journal:
    """One run's way to its timeline."""

    def __init__(self, record: Record, run_id: str, clock: Clock, on_event: OnEvent | None = None) -> None:
        self.record, self.run_id, self.clock = record, run_id, clock
        self._on_event = on_event
        self._pending: list[Event] = []
        self.full = False
        """Enough events wait to be worth a commit now."""
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    def say(self, event: Event) -> None:
        """Put an event in line for the next commit."""
        self._pending.append(event)
        self.full = len(self._pending) >= FLUSH_AT
        if self._timer is None:
            self._flush_later()

    def say_both(self, first: Event, second: Event) -> None:
        """Put two events in line."""
        pending = self._pending
        pending += (first, second)
        self.full = len(pending) >= FLUSH_AT
        if self._timer is None:
            self._flush_later()

    def publish(self, entries: Sequence[Entry]) -> None:
        """Tell the listener what was committed. One that fails is not told any more: a fault in a view must
        not end a run."""
        if self._on_event is None:
            return
        try:
            for entry in entries:
                self._on_event(entry)
        except Exception:
            import logging

            logging.getLogger(__name__).exception("a listener of run %s failed", self.run_id)
            self._on_event = None

    async def flush(self) -> None:
        """Commit what waits. Raises what a commit in the background failed with."""
        if self._failure is not None:
            raise self._failure
        events = self._take()
        if events:
            self.publish(await self.record.append(self.run_id, events))

    async def open_call(
        self, intent: CallIntent, build: BuildAdmission, ticket: int | None = None
    ) -> CallOpened | CallHeld | CallDone:
        """Record.open_call with what waits put before it."""
        outcome = await self.record.open_call(intent, self._take(), build, ticket=ticket)
        if not isinstance(outcome, CallDone):
            self.publish(outcome.entries)
        return outcome

    async def close_call(self, close: CallClose, build: BuildSettled) -> Settled:
        """Record.close_call, published."""
        settled = await self.record.close_call(close, build)
        self.publish(settled.entries)
        return settled

    async def release_call(self, call_id: int, events: Sequence[Event]) -> None:
        """Record.release_call, published."""
        self.publish(await self.record.release_call(call_id, self.run_id, self.clock.now(), events))

    async def write_fact(self, shelf: Shelf, write: FactWrite, build: BuildWritten) -> Written:
        """Record.write_fact within this run, after what waits."""
        await self.flush()
        written, entries = await self.record.write_fact(
            shelf, write, self.clock.now(), build, run_id=self.run_id
        )
        self.publish(entries)
        return written

    async def forget_facts(self, shelf: Shelf, keys: Sequence[str], events: Sequence[Event]) -> None:
        """Record.forget_facts within this run, after what waits."""
        await self.flush()
        self.publish(
            await self.record.forget_facts(shelf, keys, self.clock.now(), events, run_id=self.run_id)
        )

    async def age_facts(self, shelf: Shelf, wish: Ageing, build: BuildAged) -> Ageing:
        """Record.age_facts within this run, after what waits; the run's id stands where a value was."""
        await self.flush()
        done, entries = await self.record.age_facts(
            shelf, wish, self.run_id, self.clock.now(), build, run_id=self.run_id
        )
        self.publish(entries)
        return done

    async def finish(self, end: RunEnd, build: BuildFinish) -> None:
        """Record.finish with what waits put before it; nothing is said afterwards."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        self.publish(await self.record.finish(end, self._take(), build))

    def _take(self) -> list[Event]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._pending, self.full = self._pending, [], False
        return events

    def _flush_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self._flush_soon)

    def _flush_soon(self) -> None:
        self._timer = None
        if self._pending and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.create_task(self._flush_quietly())

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except Exception as error:  # told at the run's next commit, where somebody can act on it
            self._failure = error
