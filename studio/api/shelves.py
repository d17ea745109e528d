"""Facts as lists: whose there are, as they are or as they were at a time, page by page."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.cli.flow_names import name_flows
from runtime.errors import BadInput
from runtime.facts import Fact, Scope, Shelf, facts_at
from studio.api.facts import FactOut, fact_out
from studio.api.marks import MarkOut, marks_out
from studio.api.route import Call, Endpoint
from studio.api.shapes import partition_of

MOST_FACTS = 5_000
MOST_SHELVES = 2_000
MOST_APART = 2_000


class ShelfLineOut(msgspec.Struct, frozen=True):
    """A shelf and how many current facts it has. `session`: what the session is called whose shelf it is;
    `flow`: what the flow is called whose id is the namespace. Null where there is none."""

    namespace: str
    scope: Scope
    owner: str
    count: int
    session: str | None = None
    flow: str | None = None


class FactsOut(msgspec.Struct, frozen=True):
    """Shelves, and a page of the facts on them in order of shelf and key. `next` is the `after` of the next
    page, null at the end. Where one shelf is asked for as it is now, `apart` has its versions in conflict,
    and the last one of each key that is no longer current, and `marks` which of its facts contradict each
    other. `left_out` counts facts, `shelves_left_out` shelves that are not sent."""

    shelves: list[ShelfLineOut]
    facts: list[FactOut]
    left_out: int
    shelves_left_out: int = 0
    next: str | None = None
    apart: list[FactOut] = []
    marks: list[MarkOut] = []


class FactsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which shelves and facts; all that are given must match. `session` is a uid, `owner` an owner as it is.
    `text` is looked for in keys and values; `find` in owners and namespaces, by id and by name. `as_of`: as
    they were then. `limit` 0: only the shelves."""

    user: str | None = None
    scope: Scope | None = None
    namespace: str | None = None
    session: str | None = None
    owner: str | None = None
    find: str | None = None
    text: str | None = None
    as_of: datetime | None = None
    after: str | None = None
    limit: int = MOST_FACTS
    rehearsal: bool = False


async def facts(call: Call) -> FactsOut:
    """List shelves and their facts, as they are or as they were at a time."""
    query: FactsQuery = call.query
    lines = await _lines(call, query)
    partition = partition_of(query.rehearsal)
    shelves = [Shelf(partition, line.namespace, line.scope, line.owner) for line in lines]
    page = await _page(call, shelves, query)
    apart, marks = list[FactOut](), list[MarkOut]()
    if len(shelves) == 1 and query.as_of is None and query.limit > 0 and query.after is None:
        apart, marks = await _apart(call, shelves[0]), await marks_out(call, shelves[0])
    return FactsOut(
        lines[:MOST_SHELVES],
        page.facts,
        max(0, sum(line.count for line in lines) - len(page.facts)),
        max(0, len(lines) - MOST_SHELVES),
        page.next,
        apart,
        marks,
    )


async def _lines(call: Call, query: FactsQuery) -> list[ShelfLineOut]:
    """The shelves that are asked for, in order."""
    record, partition = call.studio.record, partition_of(query.rehearsal)
    found = await record.shelves(partition, call.who.scope(query.user))
    shelves = sorted((shelf, count) for shelf, count in found if _fits(shelf, query))
    sessions = await record.session_names([shelf.owner for shelf, _ in shelves if shelf.scope == "session"])
    flows = await name_flows(record, sorted({shelf.namespace for shelf, _ in shelves}), partition)
    lines = [
        ShelfLineOut(
            shelf.namespace, shelf.scope, shelf.owner, count,
            sessions.get(shelf.owner) if shelf.scope == "session" else None, flows.get(shelf.namespace),
        )
        for shelf, count in shelves
    ]  # fmt: skip
    wanted = (query.find or "").casefold()
    return [line for line in lines if wanted in _said(line)]


def _said(line: ShelfLineOut) -> str:
    """All that a shelf is found by."""
    return "\n".join([line.namespace, line.owner, line.session or "", line.flow or ""]).casefold()


def _fits(shelf: Shelf, query: FactsQuery) -> bool:
    return (
        query.scope in (None, shelf.scope)
        and query.namespace in (None, shelf.namespace)
        and query.owner in (None, shelf.owner)
        and (query.session is None or (shelf.scope, shelf.owner) == ("session", query.session))
    )


class _Page(NamedTuple):
    """Facts, and where the next page begins."""

    facts: list[FactOut]
    next: str | None


async def _page(call: Call, shelves: list[Shelf], query: FactsQuery) -> _Page:
    """At most `limit` facts after the cursor, in order of shelf and key."""
    limit = min(max(0, query.limit), MOST_FACTS)
    start, key = _cursor(query.after)
    shown: list[FactOut] = []
    for shelf in shelves:
        if limit == 0 or tuple(shelf[1:]) < start:
            continue
        for fact in await _facts_of(call, shelf, query.as_of):
            if (tuple(shelf[1:]) == start and fact.key <= key) or not _says(fact, query.text):
                continue
            if len(shown) == limit:
                last = shown[-1]
                at = [last.shelf.namespace, last.shelf.scope, last.shelf.owner, last.key]
                return _Page(shown, msgspec.json.encode(at).decode())
            shown.append(fact_out(shelf, fact))
    return _Page(shown, None)


def _cursor(after: str | None) -> tuple[tuple[str, ...], str]:
    """The shelf and the key that a page ended with. Raises BadInput."""
    if after is None:
        return (), ""
    try:
        namespace, scope, owner, key = msgspec.json.decode(after, type=tuple[str, str, str, str])
    except (msgspec.DecodeError, UnicodeError):
        raise BadInput("`after` is the `next` of a page.", remedy="Leave it out to begin anew.") from None
    return (namespace, scope, owner), key


async def _facts_of(call: Call, shelf: Shelf, as_of: datetime | None) -> list[Fact]:
    record = call.studio.record
    return await record.facts(shelf) if as_of is None else facts_at(await record.fact_versions(shelf), as_of)


def _says(fact: Fact, text: str | None) -> bool:
    if text is None:
        return True
    wanted = text.casefold()
    said = fact.value if isinstance(fact.value, str) else msgspec.json.encode(fact.value).decode()
    return wanted in fact.key.casefold() or wanted in said.casefold()


async def _apart(call: Call, shelf: Shelf) -> list[FactOut]:
    """What stands beside the current facts: conflicts, and the last version of keys that are gone."""
    last: dict[str, Fact] = {}
    current: set[str] = set()
    conflicts: list[Fact] = []
    for fact in await call.studio.record.fact_versions(shelf):
        if fact.state == "conflict":
            conflicts.append(fact)
        elif fact.state == "current":
            current.add(fact.key)
        elif fact.state != "erased":
            last[fact.key] = fact
    gone = [fact for key, fact in sorted(last.items()) if key not in current]
    return [fact_out(shelf, fact) for fact in (*conflicts, *gone)[:MOST_APART]]


ENDPOINTS = (Endpoint("GET", "/facts", "viewer", facts, query=FactsQuery, gives=FactsOut, tag="facts"),)
