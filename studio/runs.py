"""The runs of this process: begun by a request, seen through whatever the page does, cancelled on request."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from runtime.events import AgentUsage, Entry, ModelCalled
from runtime.record import Claimed
from runtime.run.services import Services
from runtime.run.start import ActiveRun, Outcome, Prepared, start
from studio.deltas import Live

log = logging.getLogger("farthing.studio")
MOST_KEYS = 10_000
"""Idempotency keys that are remembered, for as long as the server runs."""

Publish = Callable[[str, bytes], None]


class Started(NamedTuple):
    """A run that has begun."""

    run_id: str
    session_uid: str
    session: str
    rehearsal: bool


class _Under(NamedTuple):
    """A run under way."""

    active: ActiveRun
    live: Live
    session_uid: str
    outcome: asyncio.Task[Outcome]


class Runs:
    """Runs under way, by id. `publish` is given a session and a frame of text as it is said."""

    def __init__(self) -> None:
        self.publish: Publish = lambda _uid, _frame: None
        self._under: dict[str, _Under] = {}
        self._beginning: set[ActiveRun] = set()
        self._keys: OrderedDict[tuple[str, str], tuple[bytes, asyncio.Future[Started]]] = OrderedDict()
        self.stopping = False

    async def begin(self, prepared: Prepared, services: Services) -> Started:
        """Start a prepared run and wait until it is on record. It goes on whoever leaves."""
        speaking = _Speaking(services, self.publish)
        active = start(prepared, services, speaking.on_event, speaking.on_delta)
        outcome = asyncio.create_task(active.outcome())
        outcome.add_done_callback(lambda task: self._over(active.run_id, task))
        self._beginning.add(active)
        try:
            claimed = await asyncio.shield(active.claimed)
        except BaseException:
            active.cancel()
            raise
        finally:
            self._beginning.discard(active)
        if not outcome.done():
            self._under[active.run_id] = _Under(active, speaking.live, claimed.session_uid, outcome)
        if self.stopping:
            active.cancel()
        return _started(claimed, prepared)

    async def once(
        self, user: str, key: str | None, body: bytes, begin: Callable[[], Coroutine[Any, Any, Started]]
    ) -> Started | None:
        """Begin, unless the same request with this key began already: then what it gave. None where the key
        was used for another request."""
        if key is None:
            return await begin()
        known = self._keys.get((user, key))
        if known is not None:
            return await asyncio.shield(known[1]) if known[0] == body else None
        task = asyncio.ensure_future(begin())
        self._keys[(user, key)] = (body, task)
        while len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)
        try:
            return await asyncio.shield(task)
        except Exception:  # what could not begin may be tried again with the same key
            self._keys.pop((user, key), None)
            raise

    def cancel(self, run_id: str) -> bool:
        """Ask a run to end at once; False where it is not under way here."""
        under = self._under.get(run_id)
        if under is None:
            return False
        under.active.cancel()
        return True

    def cancel_all(self) -> int:
        """Ask every run to end, now and from now on; how many there were."""
        self.stopping = True
        for active in (*self._beginning, *(under.active for under in self._under.values())):
            active.cancel()
        return len(self._beginning) + len(self._under)

    async def drain(self, seconds: float) -> int:
        """Wait for runs that were cancelled; how many did not end in time."""
        tasks = {under.outcome for under in self._under.values()}
        if not tasks:
            return 0
        _, late = await asyncio.wait(tasks, timeout=seconds)
        return len(late)

    def has(self, run_id: str) -> bool:
        """Whether a run is under way here."""
        return run_id in self._under

    @property
    def count(self) -> int:
        return len(self._under)

    # -- what they are saying

    def so_far(self, uid: str) -> list[bytes]:
        """The text so far of each call in flight of a session, as frames."""
        return [frame for each in self._of(uid) for frame in each.live.so_far()]

    def flush(self, uid: str) -> None:
        """Publish what waits."""
        for each in self._of(uid):
            each.live.flush()

    def _of(self, uid: str) -> list[_Under]:
        return [under for under in self._under.values() if under.session_uid == uid]

    def _over(self, run_id: str, task: asyncio.Task[Outcome]) -> None:
        self._under.pop(run_id, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("run %s failed: %s", run_id, task.exception())


class _Speaking:
    """Connects what a run tells its listener with its live text, once its session is known."""

    def __init__(self, services: Services, publish: Publish) -> None:
        self._publish = publish
        self._uid = ""
        self.live = Live(services.redactor, self._frame)

    def on_event(self, entry: Entry) -> None:
        self._uid = entry.session_uid
        event = entry.event
        if isinstance(event, ModelCalled) and event.node_id is not None:
            self.live.opened(event.run_id or "", event.node_id, event.call)
        elif isinstance(event, AgentUsage):
            self.live.closed(event.node_id)

    def on_delta(self, node_id: str, text: str) -> None:
        self.live.heard(node_id, text)

    def _frame(self, frame: bytes) -> None:
        self._publish(self._uid, frame)


def _started(claimed: Claimed, prepared: Prepared) -> Started:
    return Started(claimed.run_id, claimed.session_uid, prepared.session.name, prepared.rehearsal)
