"""Consolidation of a user's facts: what it would change, doing what was chosen of it, and taking it back."""

from __future__ import annotations

from datetime import datetime

import msgspec

from runtime.events import Retired
from runtime.memory_service.choosing import Chosen, change_id, plan_id
from runtime.memory_service.consolidated import Past, past, shelf_of
from runtime.memory_service.consolidated import undo as take_back
from runtime.memory_service.consolidating import Plan, look
from studio.api.changes import MOST_CHANGES, ChangeOut, changes_out, events_of
from studio.api.facts import ShelfOut
from studio.api.marks import MarkOut
from studio.api.route import Call, Endpoint
from studio.api.shapes import cost_out
from studio.api.whose import WhoseIn, whose_of
from studio.consolidations import Progress, Whose

CHOICE_BODY = 4 * 1024 * 1024
"""Bytes of a choice at most: some 200,000 changes that are left out."""


class ConsolidateIn(WhoseIn, frozen=True, kw_only=True):
    """What is to be changed: all but the changes whose ids are in `leave`. `plan`: of what one was shown; it
    is refused where something else would be changed by now. Null: whatever would be."""

    plan: str | None = None
    leave: tuple[str, ...] = ()


class ShelfPlanOut(msgspec.Struct, frozen=True, kw_only=True):
    """What would change on one shelf. `conflicts` are keys beside which a tool's word waits, `marks` facts
    that contradict each other: both are for a person to settle, `waiting` in all. `ids` are those of all
    changes, of which the first are sent and `more` are not: `GET /memory/consolidation/changes` has them."""

    shelf: ShelfOut
    changes: list[ChangeOut]
    ids: list[str]
    conflicts: list[str]
    marks: list[MarkOut]
    more: int
    waiting: int


class StaleOut(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was previewed and would not be made any more: something that it rests on was written."""

    shelf: ShelfOut
    key: str
    action: str
    by: str | None


class ProgressOut(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judgement by a model (`judging`; `done` of `of` pairs) or a consolidation (`changes`; of
    parts) is: running, done, failed or cancelled. `tokens`, `cost` and `unknown` calls are what asking used;
    `made` changes were made, the keys of `skipped` were written meanwhile."""

    what: str
    state: str
    batch: str
    at: datetime
    done: int
    of: int
    tokens: int
    cost: str | None
    unknown: int
    made: int
    skipped: list[str]
    error: str | None
    remedy: str | None


class LastOut(msgspec.Struct, frozen=True, kw_only=True):
    """The last one that was started here; null where there is none."""

    last: ProgressOut | None


class ConsolidationOut(msgspec.Struct, frozen=True, kw_only=True):
    """What would change now; `plan` names all of it. `previewed`: when a preview was stored that was not
    carried out whole, and `stale` what of it would not be changed any more. `undoable`: there is something to
    take back."""

    user: str
    plan: str
    shelves: list[ShelfPlanOut]
    previewed: datetime | None
    stale: list[StaleOut]
    undoable: bool
    last: ProgressOut | None


class UndoneOut(msgspec.Struct, frozen=True, kw_only=True):
    """The batch that was taken back: `keys` are current again, `left` were written since and stay."""

    batch: str
    keys: list[str]
    left: list[str]


async def consolidation(call: Call) -> ConsolidationOut:
    """What a consolidation of a user's facts would change, with what models said before; nothing is changed,
    and nobody is asked."""
    whose = whose_of(call, call.query)
    record, now = call.studio.record, call.studio.services.clock.now()
    before = await past(record, whose.partition, whose.user_id)
    plans = await look(record, whose.partition, whose.user_id, now, before)
    stale = _stale(whose, before, plans)
    parts = before.open_parts()
    return ConsolidationOut(
        user=whose.user_id,
        plan=plan_id(plans),
        shelves=[await _plan(call, plan) for plan in plans],
        previewed=parts[0].at if parts else None,
        stale=stale[:MOST_CHANGES],
        undoable=before.anything_to_undo(),
        last=_last(call, whose),
    )


async def progress(call: Call) -> LastOut:
    """How far the user's last judgement or consolidation is."""
    return LastOut(last=_last(call, whose_of(call, call.query)))


async def consolidate(call: Call) -> ProgressOut:
    """Begin a consolidation of what was chosen: the database is copied first. Refused while a run of the user
    is active."""
    body: ConsolidateIn = call.body
    chosen = Chosen(plan=body.plan, leave=frozenset(body.leave))
    whose = whose_of(call, body)
    return progress_out(await call.studio.consolidations.start(whose, call.who.user, chosen))


async def undo_consolidation(call: Call) -> UndoneOut:
    """Take the user's last consolidation back; again, for the one before."""
    whose = whose_of(call, call.body)
    now = call.studio.services.clock.now()
    done = await take_back(call.studio.record, whose.partition, whose.user_id, call.who.user, now)
    return UndoneOut(batch=done.batch, keys=list(done.keys), left=list(done.left))


async def _plan(call: Call, plan: Plan) -> ShelfPlanOut:
    found = events_of(plan)
    return ShelfPlanOut(
        shelf=ShelfOut(plan.shelf.namespace, plan.shelf.scope, plan.shelf.owner),
        changes=await changes_out(call.studio.record, plan.shelf, found[:MOST_CHANGES]),
        ids=[change_id(plan.shelf, change) for change in found],
        conflicts=list(plan.conflicts[:MOST_CHANGES]),
        marks=[_mark(mark) for mark in plan.marked[:MOST_CHANGES]],
        more=max(0, len(found) - MOST_CHANGES),
        waiting=len(plan.conflicts) + len(plan.marked),
    )


def _mark(mark: Retired) -> MarkOut:
    return MarkOut(
        key=mark.key,
        version=mark.version,
        other=mark.by or "",
        other_version=mark.by_version or 0,
        why=mark.why,
        judged_in=mark.judged_in,
    )


def _stale(whose: Whose, before: Past, plans: list[Plan]) -> list[StaleOut]:
    """What of the stored plan would not be changed any more."""
    now = {change_id(plan.shelf, each.event()) for plan in plans for each in plan.proposals}
    found = []
    for part in before.open_parts():
        shelf = shelf_of(whose.partition, part)
        for change in part.changes:
            if change_id(shelf, change) not in now:
                place = ShelfOut(shelf.namespace, shelf.scope, shelf.owner)
                found.append(StaleOut(shelf=place, key=change.key, action=change.action, by=change.by))
    return found


def _last(call: Call, whose: Whose) -> ProgressOut | None:
    found = call.studio.consolidations.progress(whose)
    return None if found is None else progress_out(found)


def progress_out(progress: Progress) -> ProgressOut:
    """How far something is, as the API writes it."""
    fields = progress._asdict()
    fields["cost"] = cost_out(progress.cost, progress.unknown)
    fields["skipped"] = [change.key for change in progress.skipped]
    return ProgressOut(**fields)


ENDPOINTS = (
    Endpoint(
        "GET", "/memory/consolidation", "viewer", consolidation, query=WhoseIn,
        gives=ConsolidationOut, tag="memory",
    ),
    Endpoint(
        "GET", "/memory/consolidation/progress", "viewer", progress, query=WhoseIn,
        gives=LastOut, tag="memory",
    ),
    Endpoint(
        "POST", "/memory/consolidate", "operator", consolidate, body=ConsolidateIn, gives=ProgressOut,
        status=202, tag="memory", max_body=CHOICE_BODY,
    ),
    Endpoint(
        "POST", "/memory/undo", "runner", undo_consolidation, body=WhoseIn, gives=UndoneOut,
        tag="memory",
    ),
)  # fmt: skip
