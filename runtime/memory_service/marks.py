"""Marks of contradictions between two facts of one shelf: those that hold, and a person's word on one.

A mark is a change of a consolidation that was not taken back. It holds while both versions are current and
nobody has settled it; what settles it stands on the timeline in the same way and can be taken back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from runtime.errors import Conflict, NotFound
from runtime.events import MemoryConsolidated, Retired
from runtime.facts import FactChange, Made, Partition, Shelf
from runtime.memory_service.consolidated import ADMIN, Past, holds, past
from runtime.record import Record, SessionFilter

_User = tuple[Partition, str]
FEW_USERS = 10
"""Users whose past is read without asking first who has one."""


class Mark(NamedTuple):
    """Two current facts that cannot both be true, why, and the run in which a model said so."""

    shelf: Shelf
    key: str
    version: int
    other: str
    other_version: int
    why: str
    judged_in: str | None

    def beside(self, key: str) -> str | None:
        """The key that contradicts this one; null where the mark is not about it."""
        return {self.key: self.other, self.other: self.key}.get(key)


class Settling(NamedTuple):
    """A person's word on a mark: `right` is, and so is `other` where `both`; else that one is retired."""

    right: str
    other: str
    both: bool
    actor: str


async def marks_on(record: Record, shelves: Iterable[Shelf]) -> list[Mark]:
    """The marks that hold on these shelves, in order of shelf and key."""
    theirs: defaultdict[_User, list[Shelf]] = defaultdict(list)
    for shelf in set(shelves):
        user = await _user_of(record, shelf)
        if user is not None:
            theirs[shelf.partition, user].append(shelf)
    known = await _consolidated(record, theirs) if len(theirs) > FEW_USERS else set(theirs)
    found: list[Mark] = []
    for partition, user in theirs.keys() & known:
        before = await past(record, partition, user)
        for shelf in theirs[partition, user]:
            found += await _holding(record, shelf, before)
    return sorted(found, key=lambda mark: mark[:5])


async def settle(record: Record, shelf: Shelf, wish: Settling, batch: str, at: datetime) -> Mark:
    """Carry out a person's word on a mark, as a batch of its own. Raises NotFound where there is no such
    mark, and Conflict where one of the facts is written meanwhile."""
    pair = {wish.right, wish.other}
    mark = next((m for m in await marks_on(record, [shelf]) if {m.key, m.other} == pair), None)
    if mark is None:
        raise NotFound(
            f"{wish.right!r} and {wish.other!r} are not marked as contradicting each other.",
            remedy="`farthing facts` shows the marks.",
        )
    change = await _word(record, mark, wish)
    right, spare = (wish.right, change.by_version or 0), (change.key, change.version)
    change_of = FactChange(stand=(right, spare)) if wish.both else FactChange(close=(spare,), stand=(right,))

    def said(made: tuple[Made, ...]) -> list[MemoryConsolidated]:
        return [_event(mark, change, batch, wish.actor, at)] if made[0].done else []

    made, _ = await record.change_facts(shelf, [change_of], at, said, quiet=False)
    if not made[0].done:
        raise Conflict("One of the two facts was written meanwhile.", remedy="Look at them again.")
    return mark


async def _word(record: Record, mark: Mark, wish: Settling) -> Retired:
    versions = {mark.key: mark.version, mark.other: mark.other_version}
    (spare,) = await record.facts(mark.shelf, keys=[wish.other])
    return Retired(
        key=wish.other,
        version=versions[wish.other],
        action="both" if wish.both else "keep",
        why=mark.why,
        by=wish.right,
        by_version=versions[wish.right],
        until=spare.valid_to,
        judged_in=mark.judged_in,
    )


def _event(mark: Mark, change: Retired, batch: str, actor: str, at: datetime) -> MemoryConsolidated:
    return MemoryConsolidated(
        at=at,
        namespace=mark.shelf.namespace,
        scope=mark.shelf.scope,
        owner=mark.shelf.owner,
        keys=(change.key, change.by or ""),
        batch=batch,
        part=1,
        changes=(change,),
        actor=actor,
    )


async def _holding(record: Record, shelf: Shelf, before: Past) -> list[Mark]:
    marked = list(before.marks(shelf))
    if not marked:
        return []
    keys = {key for mark in marked for key in (mark.key, mark.by or "")}
    versions = {fact.key: fact.version for fact in await record.facts(shelf, keys=sorted(keys))}
    return [
        Mark(shelf, mark.key, mark.version, mark.by or "", mark.by_version or 0, mark.why, mark.judged_in)
        for mark in marked
        if holds(mark, versions)
    ]


async def _consolidated(record: Record, users: Iterable[_User]) -> set[_User]:
    """Users of whom something was consolidated."""
    found: set[_User] = set()
    for partition in {partition for partition, _ in users}:
        lines = await record.sessions(SessionFilter(partition, flow_id=ADMIN, limit=1_000_000))
        found.update((partition, line.user_id) for line in lines if line.user_id is not None)
    return found


async def _user_of(record: Record, shelf: Shelf) -> str | None:
    if shelf.scope == "user":
        return shelf.owner
    line = await record.session(shelf.owner)
    return None if line is None else line.user_id
