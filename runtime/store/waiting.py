"""Who waits in this process: calls for a hold to be settled, followers for a session's events."""

from __future__ import annotations

import asyncio
import time

FRESH_S = 1.0
"""How long an answer that says "blocked" is remembered when its caller does not come back."""


class Waiting:
    """Wakes at once whoever waits here. `pulse` counts what may let a waiting call through.

    A call is told "blocked" at some pulse and waits afterwards; when the pulse has moved in between there is
    nothing to wait for. So answers are remembered by ticket until the call asks again.
    """

    def __init__(self) -> None:
        self.pulse = 0
        self.closed = False
        self._answers: dict[int, tuple[int, float]] = {}
        self._calls: set[asyncio.Future[None]] = set()
        self._followers: dict[str, set[asyncio.Future[None]]] = {}

    def blocked(self, ticket: int, pulse: int) -> None:
        """A call was told at this pulse that it must wait."""
        self._answers[ticket] = (pulse, time.monotonic())

    def left(self, ticket: int | None) -> None:
        """A call waits no more."""
        if ticket is not None:
            self._answers.pop(ticket, None)

    async def missed(self) -> bool:
        """Whether the pulse moved since a waiting call was told to wait. It may be another call's answer
        that is stale, so all get a turn to ask again."""
        oldest = time.monotonic() - FRESH_S
        fresh = {ticket: (pulse, at) for ticket, (pulse, at) in self._answers.items() if at > oldest}
        self._answers = fresh
        if any(pulse < self.pulse for pulse, _ in fresh.values()):
            await asyncio.sleep(0)
            return True
        return False

    def beat(self, pulse: int) -> None:
        """Something was settled, released, raised or left."""
        if pulse > self.pulse:
            self.pulse = pulse
            _wake(self._calls)

    async def settled(self, over: asyncio.Future[None] | float) -> bool:
        """Wait for the next beat; False when so many seconds, or `over`, came first."""
        if self.closed:
            return False
        future = self._join(self._calls)
        try:
            if isinstance(over, asyncio.Future):
                await asyncio.wait([future, over], return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.wait([future], timeout=max(0.0, over))
            return future.done() and not self.closed
        finally:
            self._calls.discard(future)

    def follow(self, session_uid: str) -> asyncio.Future[None]:
        """A future that is done once the session has new events, or the store is closed."""
        future = self._join(self._followers.setdefault(session_uid, set()))
        if self.closed:
            future.set_result(None)
        return future

    def unfollow(self, session_uid: str, future: asyncio.Future[None]) -> None:
        followers = self._followers.get(session_uid)
        if followers is not None:
            followers.discard(future)
            if not followers:
                del self._followers[session_uid]

    def moved(self, session_uid: str) -> None:
        """The session has new events."""
        if followers := self._followers.get(session_uid):
            _wake(followers)

    def all_moved(self) -> None:
        """Any session may have new events."""
        for followers in self._followers.values():
            _wake(followers)

    @property
    def followed(self) -> bool:
        return bool(self._followers)

    @property
    def awaited(self) -> bool:
        return bool(self._calls)

    def close(self) -> None:
        """Let everybody go."""
        self.closed = True
        self.all_moved()
        _wake(self._calls)

    @staticmethod
    def _join(group: set[asyncio.Future[None]]) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        group.add(future)
        return future


def _wake(futures: set[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
