"""Facts governed by people: put one back, decide between conflicting versions, and erase without a trace."""

from __future__ import annotations

from datetime import datetime

import msgspec

from runtime.cli.fact_events import erased_by, written_by
from runtime.errors import NotFound
from runtime.facts import OUT_OF_REACH, Erase, Scope
from studio.api.facts import ShelfOut, WrittenOut, fact_out, origin_of, shelf_of
from studio.api.route import Call, Endpoint


class UndoIn(msgspec.Struct, frozen=True, kw_only=True):
    """A fact to put back to what it was before its last change."""

    namespace: str
    scope: Scope
    owner: str
    key: str
    rehearsal: bool = False


class SettleIn(msgspec.Struct, frozen=True, kw_only=True):
    """A fact with conflicting versions, and the version that is right."""

    namespace: str
    scope: Scope
    owner: str
    key: str
    keep: int
    rehearsal: bool = False


class EraseIn(msgspec.Struct, frozen=True, kw_only=True):
    """Keys to erase. Unless `preview` is false, it is only counted what would be reached."""

    namespace: str
    scope: Scope
    owner: str
    keys: list[str]
    preview: bool = True
    rehearsal: bool = False


class ReceiptOut(msgspec.Struct, frozen=True, kw_only=True):
    """What was reached, by kind of place, and what cannot be; never the content. `left` counts where a text
    too short to be searched for still stands. `swept` false: another program keeps bytes in the database's
    log. `remains`: the same text stands in what is not this user's."""

    receipt: str | None
    erased: bool
    at: datetime
    actor: str
    shelf: ShelfOut
    keys: list[str]
    versions: int
    places: dict[str, int]
    left: dict[str, int]
    swept: bool
    remains: bool
    not_reached: list[str]


async def undo(call: Call) -> WrittenOut:
    """Put a fact back to what it was before its last change; it lifts a forgetting, never an erasure."""
    shelf, now, actor = await shelf_of(call, call.body), call.studio.services.clock.now(), call.who.user
    build = written_by(shelf, actor, now)
    written, _ = await call.studio.record.undo_fact(shelf, call.body.key, actor, now, build)
    return WrittenOut(written.outcome, fact_out(shelf, written.fact))


async def settle(call: Call) -> WrittenOut:
    """Say which of a fact's conflicting versions is right; the others are kept as former ones."""
    shelf, now, actor = await shelf_of(call, call.body), call.studio.services.clock.now(), call.who.user
    build, origin = written_by(shelf, actor, now), origin_of(call, shelf)
    written, _ = await call.studio.record.settle_fact(
        shelf, call.body.key, call.body.keep, origin, actor, now, build
    )
    return WrittenOut(written.outcome, fact_out(shelf, written.fact))


async def erase(call: Call) -> ReceiptOut:
    """Erase every value that these keys ever had, wherever their user's data has it; previews by default."""
    body: EraseIn = call.body
    if not body.keys:
        raise NotFound("No key is named.", remedy="Give `keys`, one or more.")
    shelf, clock, actor = await shelf_of(call, body), call.studio.services.clock, call.who.user
    now = clock.now()
    wish = Erase(keys=tuple(body.keys), receipt=clock.new_id(), at=now, preview=body.preview)
    erased, _ = await call.studio.record.erase_facts(shelf, wish, erased_by(shelf, actor, now))
    return ReceiptOut(
        receipt=None if body.preview else erased.receipt,
        erased=not body.preview,
        at=now,
        actor=actor,
        shelf=ShelfOut(shelf.namespace, shelf.scope, shelf.owner),
        keys=list(erased.keys),
        versions=erased.versions,
        places=erased.places,
        left=erased.left,
        swept=erased.swept,
        remains=erased.remains,
        not_reached=list(OUT_OF_REACH),
    )


ENDPOINTS = (
    Endpoint("POST", "/facts/undo", "runner", undo, body=UndoIn, gives=WrittenOut, tag="facts"),
    Endpoint("POST", "/facts/settle", "runner", settle, body=SettleIn, gives=WrittenOut, tag="facts"),
    Endpoint("POST", "/facts/erase", "runner", erase, body=EraseIn, gives=ReceiptOut, tag="facts"),
)
