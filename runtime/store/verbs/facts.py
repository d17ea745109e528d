"""Verbs of facts: write by the rules of versions, taint and supersession; forget with a marker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from runtime.errors import Conflict
from runtime.events import Entry, Event
from runtime.facts import Fact, FactWrite, Origin, Shelf, Written
from runtime.record import BuildWritten
from runtime.store.rows import FactRow, Rows, RunRow
from runtime.store.values import canonical
from runtime.store.verbs.runs import append_admin, running, say


def write_fact(
    rows: Rows,
    shelf: Shelf,
    write: FactWrite,
    at: datetime,
    build: BuildWritten,
    run_id: str | None,
    uid: str,
) -> tuple[Written, tuple[Entry, ...]]:
    run = None if run_id is None else running(rows, run_id)
    versions = rows.fact_rows(shelf, write.key)
    current = next((row for row in versions if row.fact.state == "current"), None)
    _check_version(write, current)
    if run is not None:
        _check_taken_away(run, write, versions)
    written = _write(rows, shelf, write, at, versions, current)
    if run is not None:
        return written, say(rows, run, build(written))
    return written, append_admin(rows, shelf.partition, user_of(rows, shelf), uid, at, list(build(written)))


def forget_facts(
    rows: Rows,
    shelf: Shelf,
    keys: Sequence[str],
    at: datetime,
    events: Sequence[Event],
    run_id: str | None,
    uid: str,
    retire: bool = False,
) -> tuple[Entry, ...]:
    run = None if run_id is None else running(rows, run_id)
    for key in dict.fromkeys(keys):
        for row in rows.fact_rows(shelf, key):
            if row.fact.state == "current" or (row.fact.state == "conflict" and not retire):
                close_version(rows, shelf, row, "superseded" if retire else "forgotten", at)
    if run is not None:
        return say(rows, run, events)
    return append_admin(rows, shelf.partition, user_of(rows, shelf), uid, at, events)


def _check_version(write: FactWrite, current: FactRow | None) -> None:
    """`expect_version` is the version that the writer read, 0 where it read that there is none."""
    version = current.fact.version if current else 0
    if write.expect_version is not None and write.expect_version != version:
        now = f"is now at version {version}" if version else "is not there"
        raise Conflict(
            f"The fact {write.key!r} {now}, not at version {write.expect_version}.",
            remedy="Read it again and decide anew.",
        )


def _check_taken_away(run: RunRow, write: FactWrite, versions: Sequence[FactRow]) -> None:
    """A run that began before a fact was forgotten may still know it, and must not bring it back. (Nothing
    is erased while a run is under way.)"""
    if not versions or versions[-1].fact.state != "forgotten":
        return
    said = canonical(write.value)
    for fact in (row.fact for row in versions if row.fact.state == "forgotten"):
        if canonical(fact.value) == said and fact.valid_to is not None and fact.valid_to >= run.queued_at:
            raise Conflict(
                f"The fact {write.key!r} was forgotten after this run had begun.",
                code="memory.forgotten",
                remedy="Leave it out; it was taken away on purpose.",
            )


def _write(
    rows: Rows,
    shelf: Shelf,
    write: FactWrite,
    at: datetime,
    versions: list[FactRow],
    current: FactRow | None,
) -> Written:
    said = canonical(write.value)
    tainted = write.origin == "tainted"
    live = current if current is not None and not current.fact.expired(at) else None
    conflicts = [row for row in versions if row.fact.state == "conflict"]
    rivals = _rivals(rows, shelf, write, current, at)
    if live is not None and _same(live.fact, write, said) and not (live.fact.tainted and not tainted):
        if not tainted:
            _settle(rows, shelf, conflicts, at)
        return Written("seen", _seen(rows, shelf, live, write))
    last = versions[-1].fact.version if versions else 0
    protected = next((r for r in [live, *rivals] if r is not None and _outranks(r.fact, write)), None)
    if protected is not None:
        for row in conflicts:
            if _same(row.fact, write, said):
                return Written("conflict", _seen(rows, shelf, row, write), protected.fact)
        beside = put_version(rows, shelf, write, last + 1, at, "conflict")
        return Written("conflict", beside, protected.fact)
    replaced = [row for row in [current, *rivals] if row is not None]
    for row in replaced:
        close_version(rows, shelf, row, "superseded", at)
    if not tainted:
        _settle(rows, shelf, conflicts, at)
    rows.forget_uses(shelf, write.key)  # they were of what it said before
    fact = put_version(rows, shelf, write, last + 1, at, "current")
    if replaced:
        return Written("replaced", fact, replaced[0].fact)
    return Written("created", fact)


def _outranks(fact: Fact, write: FactWrite) -> bool:
    """A tainted write takes the place of no untainted fact, and what was derived of none that a person
    wrote."""
    if write.origin == "tainted":
        return not fact.tainted
    return write.origin == "derived" and fact.origin in ("user", "operator") and not fact.internal


def _rivals(
    rows: Rows, shelf: Shelf, write: FactWrite, current: FactRow | None, at: datetime
) -> list[FactRow]:
    """Current facts of other keys that say the same attribute of the same subject."""
    if write.subject is None or write.attribute is None:
        return []
    mine = current.id if current else None
    about = rows.facts_about(shelf, write.subject, write.attribute)
    return [row for row in about if row.id != mine and not row.fact.expired(at)]


def _same(fact: Fact, write: FactWrite, said: bytes) -> bool:
    return fact.kind == write.kind and canonical(fact.value) == said


def _seen(rows: Rows, shelf: Shelf, row: FactRow, write: FactWrite) -> Fact:
    """Count the write; a later end of validity holds, so that repeating a note keeps it alive."""
    until = row.fact.valid_to
    if until is not None:
        until = None if write.valid_to is None else max(until, write.valid_to)
    fact = msgspec.structs.replace(row.fact, seen=row.fact.seen + 1, valid_to=until)
    rows.put_fact(row, shelf, fact)
    return fact


def _settle(rows: Rows, shelf: Shelf, conflicts: list[FactRow], at: datetime) -> None:
    """An untainted write decides: what stood beside is retired."""
    for row in conflicts:
        close_version(rows, shelf, row, "superseded", at)


def close_version(rows: Rows, shelf: Shelf, row: FactRow, state: str, at: datetime) -> None:
    """End a version; what had ended before keeps its end, and what was to end later remembers it."""
    until = row.fact.valid_to
    early = until is None or at < until
    closed = msgspec.structs.replace(
        row.fact, state=state, valid_to=at if early else until, ends=until if early else None
    )
    rows.put_fact(row, shelf, closed)


def put_version(rows: Rows, shelf: Shelf, write: FactWrite, version: int, at: datetime, state: str) -> Fact:
    """Add a version of a key as written."""
    fact = msgspec.convert(
        {
            **{name: getattr(write, name) for name in write.__struct_fields__ if name != "expect_version"},
            "version": version,
            "state": state,
            "recorded_at": at,
        },
        Fact,
    )
    rows.add_fact(shelf, fact)
    return fact


def said_again(
    fact: Fact, origin: Origin, source: str, *, valid_to: datetime | None, actor: str | None = None
) -> FactWrite:
    """The same statement as a write of another origin and source."""
    return FactWrite(
        key=fact.key,
        value=fact.value,
        kind=fact.kind,
        origin=origin,
        confidence=fact.confidence,
        valid_from=fact.valid_from,
        valid_to=valid_to,
        source=source,
        actor=actor,
        subject=fact.subject,
        attribute=fact.attribute,
    )


def user_of(rows: Rows, shelf: Shelf) -> str | None:
    """Whose facts lie there; a session's are its user's."""
    if shelf.scope == "user":
        return shelf.owner
    session = rows.session_by_uid(shelf.owner)
    return session.user_id if session else None
