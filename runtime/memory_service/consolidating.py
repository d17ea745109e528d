"""Consolidation of one user's facts, offline: what would change, the changes, and taking a batch back.

Each shelf changes in one transaction, with its event: a process that is killed leaves every shelf whole, and
going on is doing it again, since only what is still to be done is found.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.errors import Conflict, NotFound
from runtime.events import MemoryConsolidated, Retired
from runtime.facts import VERSION_SOURCE, Ageing, Fact, FactWrite, Partition, Scope, Shelf
from runtime.memory.consolidation import Proposal, proposals
from runtime.record import ACTIVE, Record, SessionFilter

ADMIN = "@admin"
MAINTENANCE = "@maintenance"


class _Type(msgspec.Struct):
    """What an event is."""

    type: str


class Plan(NamedTuple):
    """What would change on one shelf; `conflicts` are keys that a person must settle."""

    shelf: Shelf
    proposals: tuple[Proposal, ...]
    conflicts: tuple[str, ...]


class Undone(NamedTuple):
    """What of a batch was taken back, and the keys that were written again since and stay."""

    batch: str
    keys: tuple[str, ...]
    left: tuple[str, ...]


async def look(record: Record, partition: Partition, user_id: str, now: datetime) -> list[Plan]:
    """What would change on each of a user's shelves that has something to change or to settle."""
    found = []
    for shelf, _ in await record.shelves(partition, user_id):
        versions = await record.fact_versions(shelf)
        conflicts = sorted({fact.key for fact in versions if fact.state == "conflict"})
        current = [f for f in versions if f.state == "current" and f.key not in conflicts]
        plan = Plan(shelf, proposals(current, now), tuple(conflicts))
        if plan.proposals or plan.conflicts:
            found.append(plan)
    return sorted(found)


async def refuse_while_active(record: Record, user_id: str) -> None:
    """Raises Conflict while any run of the user has not ended."""
    partitions: tuple[Partition, ...] = ("real", "rehearsal")
    for partition in partitions:
        for line in await record.sessions(SessionFilter(partition, user_id, limit=1_000_000)):
            for run in await record.runs(line.uid):
                if run.state in ACTIVE:
                    raise Conflict(
                        f"The run {run.run_id} of {user_id!r} is {run.state}.",
                        remedy="Wait until it has ended, or cancel it.",
                    )


async def carry_out(
    record: Record,
    plans: list[Plan],
    batch: str,
    actor: str,
    at: datetime,
    done: Callable[[Plan], None] = lambda _plan: None,
) -> None:
    """Make the changes, shelf by shelf; `done` is told after each."""
    for plan in plans:
        if plan.proposals:
            keys = [proposal.key for proposal in plan.proposals]
            event = _event(plan, batch, actor, at)
            await record.forget_facts(plan.shelf, keys, at, [event], run_id=None, retire=True)
        done(plan)


def _event(plan: Plan, batch: str, actor: str, at: datetime) -> MemoryConsolidated:
    changes = tuple(
        Retired(key=p.key, version=p.version, action=p.action, why=p.why, by=p.by, until=p.until)
        for p in plan.proposals
    )
    return MemoryConsolidated(
        at=at,
        namespace=plan.shelf.namespace,
        scope=plan.shelf.scope,
        owner=plan.shelf.owner,
        keys=tuple(proposal.key for proposal in plan.proposals),
        merged=sum(proposal.action == "merge" for proposal in plan.proposals),
        expired=sum(proposal.action == "expire" for proposal in plan.proposals),
        conflicts=len(plan.conflicts),
        batch=batch,
        changes=changes,
        actor=actor,
    )


async def undo(record: Record, partition: Partition, user_id: str, actor: str, at: datetime) -> Undone:
    """Take the last batch back that was not taken back yet: what it retired is current again, unless its key
    was written since. Raises NotFound where there is none."""
    events = await _batches(record, partition, user_id)
    undone = {event.undoes for event in events}
    left_to_undo = [event.batch for event in events if event.batch and event.batch not in undone]
    last = left_to_undo[-1] if left_to_undo else None
    if last is None:
        raise NotFound("There is no consolidation to take back.", remedy="`farthing memory consolidate`.")
    keys: list[str] = []
    left: list[str] = []
    for event in (event for event in events if event.batch == last):
        scope: Scope = "session" if event.scope == "session" else "user"
        shelf = Shelf(partition, event.namespace, scope, event.owner)
        for change in event.changes:
            back = await _put_back(record, shelf, change, actor, at)
            (keys if back else left).append(change.key)
    note = MemoryConsolidated(at=at, namespace="", scope="user", keys=tuple(keys), undoes=last, actor=actor)
    nowhere = Shelf(partition, "", "user", user_id)
    await record.forget_facts(nowhere, [], at, [note], run_id=None)
    return Undone(last, tuple(keys), tuple(left))


async def _put_back(record: Record, shelf: Shelf, change: Retired, actor: str, at: datetime) -> bool:
    """Whether the retired version is current again, or the promoted one derived."""
    if change.action == "promote":
        wish = Ageing(demote={change.key: change.version + 1})
        done, _ = await record.age_facts(shelf, wish, "", at, lambda _done: [], run_id=None)
        return bool(done.demote)
    versions = await record.fact_versions(shelf, change.key)
    if not versions or versions[-1].version != change.version or versions[-1].state != "superseded":
        return False
    write = _again(versions[-1], change.until, actor)
    await record.write_fact(shelf, write, at, lambda _written: [], run_id=None)
    return True


def _again(fact: Fact, until: datetime | None, actor: str) -> FactWrite:
    """The same statement anew."""
    return FactWrite(
        key=fact.key,
        value=fact.value,
        kind=fact.kind,
        origin=fact.origin,
        confidence=fact.confidence,
        valid_from=fact.valid_from,
        valid_to=until,
        source=f"{VERSION_SOURCE}{fact.version}",
        actor=actor,
        subject=fact.subject,
        attribute=fact.attribute,
    )


async def _batches(record: Record, partition: Partition, user_id: str) -> list[MemoryConsolidated]:
    """What changed the user's memory, in batches, and what took them back, oldest first."""
    found: list[MemoryConsolidated] = []
    for name in (ADMIN, MAINTENANCE):
        which = SessionFilter(partition, user_id, name=name, limit=1_000_000)
        for line in await record.sessions(which):
            if line.user_id != user_id or line.name != name:
                continue
            raws = await record.events_json(line.uid)
            found += [
                msgspec.json.decode(raw, type=MemoryConsolidated)
                for raw in raws
                if msgspec.json.decode(raw, type=_Type).type == "memory.consolidated"
            ]
    return sorted(found, key=lambda event: event.at)
