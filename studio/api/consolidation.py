"""Consolidation of a user's facts: what it would change, doing it, how far it is, and taking it back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from runtime.errors import BadInput
from runtime.memory_service.consolidated import past
from runtime.memory_service.consolidated import undo as take_back
from runtime.memory_service.consolidating import Plan, look
from studio.api.facts import MAX_NAME_CHARS, ShelfOut
from studio.api.route import Call, Endpoint, forbidden
from studio.api.shapes import partition_of
from studio.consolidations import Progress, Whose

MOST_CHANGES = 2_000


class ConsolidationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whose facts; null: one's own."""

    user: str | None = None
    rehearsal: bool = False


class ConsolidateIn(msgspec.Struct, frozen=True, kw_only=True):
    """Whose facts; null: one's own."""

    user: str | None = None
    rehearsal: bool = False


class ShelfPlanOut(msgspec.Struct, frozen=True, kw_only=True):
    """What would change on one shelf: each change says its key, its action and why. `conflicts` are keys that
    a person must settle. `more` counts changes beyond those that are sent."""

    shelf: ShelfOut
    changes: list[dict[str, Any]]
    conflicts: list[str]
    more: int


class ProgressOut(msgspec.Struct, frozen=True, kw_only=True):
    """How far a consolidation is: running, done or failed; `done` of `of` parts."""

    state: str
    batch: str
    at: datetime
    done: int
    of: int
    error: str | None
    remedy: str | None


class ConsolidationOut(msgspec.Struct, frozen=True, kw_only=True):
    """What would change now, and the last consolidation that was started here."""

    user: str
    shelves: list[ShelfPlanOut]
    last: ProgressOut | None


class UndoneOut(msgspec.Struct, frozen=True, kw_only=True):
    """The batch that was taken back: `keys` are current again, `left` were written since and stay."""

    batch: str
    keys: list[str]
    left: list[str]


async def consolidation(call: Call) -> ConsolidationOut:
    """What a consolidation of a user's facts would change; nothing is changed."""
    whose = _whose(call, call.query)
    record, now = call.studio.record, call.studio.services.clock.now()
    before = await past(record, whose.partition, whose.user_id)
    plans = await look(record, whose.partition, whose.user_id, now, before)
    last = call.studio.consolidations.progress(whose)
    return ConsolidationOut(
        user=whose.user_id,
        shelves=[_plan(plan) for plan in plans],
        last=None if last is None else _progress(last),
    )


async def consolidate(call: Call) -> ProgressOut:
    """Begin a consolidation: the database is copied first. Refused while a run of the user is active."""
    return _progress(await call.studio.consolidations.start(_whose(call, call.body), call.who.user))


async def undo_consolidation(call: Call) -> UndoneOut:
    """Take the user's last consolidation back; again, for the one before."""
    whose = _whose(call, call.body)
    now = call.studio.services.clock.now()
    done = await take_back(call.studio.record, whose.partition, whose.user_id, call.who.user, now)
    return UndoneOut(batch=done.batch, keys=list(done.keys), left=list(done.left))


def _whose(call: Call, asked: ConsolidationQuery | ConsolidateIn) -> Whose:
    """The user that is meant. Raises BadInput, or 403 for another's."""
    user = call.who.user if asked.user is None else asked.user
    if not user or len(user) > MAX_NAME_CHARS:
        raise BadInput(f"A user's id has 1 to {MAX_NAME_CHARS} characters.")
    if call.request.method != "GET" and not call.who.sees(user):
        raise forbidden("Only an operator takes care of others' facts.")
    return Whose(partition_of(asked.rehearsal), user if call.who.sees(user) else call.who.user)


def _plan(plan: Plan) -> ShelfPlanOut:
    return ShelfPlanOut(
        shelf=ShelfOut(plan.shelf.namespace, plan.shelf.scope, plan.shelf.owner),
        changes=[each._asdict() for each in plan.proposals[:MOST_CHANGES]],
        conflicts=list(plan.conflicts[:MOST_CHANGES]),
        more=max(0, len(plan.proposals) - MOST_CHANGES),
    )


def _progress(progress: Progress) -> ProgressOut:
    return ProgressOut(**progress._asdict())


ENDPOINTS = (
    Endpoint(
        "GET", "/memory/consolidation", "viewer", consolidation, query=ConsolidationQuery,
        gives=ConsolidationOut, tag="memory",
    ),
    Endpoint(
        "POST", "/memory/consolidate", "operator", consolidate, body=ConsolidateIn, gives=ProgressOut,
        status=202, tag="memory",
    ),
    Endpoint(
        "POST", "/memory/undo", "runner", undo_consolidation, body=ConsolidateIn, gives=UndoneOut,
        tag="memory",
    ),
)  # fmt: skip
