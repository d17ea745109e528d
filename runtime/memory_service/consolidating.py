"""Consolidation of one user's facts, offline: what would change, kept as a plan, and the plan carried out.

A plan stands as events on the user's `@admin` timeline, in parts. Each part changes in one transaction, with
the event that says so: a process that is killed leaves every part whole or untouched, and going on is
carrying out the parts that no event says were done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.errors import Conflict
from runtime.events import MemoryConsolidated, MemoryProposed, Retired
from runtime.facts import Fact, Made, Partition, Shelf
from runtime.memory.consolidation import Proposal, Said, proposals
from runtime.memory_service.changes import change_of
from runtime.memory_service.consolidated import Past, holds, shelf_of, sides
from runtime.record import ACTIVE, Record, SessionFilter

CHANGES_PER_PART = 50
"""Changes that are made in one transaction."""


class Plan(NamedTuple):
    """What would change on one shelf. `conflicts` are keys beside which a tool's word waits, `marked` what
    contradicts each other: both are for a person to settle."""

    shelf: Shelf
    proposals: tuple[Proposal, ...]
    conflicts: tuple[str, ...] = ()
    marked: tuple[Retired, ...] = ()


class Done(NamedTuple):
    """What came of one part."""

    shelf: Shelf
    made: tuple[Retired, ...]
    skipped: tuple[Retired, ...]


async def look(
    record: Record, partition: Partition, user_id: str, now: datetime, past: Past | None = None
) -> list[Plan]:
    """What would change on each of a user's shelves that has something to change or to settle."""
    past = past or Past()
    found = []
    for shelf, _ in await record.shelves(partition, user_id):
        facts, conflicts = await standing(record, shelf)
        versions = {fact.key: fact.version for fact in facts}
        marked = tuple(mark for mark in past.marks(shelf) if holds(mark, versions))
        told = {sides(mark) for mark in marked} | past.settled(shelf)
        said = [Said(verdict, run_id) for verdict, run_id in past.verdicts.get(shelf, {}).values()]
        # In a thread, so that a server answers others meanwhile.
        found_here = await asyncio.to_thread(proposals, facts, now, said=said)
        wanted = [
            proposal
            for proposal in found_here
            if not (proposal.action == "conflict" and sides(proposal.event()) in told)
        ]
        plan = Plan(shelf, tuple(wanted), conflicts, marked)
        if any(plan[1:]):
            found.append(plan)
    return sorted(found, key=lambda plan: plan.shelf)


async def standing(record: Record, shelf: Shelf) -> tuple[list[Fact], tuple[str, ...]]:
    """The current facts of a shelf that nothing is in conflict with, and the keys of the others."""
    versions = await record.fact_versions(shelf)
    conflicts = {fact.key for fact in versions if fact.state == "conflict"}
    current = [f for f in versions if f.state == "current" and f.key not in conflicts]
    return current, tuple(sorted(conflicts))


async def keep(
    record: Record,
    partition: Partition,
    user_id: str,
    plans: Sequence[Plan],
    batch: str,
    actor: str,
    at: datetime,
) -> list[MemoryProposed]:
    """Store what was previewed, all of it or nothing, to be carried out just so later. A preview without
    changes is stored as such, so that it takes the place of an earlier one; gives the parts with changes."""
    events: list[MemoryProposed] = []
    for plan in plans:
        changes = [proposal.event() for proposal in plan.proposals]
        for start in range(0, len(changes), CHANGES_PER_PART):
            part = tuple(changes[start : start + CHANGES_PER_PART])
            events.append(
                MemoryProposed(
                    at=at,
                    namespace=plan.shelf.namespace,
                    scope=plan.shelf.scope,
                    owner=plan.shelf.owner,
                    keys=tuple(change.key for change in part),
                    batch=batch,
                    part=len(events) + 1,
                    changes=part,
                    conflicts=len(plan.conflicts) if start == 0 else 0,
                    actor=actor,
                )
            )
    nothing = MemoryProposed(at=at, namespace="", scope="user", owner=user_id, batch=batch, actor=actor)
    nowhere = Shelf(partition, "", "user", user_id)
    await record.forget_facts(nowhere, [], at, events or [nothing], run_id=None)
    return events


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
    partition: Partition,
    parts: Sequence[MemoryProposed],
    actor: str,
    clock: Callable[[], datetime],
    done: Callable[[Done], None] = lambda _done: None,
) -> list[Done]:
    """Make the changes of these parts, each in one transaction; `done` is told after each. What rests on a
    version that has moved on is skipped. Raises Conflict while a run of the user is active."""
    outcomes = []
    for part in parts:
        shelf = shelf_of(partition, part)
        outcome = await _carry_out_part(record, shelf, part, actor, clock())
        outcomes.append(outcome)
        done(outcome)
    return outcomes


async def _carry_out_part(
    record: Record, shelf: Shelf, part: MemoryProposed, actor: str, at: datetime
) -> Done:
    facts = {fact.key: fact for fact in await record.facts(shelf)}
    changes = [change_of(change, facts, actor) for change in part.changes]

    def said(made: tuple[Made, ...]) -> list[MemoryConsolidated]:
        return [_event(part, _sorted(part, made)[0], actor, at)]

    made, _ = await record.change_facts(shelf, changes, at, said)
    return Done(shelf, *_sorted(part, made))


def _sorted(part: MemoryProposed, made: Sequence[Made]) -> tuple[tuple[Retired, ...], tuple[Retired, ...]]:
    """The changes that were made, with the versions that they wrote, and those that were skipped."""
    done, skipped = [], []
    for change, (was_made, fact) in zip(part.changes, made, strict=True):
        if was_made:
            wrote = None if fact is None else fact.version
            done.append(msgspec.structs.replace(change, wrote=wrote))
        else:
            skipped.append(change)
    return tuple(done), tuple(skipped)


def _event(part: MemoryProposed, made: tuple[Retired, ...], actor: str, at: datetime) -> MemoryConsolidated:
    return MemoryConsolidated(
        at=at,
        namespace=part.namespace,
        scope=part.scope,
        owner=part.owner,
        keys=tuple(change.key for change in made),
        batch=part.batch,
        part=part.part,
        skipped=len(part.changes) - len(made),
        merged=sum(change.action in ("merge", "rewrite") for change in made),
        expired=sum(change.action == "expire" for change in made),
        conflicts=part.conflicts + sum(change.action == "conflict" for change in made),
        changes=made,
        actor=actor,
    )
