"""One step of a session looked at closely: the facts as they were, and what the step did with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from runtime.cli.events_chosen import Stored, stored_of
from runtime.events import ContextAssembled, MemoryForgotten, MemoryRead, MemoryWrite, decode
from runtime.facts import Fact, Shelf, facts_at
from runtime.record import SessionLine
from studio.api.facts import FactOut, ShelfOut, fact_out
from studio.api.route import Call, Endpoint
from studio.api.sessions import event_of, session_of
from studio.memories import Bindings

MOST_FACTS = 1_000
"""Facts of one step that are sent; those that the step touched come first."""
INSTANT = timedelta(microseconds=1)
TELLS = (b'"memory.', b'"context.assembled"')
"""What stands in every event that says something of facts."""


class StepQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which step: the number of any of its events. Null: the session's last event."""

    seq: int | None = None


class FactThenOut(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as it was once the step was through. `sent`: it stood in the prompt; `read`: the model asked for
    it; `wrote`: what a write of the step did with it; `before`: what it was until then."""

    fact: FactOut
    sent: bool
    read: bool
    wrote: str | None
    before: FactOut | None


class StepFactsOut(msgspec.Struct, frozen=True, kw_only=True):
    """Facts at the time `at`. `part` says what the event stands for: itself, its step, its node or its run.
    `forgot` are keys that were forgotten there, `internal` counts Farthing's own facts, `left_out` those
    beyond the most that are sent."""

    seq: int
    at: datetime
    part: str
    shelves: list[ShelfOut]
    facts: list[FactThenOut]
    forgot: list[str]
    internal: int
    left_out: int


class _Part(NamedTuple):
    """What an event stands for: itself, a step, a node or a whole run; and what was said there of facts."""

    name: str
    event: Stored
    until: datetime
    said: list[Any]


class _Marks(NamedTuple):
    """What the step did with keys of one shelf. `all_read`: it asked for every fact."""

    sent: set[str]
    read: set[str]
    all_read: bool
    wrote: dict[str, str]
    forgot: list[str]


async def step_facts(call: Call) -> StepFactsOut:
    """The facts of a session as they were at a step, with what the step was sent, read and wrote."""
    line = await session_of(call, call.path["uid"])
    event = await event_of(call, line, call.query.seq)
    part = await _part(call, line, event)
    bindings: Bindings = {}
    if event.run_id is not None and (run := await call.studio.record.run(event.run_id)) is not None:
        bindings = await call.studio.memories.of_run(run)
    shelves = _shelves(line, bindings, part.said)
    found: list[FactThenOut] = []
    forgot: list[str] = []
    internal = 0
    for shelf in shelves:
        versions = await call.studio.record.fact_versions(shelf)
        marks = _marks(shelf, bindings, part.said)
        there = facts_at(versions, part.until)
        internal += sum(fact.internal for fact in there)
        found += [_then(shelf, fact, versions, marks) for fact in there if not fact.internal]
        forgot += marks.forgot
    found.sort(key=_touched)
    return StepFactsOut(
        seq=event.seq,
        at=part.until,
        part=part.name,
        shelves=[ShelfOut(shelf.namespace, shelf.scope, shelf.owner) for shelf in shelves],
        facts=found[:MOST_FACTS],
        forgot=forgot,
        internal=internal,
        left_out=max(0, len(found) - MOST_FACTS),
    )


async def _part(call: Call, line: SessionLine, event: Stored) -> _Part:
    """What the event stands for. An event of memory stands for itself, since there the moment counts."""
    at = event.at or line.last_at
    if event.run_id is None or event.type.startswith("memory."):
        raws = await call.studio.record.events_json(line.uid, after=event.seq - 1, limit=1)
        return _Part("event", event, at, _told(raws))
    raws = await call.studio.record.events_json(line.uid, run_id=event.run_id)
    inside = [raw for raw in raws if _belongs(stored_of(raw), event)]
    until = max((each for raw in inside if (each := stored_of(raw).at) is not None), default=at)
    name = "run" if event.node_id is None else "node" if event.step is None else "step"
    return _Part(name, event, until, _told(inside))


def _belongs(each: Stored, to: Stored) -> bool:
    node = each.node_id or ""
    return (to.node_id is None or node == to.node_id or node.startswith(f"{to.node_id}/")) and (
        to.step is None or each.step == to.step
    )


def _told(raws: Iterable[bytes]) -> list[Any]:
    """The events among these that say something of facts."""
    return [decode(raw) for raw in raws if any(word in raw for word in TELLS)]


def _shelves(line: SessionLine, bindings: Bindings, said: Sequence[Any]) -> list[Shelf]:
    """Where the run's Memories keep their facts, and whatever else the step touched of this user."""
    places = {(each.namespace, each.config.scope) for each in bindings.values()}
    places |= {(event.namespace, event.scope) for event in said if hasattr(event, "namespace")}
    if not places:
        places = {(line.flow_id, "session"), (line.flow_id, "user")}
    partition: Any = line.partition
    found = []
    for namespace, scope in sorted(places):
        owner = line.uid if scope == "session" else line.user_id
        if owner is not None:
            found.append(Shelf(partition, namespace, scope, owner))
    return found


def _marks(shelf: Shelf, bindings: Bindings, said: Sequence[Any]) -> _Marks:
    marks = _Marks(set(), set(), False, {}, [])
    for event in said:
        if isinstance(event, ContextAssembled):
            binding = bindings.get(event.node_id or "")
            if binding is None or (binding.namespace, binding.config.scope) == (shelf.namespace, shelf.scope):
                refs = (item.ref for section in event.sections for item in section.items)
                marks.sent.update(ref.removeprefix("fact/") for ref in refs if ref.startswith("fact/"))
        elif (getattr(event, "namespace", None), getattr(event, "scope", None)) != shelf[1:3]:
            continue
        elif isinstance(event, MemoryRead):
            marks.read.update(event.keys)
            marks = marks._replace(all_read=marks.all_read or not event.keys)
        elif isinstance(event, MemoryWrite) and event.keys:
            marks.wrote[event.keys[0]] = event.outcome
        elif isinstance(event, MemoryForgotten):
            marks.forgot.extend(event.keys)
    return marks


def _then(shelf: Shelf, fact: Fact, versions: list[Fact], marks: _Marks) -> FactThenOut:
    wrote = marks.wrote.get(fact.key)
    before = None
    if wrote == "replaced":
        own = [each for each in versions if each.key == fact.key]
        before = next(iter(facts_at(own, fact.recorded_at - INSTANT)), None)
    return FactThenOut(
        fact=fact_out(shelf, fact),
        sent=fact.key in marks.sent,
        read=marks.all_read or fact.key in marks.read,
        wrote=wrote,
        before=None if before is None else fact_out(shelf, before),
    )


def _touched(each: FactThenOut) -> tuple[int, str]:
    """What was written first, then what was read, sent, and the rest; by key."""
    rank = 0 if each.wrote else 1 if each.read else 2 if each.sent else 3
    return rank, each.fact.key


ENDPOINTS = (
    Endpoint(
        "GET", "/sessions/{uid}/facts", "viewer", step_facts, query=StepQuery, gives=StepFactsOut, tag="steps"
    ),
)
