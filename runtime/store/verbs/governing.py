"""Verbs by which people govern facts: undo, settle a conflict, move, import."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtime.errors import Conflict, NotFound
from runtime.events import Entry, Event
from runtime.facts import (
    VERSION_SOURCE,
    Fact,
    FactWrite,
    Imported,
    Origin,
    Shelf,
    Shelved,
    Written,
    restored_from,
)
from runtime.record import BuildImported, BuildWritten
from runtime.store.rows import FactRow, Rows
from runtime.store.values import canonical
from runtime.store.verbs.facts import close_version, put_version, said_again, user_of
from runtime.store.verbs.runs import append_admin


def undo_fact(
    rows: Rows, shelf: Shelf, key: str, actor: str | None, at: datetime, build: BuildWritten, uid: str
) -> tuple[Written, tuple[Entry, ...]]:
    versions = _versions(rows, shelf, key)
    current = _state(versions, "current")
    back = _before(versions, current) if current else _forgotten(key, versions)
    if back is None:
        raise Conflict(
            f"The fact {key!r} has no version to go back to.",
            remedy="`farthing facts forget` takes it away.",
        )
    _refuse_run_out(versions, back, at)
    if current is not None:
        close_version(rows, shelf, current, "superseded", at)
    write = _again(back.fact, back.fact.origin, actor)
    fact = put_version(rows, shelf, write, versions[-1].fact.version + 1, at, "current")
    written = Written("replaced" if current else "created", fact, current.fact if current else None)
    return written, append_admin(rows, shelf.partition, user_of(rows, shelf), uid, at, list(build(written)))


def settle_fact(
    rows: Rows,
    shelf: Shelf,
    key: str,
    keep: int,
    origin: Origin,
    actor: str | None,
    at: datetime,
    build: BuildWritten,
    uid: str,
) -> tuple[Written, tuple[Entry, ...]]:
    versions = _versions(rows, shelf, key)
    rivals = [row for row in versions if row.fact.state == "conflict"]
    if not rivals:
        raise Conflict(
            f"Nothing is in conflict with the fact {key!r}.",
            remedy="`farthing facts history` shows its versions.",
        )
    current = _state(versions, "current")
    choice = [*([current] if current else []), *rivals]
    kept = next((row for row in choice if row.fact.version == keep), None)
    if kept is None:
        numbers = ", ".join(str(row.fact.version) for row in choice)
        raise NotFound(
            f"Version {keep} of the fact {key!r} is not among those in conflict.",
            remedy=f"Keep one of these versions: {numbers}.",
        )
    for row in rivals:
        close_version(rows, shelf, row, "superseded", at)
    if kept is current:
        written = Written("seen", kept.fact)
    else:
        if current is not None:
            close_version(rows, shelf, current, "superseded", at)
        write = _again(kept.fact, origin, actor)
        fact = put_version(rows, shelf, write, versions[-1].fact.version + 1, at, "current")
        written = Written("replaced" if current else "created", fact, current.fact if current else None)
    return written, append_admin(rows, shelf.partition, user_of(rows, shelf), uid, at, list(build(written)))


def move_facts(
    rows: Rows,
    shelf: Shelf,
    to: Shelf,
    keys: Sequence[str],
    at: datetime,
    events: Sequence[Event],
    uids: Sequence[str],
) -> tuple[Entry, ...]:
    if shelf == to or shelf.partition != to.partition:
        raise Conflict(
            "Facts move from one shelf to another, of real runs or of rehearsals.",
            remedy="Name another user, session or namespace to move to.",
        )
    wanted = list(dict.fromkeys(keys))
    there = [key for key in wanted if rows.fact_rows(to, key)]
    if there:
        raise Conflict(
            f"There are facts already where these would go: {', '.join(map(repr, there))}.",
            remedy="Erase those first, or move others.",
        )
    for key in wanted:
        for row in _versions(rows, shelf, key):
            rows.move_fact(row, shelf, to)
    owners = dict.fromkeys((user_of(rows, shelf), user_of(rows, to)))
    entries: tuple[Entry, ...] = ()
    for owner, uid in zip(owners, uids, strict=False):
        entries += append_admin(rows, shelf.partition, owner, uid, at, events)
    return entries


def import_facts(
    rows: Rows,
    items: Sequence[Shelved],
    at: datetime,
    build: BuildImported,
    keep_ours: bool,
    uids: Sequence[str],
) -> tuple[Imported, tuple[Entry, ...]]:
    added, same, conflicts = [], [], []
    for item in items:
        ours = tuple(row.fact for row in rows.fact_rows(item.shelf, item.versions[0].key))
        if not ours:
            added.append(item)
        elif _alike(ours, item.versions):
            same.append(item)
        else:
            conflicts.append(item)
    found = Imported(tuple(added), tuple(same), tuple(conflicts))
    if conflicts and not keep_ours:
        return found._replace(added=()), ()
    entries: tuple[Entry, ...] = ()
    for item, uid in zip(added, uids, strict=False):
        for fact in item.versions:
            rows.add_fact(item.shelf, fact)
        owner = user_of(rows, item.shelf)
        entries += append_admin(rows, item.shelf.partition, owner, uid, at, list(build(item)))
    return found, entries


def _versions(rows: Rows, shelf: Shelf, key: str) -> list[FactRow]:
    versions = rows.fact_rows(shelf, key)
    if not versions:
        raise NotFound(f"There is no fact {key!r} there.", remedy="`farthing facts` lists them.")
    return versions


def _state(versions: Sequence[FactRow], state: str) -> FactRow | None:
    return next((row for row in reversed(versions) if row.fact.state == state), None)


def _last(rows: Sequence[FactRow]) -> FactRow | None:
    return rows[-1] if rows else None


def _refuse_run_out(versions: Sequence[FactRow], back: FactRow, at: datetime) -> None:
    """A note that has run out, before anything took its place or since, is not brought back."""
    after = next((row.fact for row in versions if row.fact.version > back.fact.version), None)
    ended, ends = back.fact.valid_to, back.fact.ends
    before = back.fact.state == "superseded" and after and ended is not None and ended < after.recorded_at
    if before or (ends is not None and ends <= at):
        raise Conflict(
            f"Version {back.fact.version} of the fact {back.fact.key!r} had run out.",
            remedy="Write it anew with `farthing facts set`.",
        )


def _before(versions: Sequence[FactRow], current: FactRow) -> FactRow | None:
    """The version that the current one, or the one that it is a copy of, took the place of. A settled
    conflict, which is tainted, never had that place where an untainted one is to be found."""
    number = restored_from(current.fact) or current.fact.version
    older = [row for row in versions if row.fact.version < number]
    if older and older[-1].fact.state == "erased":
        _refuse_erased(current.fact.key)
    former = [row for row in older if row.fact.state in ("superseded", "forgotten")]
    clean = [row for row in former if not row.fact.tainted]
    return _last(clean or former)


def _forgotten(key: str, versions: Sequence[FactRow]) -> FactRow | None:
    last = versions[-1].fact
    if last.state == "erased":
        _refuse_erased(key)
    gone = [row for row in versions if row.fact.state == "forgotten"]
    clean = [row for row in gone if not row.fact.tainted]
    return _last(clean or gone)


def _refuse_erased(key: str) -> None:
    raise Conflict(
        f"What the fact {key!r} was has been erased, which nothing takes back.",
        code="memory.erased",
        remedy="Write it anew with `farthing facts set`.",
    )


def _again(fact: Fact, origin: Origin, actor: str | None) -> FactWrite:
    end = fact.valid_to if fact.state == "conflict" else fact.ends
    source = f"{VERSION_SOURCE}{restored_from(fact) or fact.version}"
    return said_again(fact, origin, source, valid_to=end, actor=actor)


def _alike(ours: Sequence[Fact], theirs: Sequence[Fact]) -> bool:
    return len(ours) == len(theirs) and all(
        a == b and canonical(a.value) == canonical(b.value) for a, b in zip(ours, theirs, strict=True)
    )
