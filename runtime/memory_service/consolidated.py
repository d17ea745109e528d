"""What consolidation did and said before, read from its events, and taking a batch of it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.errors import NotFound
from runtime.events import MemoryConsolidated, MemoryJudged, MemoryProposed, Retired, Verdict
from runtime.facts import Fact, FactChange, Made, Partition, Shelf
from runtime.memory.judging import key_of
from runtime.memory.pairing import PairKey
from runtime.memory_service.changes import again
from runtime.record import Record, SessionFilter

ADMIN = "@admin"
"""Flow id of consolidation's own sessions: `@admin` and, of a model's calls, `@maintenance`."""
SESSIONS = (ADMIN, "@maintenance")
"""The sessions in which all of it stands; flows have a `@maintenance` of their own."""
_Place = tuple[str, int, str, str, str]
Sides = frozenset[tuple[str, int]]
"""Two keys with their versions, in no order."""


class Undone(NamedTuple):
    """What of a batch was taken back, and the keys that were written again since and stay."""

    batch: str
    keys: tuple[str, ...]
    left: tuple[str, ...]


class Past:
    """The plans, changes and verdicts of a user's consolidations, oldest first."""

    def __init__(
        self,
        partition: Partition = "real",
        proposed: tuple[MemoryProposed, ...] = (),
        consolidated: tuple[MemoryConsolidated, ...] = (),
        judged: tuple[MemoryJudged, ...] = (),
    ) -> None:
        self._partition, self._proposed, self._consolidated = partition, proposed, consolidated
        self._undone = {_place(event, event.undoes) for event in consolidated if event.undoes}
        self.verdicts: dict[Shelf, dict[PairKey, tuple[Verdict, str | None]]] = {}
        for event in judged:
            known = self.verdicts.setdefault(shelf_of(partition, event), {})
            known.update((key_of(verdict), (verdict, event.run_id)) for verdict in event.verdicts)

    def open_parts(self) -> list[MemoryProposed]:
        """The parts of the newest plan that are still to be carried out."""
        if not self._proposed:
            return []
        batch = self._proposed[-1].batch
        done = {event.part for event in self._consolidated if event.batch == batch}
        mine = (part for part in self._proposed if part.batch == batch and part.part not in done)
        return [part for part in mine if part.changes]

    def marks(self, shelf: Shelf) -> Iterator[Retired]:
        """What was marked as contradicting each other on a shelf, was not taken back and is not settled."""
        settled = self.settled(shelf)
        for change in self._made(shelf, "conflict"):
            if sides(change) not in settled:
                yield change

    def settled(self, shelf: Shelf) -> set[Sides]:
        """The versions of which a person said that both are right."""
        return {sides(change) for change in self._made(shelf, "both")}

    def _made(self, shelf: Shelf, action: str) -> Iterator[Retired]:
        for event in self._consolidated:
            if event.batch and not self._taken_back(event) and shelf_of(self._partition, event) == shelf:
                yield from (change for change in event.changes if change.action == action)

    def anything_to_undo(self) -> bool:
        """Whether there is a batch of which not all was taken back."""
        return any(event.batch and not self._taken_back(event) for event in self._consolidated)

    def last_batch(self) -> list[MemoryConsolidated]:
        """The parts of the last batch of which not all was taken back."""
        left = [event for event in self._consolidated if event.batch and not self._taken_back(event)]
        return [event for event in left if event.batch == left[-1].batch]

    def _taken_back(self, event: MemoryConsolidated) -> bool:
        whole = (event.batch, 0, "", "user", "")  # how a batch was taken back before it had parts
        return _place(event, event.batch) in self._undone or whole in self._undone


def sides(change: Retired) -> Sides:
    """Which versions a change is about."""
    return frozenset({(change.key, change.version), (change.by or "", change.by_version or 0)})


def holds(mark: Retired, versions: dict[str, int]) -> bool:
    """Whether both versions that it is about are current."""
    return versions.get(mark.key) == mark.version and versions.get(mark.by or "") == mark.by_version


def shelf_of(partition: Partition, event: MemoryProposed | MemoryConsolidated | MemoryJudged) -> Shelf:
    """The shelf that an event is about."""
    return Shelf(partition, event.namespace, "session" if event.scope == "session" else "user", event.owner)


def _place(event: MemoryConsolidated, batch: str | None) -> _Place:
    return batch or "", event.part, event.namespace, event.scope, event.owner


class _Type(msgspec.Struct):
    """What an event is."""

    type: str


async def past(record: Record, partition: Partition, user_id: str) -> Past:
    """What stands on the user's timelines of consolidation."""
    proposed, consolidated, judged = list[MemoryProposed](), list[MemoryConsolidated](), list[MemoryJudged]()
    for raw in await _events(record, partition, user_id):
        kind = msgspec.json.decode(raw, type=_Type).type
        if kind == "memory.proposed":
            proposed.append(msgspec.json.decode(raw, type=MemoryProposed))
        elif kind == "memory.consolidated":
            consolidated.append(msgspec.json.decode(raw, type=MemoryConsolidated))
        elif kind == "memory.judged":
            judged.append(msgspec.json.decode(raw, type=MemoryJudged))
    consolidated.sort(key=lambda event: event.at)
    return Past(partition, tuple(proposed), tuple(consolidated), tuple(judged))


async def _events(record: Record, partition: Partition, user_id: str) -> list[bytes]:
    found: list[bytes] = []
    for name in SESSIONS:
        for line in await record.sessions(SessionFilter(partition, user_id, name=name, limit=1_000_000)):
            if line.user_id == user_id:
                found += await record.events_json(line.uid)
    return found


async def undo(record: Record, partition: Partition, user_id: str, actor: str, at: datetime) -> Undone:
    """Take back the last batch of which not all was taken back: what it retired or rewrote is as before,
    unless its key was written since. Each part in one transaction; raises NotFound where there is none."""
    parts = (await past(record, partition, user_id)).last_batch()
    if not parts:
        raise NotFound(
            "There is no consolidation to take back.", remedy="`farthing memory consolidate` makes one."
        )
    keys: list[str] = []
    left: list[str] = []
    for part in parts:
        back = await _take_back(record, shelf_of(partition, part), part, actor, at)
        for key, made in back:
            (keys if made else left).append(key)
    return Undone(parts[0].batch, tuple(keys), tuple(left))


async def _take_back(
    record: Record, shelf: Shelf, part: MemoryConsolidated, actor: str, at: datetime
) -> list[tuple[str, bool]]:
    """Which keys of a part are as before."""
    wishes = [wish for change in part.changes for wish in await _wishes(record, shelf, change, actor)]
    keys = tuple(key for key, _ in wishes)

    def said(made: tuple[Made, ...]) -> list[MemoryConsolidated]:
        return [
            MemoryConsolidated(
                at=at,
                namespace=part.namespace,
                scope=part.scope,
                owner=part.owner,
                keys=tuple(key for key, (done, _) in zip(keys, made, strict=True) if done),
                part=part.part,
                skipped=sum(not done for done, _ in made),
                undoes=part.batch,
                actor=actor,
            )
        ]

    made, _ = await record.change_facts(shelf, [wish for _, wish in wishes], at, said, quiet=False)
    return [(key, done) for key, (done, _) in zip(keys, made, strict=True)]


async def _wishes(record: Record, shelf: Shelf, change: Retired, actor: str) -> list[tuple[str, FactChange]]:
    """What takes one change back: of each key that it changed."""
    key, version = change.key, change.version
    if change.action in ("conflict", "both"):
        return []
    if change.action == "promote":
        promoted = await _version(record, shelf, key, version + 1)
        if promoted is None:
            return []
        derived = msgspec.structs.replace(promoted, origin="derived", version=version)
        write = again(derived, promoted.valid_to, actor)
        return [(key, FactChange(close=((key, version + 1),), write=write))]
    retired = await _version(record, shelf, key, version)
    write_back = None if retired is None else again(retired, change.until, actor)
    found = [(key, FactChange(gone=((key, version),), write=write_back))]
    if change.by is not None and change.wrote is not None and change.by_version is not None:
        before = await _version(record, shelf, change.by, change.by_version)
        write_back = None if before is None else again(before, before.ends, actor)
        found.append((change.by, FactChange(close=((change.by, change.wrote),), write=write_back)))
    return found


async def _version(record: Record, shelf: Shelf, key: str, version: int) -> Fact | None:
    versions = await record.fact_versions(shelf, key)
    return next((fact for fact in versions if fact.version == version), None)
