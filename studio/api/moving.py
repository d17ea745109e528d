"""Moving facts from one shelf to another: what would move is shown first."""

from __future__ import annotations

import msgspec

from runtime.cli.fact_events import moved_by
from runtime.cli.shelves import check_shelf
from runtime.errors import BadInput, NotFound
from runtime.facts import Scope
from studio.api.facts import LIST_FACTS, ShelfOut, shelf_of
from studio.api.route import Call, Endpoint

MOST_KEYS = 1_000


class PlaceIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shelf that facts go to."""

    namespace: str
    scope: Scope
    owner: str
    rehearsal: bool = False


class MoveIn(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of one shelf, all of them where none is named, and where to. Unless `preview` is false nothing is
    moved."""

    namespace: str
    scope: Scope
    owner: str
    to: PlaceIn
    keys: list[str] = []
    preview: bool = True
    rehearsal: bool = False


class MovedOut(msgspec.Struct, frozen=True, kw_only=True):
    """What moves, with all its versions. `there` are keys that the other shelf has already: while there are
    any, nothing can be moved."""

    moved: bool
    keys: list[str]
    there: list[str]
    versions: int
    shelf: ShelfOut
    to: ShelfOut


async def move(call: Call) -> MovedOut:
    """Move facts with all their versions, whole or not at all; previews by default."""
    body: MoveIn = call.body
    if body.to.rehearsal != body.rehearsal:
        raise BadInput(
            "Facts of rehearsals and real ones are kept apart.",
            remedy="Give `to.rehearsal` and `rehearsal` the same value.",
        )
    shelf, to = await shelf_of(call, body), await shelf_of(call, body.to)
    check_shelf(to)
    if shelf == to:
        raise BadInput("Both are the same shelf.", remedy="Name another user, session or namespace.")
    own = await call.studio.record.fact_versions(shelf)
    known = {fact.key for fact in own}
    keys = list(dict.fromkeys(body.keys)) or sorted(known)
    if len(keys) > MOST_KEYS:
        raise BadInput(f"At most {MOST_KEYS:,} keys are moved at once.", remedy="Name some of them.")
    missing = [key for key in keys if key not in known]
    if missing or not keys:
        raise NotFound(
            f"There is no fact {missing[0]!r} there." if missing else "There are no facts there.",
            remedy=LIST_FACTS,
        )
    taken = {fact.key for fact in await call.studio.record.fact_versions(to)}
    if not body.preview:
        now = call.studio.services.clock.now()
        event = moved_by(shelf, to, tuple(keys), call.who.user, now)
        await call.studio.record.move_facts(shelf, to, keys, now, [event])
    return MovedOut(
        moved=not body.preview,
        keys=keys,
        there=[] if not body.preview else [key for key in keys if key in taken],
        versions=sum(fact.key in keys for fact in own),
        shelf=ShelfOut(shelf.namespace, shelf.scope, shelf.owner),
        to=ShelfOut(to.namespace, to.scope, to.owner),
    )


ENDPOINTS = (Endpoint("POST", "/facts/move", "runner", move, body=MoveIn, gives=MovedOut, tag="facts"),)
