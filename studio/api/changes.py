"""Changes that a consolidation would make, as the API writes them: those of a shelf page by page, or those
that tell of something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.errors import BadInput
from runtime.events import Retired
from runtime.facts import Fact, Scope, Shelf
from runtime.memory_service.choosing import change_id, refuse_another
from runtime.memory_service.consolidated import past
from runtime.memory_service.consolidating import Plan, look
from runtime.record import Record
from studio.api.facts import FactOut, fact_out, shelf_of
from studio.api.route import Call, Endpoint
from studio.api.whose import WhoseIn, whose_of

MOST_CHANGES = 500
"""Changes of a shelf that are sent at once."""
MAX_TEXT_CHARS = 200


class ChangeOut(msgspec.Struct, frozen=True, kw_only=True):
    """One change: `expire` and `merge` retire `key`, `rewrite` puts `text` in the place of `by` and retires
    `key`, `conflict` marks that both contradict each other. `fact` and `other` are what `key` and `by` say
    now. `judged_in`: the run in which a model said so."""

    id: str
    action: str
    key: str
    version: int
    why: str
    by: str | None
    by_version: int | None
    text: str | None
    judged_in: str | None
    fact: FactOut | None
    other: FactOut | None


class ChangesQuery(WhoseIn, frozen=True, kw_only=True):
    """Changes of one shelf of a user (null: one's own), `limit` of them from `offset` on. `plan`: of what one
    was shown; it is refused where something else would be changed by now. `text`: only those in whose keys,
    values or reason it is found."""

    namespace: str
    scope: Scope
    owner: str
    plan: str | None = None
    text: str = ""
    offset: int = 0
    limit: int = 50


class ChangesOut(msgspec.Struct, frozen=True, kw_only=True):
    """A page of changes, and the ids of all that were asked for."""

    changes: list[ChangeOut]
    ids: list[str]


async def changes(call: Call) -> ChangesOut:
    """What would change on one shelf, page by page."""
    query: ChangesQuery = call.query
    if not 0 < query.limit <= MOST_CHANGES or query.offset < 0 or len(query.text) > MAX_TEXT_CHARS:
        raise BadInput(
            f"`limit` is 1 to {MOST_CHANGES}, `offset` at least 0,"
            f" `text` has {MAX_TEXT_CHARS} characters at most.",
            remedy="Ask for less at once.",
        )
    whose, shelf = whose_of(call, query), await shelf_of(call, query)
    record, now = call.studio.record, call.studio.services.clock.now()
    before = await past(record, whose.partition, whose.user_id)
    plans = await look(record, whose.partition, whose.user_id, now, before)
    if query.plan is not None:
        refuse_another(plans, query.plan)
    found = [change for plan in plans if plan.shelf == shelf for change in events_of(plan)]
    text, page = query.text.strip().casefold(), slice(query.offset, query.offset + query.limit)
    facts = await facts_of(record, shelf, found if text else found[page])
    wanted = [change for change in found if not text or _tells(change, facts, text)]
    return ChangesOut(
        changes=[_change(shelf, change, facts) for change in wanted[page]],
        ids=[change_id(shelf, change) for change in wanted],
    )


def events_of(plan: Plan) -> list[Retired]:
    """What would change on a shelf, in its order."""
    return [proposal.event() for proposal in plan.proposals]


async def changes_out(record: Record, shelf: Shelf, shown: Sequence[Retired]) -> list[ChangeOut]:
    """These changes with what their facts say now."""
    facts = await facts_of(record, shelf, shown)
    return [_change(shelf, change, facts) for change in shown]


async def facts_of(record: Record, shelf: Shelf, found: Sequence[Retired]) -> Mapping[str, Fact]:
    """The facts that these changes are about, by key."""
    keys = {key for change in found for key in (change.key, change.by) if key is not None}
    return {fact.key: fact for fact in await record.facts(shelf, keys=sorted(keys))}


def _tells(change: Retired, facts: Mapping[str, Fact], wanted: str) -> bool:
    told: list[Any] = [change.key, change.by, change.text, change.why]
    told += [facts[key].value for key in (change.key, change.by or "") if key in facts]
    return any(wanted in _text(each).casefold() for each in told)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _change(shelf: Shelf, change: Retired, facts: Mapping[str, Fact]) -> ChangeOut:
    def fact(key: str | None) -> FactOut | None:
        found = None if key is None else facts.get(key)
        return None if found is None else fact_out(shelf, found)

    return ChangeOut(
        id=change_id(shelf, change),
        action=change.action,
        key=change.key,
        version=change.version,
        why=change.why,
        by=change.by,
        by_version=change.by_version,
        text=change.text,
        judged_in=change.judged_in,
        fact=fact(change.key),
        other=fact(change.by),
    )


ENDPOINTS = (
    Endpoint(
        "GET", "/memory/consolidation/changes", "viewer", changes, query=ChangesQuery, gives=ChangesOut,
        tag="memory",
    ),
)  # fmt: skip
