"""Facts: every version of one, and changes by hand, which keep their former versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from runtime.cli.fact_events import written_by
from runtime.cli.facts import check_write
from runtime.cli.shelves import check_shelf
from runtime.errors import BadInput, NotFound
from runtime.events import MemoryForgotten
from runtime.facts import Fact, FactWrite, Origin, Scope, Shelf
from studio.api.route import Call, Endpoint
from studio.api.shapes import partition_of

MAX_NAME_CHARS = 500
LIST_FACTS = "GET /api/v1/facts lists those that there are."


class ShelfOut(msgspec.Struct, frozen=True):
    """Where facts lie: `owner` is a user id, or in scope session the session's uid."""

    namespace: str
    scope: str
    owner: str


class FactOut(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a fact."""

    key: str
    value: Any
    kind: str
    version: int
    state: str
    origin: str
    confidence: float
    recorded_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    source: str | None
    step: int | None
    actor: str | None
    subject: str | None
    attribute: str | None
    seen: int
    ends: datetime | None
    shelf: ShelfOut


class VersionsOut(msgspec.Struct, frozen=True):
    """Every version, oldest first."""

    versions: list[FactOut]


class WrittenOut(msgspec.Struct, frozen=True):
    """What a write did: created, replaced, seen (the same value) or conflict."""

    outcome: str
    fact: FactOut


class VersionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One key on one shelf."""

    namespace: str
    scope: Scope
    owner: str
    key: str
    rehearsal: bool = False


class FactIn(msgspec.Struct, frozen=True, kw_only=True):
    """A fact to write. `expect_version`: refuse where it is another by now."""

    namespace: str
    scope: Scope
    owner: str
    key: str
    value: Any
    kind: Literal["fact", "profile"] = "fact"
    expect_version: int | None = None
    valid_to: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    rehearsal: bool = False


class ForgetIn(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of one shelf to forget."""

    namespace: str
    scope: Scope
    owner: str
    keys: list[str]
    rehearsal: bool = False


def fact_out(shelf: Shelf, fact: Fact) -> FactOut:
    """A fact as the API writes it."""
    fields = {name: getattr(fact, name) for name in fact.__struct_fields__}
    return FactOut(**fields, shelf=ShelfOut(shelf.namespace, shelf.scope, shelf.owner))


async def versions(call: Call) -> VersionsOut:
    """Every version of one fact, with who wrote it and when."""
    query: VersionsQuery = call.query
    shelf = await shelf_of(call, query)
    found = await call.studio.record.fact_versions(shelf, query.key)
    if not found:
        raise NotFound(f"There is no fact {query.key!r} there.", remedy=LIST_FACTS)
    return VersionsOut([fact_out(shelf, fact) for fact in found])


async def write(call: Call) -> WrittenOut:
    """Write a fact by hand."""
    body: FactIn = call.body
    shelf = await shelf_of(call, body)
    check_shelf(shelf)
    check_write(body.key, body.value, call.studio.settings.secrets_values())
    now, origin = call.studio.services.clock.now(), origin_of(call, shelf)
    wish = FactWrite(
        key=body.key,
        value=body.value,
        kind=body.kind,
        origin=origin,
        valid_to=body.valid_to,
        actor=call.who.user,
        expect_version=body.expect_version,
    )

    build = written_by(shelf, call.who.user, now)
    written, _ = await call.studio.record.write_fact(shelf, wish, now, build, run_id=None)
    return WrittenOut(written.outcome, fact_out(shelf, written.fact))


async def forget(call: Call) -> None:
    """Forget facts: agents no longer see them, and nothing brings them back but a new write."""
    body: ForgetIn = call.body
    shelf = await shelf_of(call, body)
    known = {fact.key for fact in await call.studio.record.facts(shelf, keys=body.keys)}
    missing = [key for key in body.keys if key not in known]
    if missing or not body.keys:
        raise NotFound(
            f"There is no fact {missing[0]!r} there." if missing else "No key is named.", remedy=LIST_FACTS
        )
    now, keys = call.studio.services.clock.now(), tuple(body.keys)
    event = MemoryForgotten(
        at=now, namespace=shelf.namespace, scope=shelf.scope, keys=keys, actor=call.who.user
    )
    await call.studio.record.forget_facts(shelf, keys, now, [event], run_id=None)


async def shelf_of(call: Call, asked: Any) -> Shelf:
    """The shelf that is asked for, where the caller may see it. Raises NotFound, or BadInput."""
    if not asked.namespace or not asked.owner or len(asked.namespace) + len(asked.owner) > MAX_NAME_CHARS:
        raise BadInput(
            f"A shelf has a namespace and an owner, of {MAX_NAME_CHARS} characters in all at most.",
            remedy="Give `namespace` and `owner` as GET /api/v1/facts gives them.",
        )
    if asked.scope == "session":
        line = await call.studio.record.session(asked.owner)
        partition = partition_of(asked.rehearsal)
        if line is None or not call.who.sees(line.user_id) or line.partition != partition:
            raise NotFound(f"There is no session {asked.owner!r}.", remedy="Check its id.")
    elif not call.who.sees(asked.owner):
        raise NotFound(
            f"There is no user {asked.owner!r} here.",
            remedy="Name yourself as `owner`, or ask as an operator.",
        )
    return Shelf(partition_of(asked.rehearsal), asked.namespace, asked.scope, asked.owner)


def origin_of(call: Call, shelf: Shelf) -> Origin:
    """A person about themselves, or an operator about somebody else."""
    return "operator" if shelf.scope == "user" and shelf.owner != call.who.user else "user"


ENDPOINTS = (
    Endpoint(
        "GET", "/facts/versions", "viewer", versions, query=VersionsQuery, gives=VersionsOut, tag="facts"
    ),
    Endpoint("PUT", "/facts", "runner", write, body=FactIn, gives=WrittenOut, tag="facts"),
    Endpoint("POST", "/facts/forget", "runner", forget, body=ForgetIn, status=204, tag="facts"),
)
