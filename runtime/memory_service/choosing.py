"""Choosing among what a consolidation would change: ids of changes and of all, and leaving some out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from runtime.errors import BadInput, Conflict
from runtime.events import Retired
from runtime.facts import Shelf
from runtime.memory_service.consolidating import Plan

ID_CHARS = 16
"""Hexadecimal digits of an id."""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants of what they were shown: all of it but the changes of `leave`. `plan` null:
    whatever would be changed by then."""

    plan: str | None = None
    leave: frozenset[str] = frozenset()


def change_id(shelf: Shelf, change: Retired) -> str:
    """The same for the same change of the same versions, and for no other one."""
    return _digest((*shelf, change))


def plan_id(plans: Iterable[Plan]) -> str:
    """Of all that would be changed."""
    return _digest([change_id(plan.shelf, each.event()) for plan in plans for each in plan.proposals])


def only(plans: Sequence[Plan], chosen: Chosen) -> list[Plan]:
    """The plans with what was chosen. Raises Conflict where they are not what was shown, and BadInput where
    nothing is left of them."""
    if chosen.plan is not None:
        refuse_another(plans, chosen.plan)
    kept = [_kept(plan, chosen.leave) for plan in plans]
    if chosen.leave and not any(plan.proposals for plan in kept):
        raise BadInput("No change is chosen.", remedy="Choose at least one.")
    return kept


def refuse_another(plans: Iterable[Plan], shown: str) -> None:
    """Raises Conflict where the plans are not the one of this id."""
    if shown != plan_id(plans):
        raise Conflict(
            "What would be changed is no longer what you were shown.",
            code="memory.plan_moved",
            remedy="Look at it again: something was written since, or judged by a model.",
        )


def _kept(plan: Plan, leave: frozenset[str]) -> Plan:
    mine = (each for each in plan.proposals if change_id(plan.shelf, each.event()) not in leave)
    return plan._replace(proposals=tuple(mine))


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:ID_CHARS]
