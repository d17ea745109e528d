"""Which events of a session a command means."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.errors import NotFound
from runtime.events import Event, Unknown, decode, event_types


class Wanted(NamedTuple):
    """Which events of a session."""

    run_id: str | None = None
    types: tuple[str, ...] = ()
    node: str | None = None
    step: int | None = None
    since: datetime | None = None
    after: int = 0

    @property
    def whole(self) -> bool:
        """Whether every event of the session is wanted."""
        return self == Wanted()

    def has(self, body: bytes) -> bool:
        """Whether an event, as stored JSON, is wanted; `after` is left to who reads."""
        if self._replace(after=0) == _ALL:
            return True
        stored = stored_of(body)
        return (
            fits(stored.type, self.types)
            and (self.node is None or _is_in(stored.node_id, self.node))
            and self.step in (None, stored.step)
            and self.run_id in (None, stored.run_id)
            and (self.since is None or (stored.at is not None and stored.at >= self.since))
        )


_ALL = Wanted()


class Stored(msgspec.Struct):
    """The common fields of an event, read without the rest."""

    type: str
    seq: int = 0
    at: datetime | None = None
    node_id: str | None = None
    run_id: str | None = None
    step: int | None = None


_stored = msgspec.json.Decoder(Stored)


def stored_of(body: bytes) -> Stored:
    """The common fields of a stored event."""
    return _stored.decode(body)


def _is_in(node_id: str | None, wanted: str) -> bool:
    """Whether it is that node or one inside its body."""
    return node_id is not None and (node_id == wanted or node_id.startswith(f"{wanted}/"))


def known_types(types: tuple[str, ...]) -> tuple[str, ...]:
    """The types as given. Raises NotFound for one that matches none."""
    for given in types:
        if not any(fits(known, (given,)) for known in event_types()):
            from difflib import get_close_matches

            near = get_close_matches(given, event_types(), n=1)
            raise NotFound(
                f"There is no event type {given!r}.",
                remedy=f"Did you mean {near[0]}?" if near else "`farthing events --schema` prints them all.",
            )
    return types


def fits(name: str, types: tuple[str, ...]) -> bool:
    """Whether an event's type is one of these; `agent` takes all of `agent.*`, none takes all."""
    return not types or any(name == each or name.startswith(f"{each}.") for each in types)


def chosen(bodies: list[bytes], wanted: Wanted) -> Iterator[tuple[int, Event | Unknown]]:
    """Number and event of those that are wanted."""
    for body in bodies:
        if wanted.has(body):
            yield stored_of(body).seq, decode(body)
