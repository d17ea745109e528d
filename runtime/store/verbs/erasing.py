"""The verb of erasing: every value of some keys, wherever the data of their user has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from runtime.errors import Conflict, NotFound
from runtime.events import Entry
from runtime.facts import Erase, Erased, Fact, Shelf
from runtime.record import BuildErased
from runtime.store.erasing import Eraser
from runtime.store.rows import FactRow, Rows, SessionRow
from runtime.store.verbs.facts import user_of
from runtime.store.verbs.runs import append_admin


class Reached(NamedTuple):
    """What the verb gives: its answer, and the bytes that must be in no file any more."""

    erased: Erased
    entries: tuple[Entry, ...]
    traces: list[bytes]


def erase_facts(rows: Rows, shelf: Shelf, wish: Erase, build: BuildErased, uid: str) -> Reached:
    keys = tuple(dict.fromkeys(wish.keys))
    versions = {key: rows.fact_rows(shelf, key) for key in keys}
    for key, found in versions.items():
        if not any(row.fact.state != "erased" for row in found):
            raise NotFound(f"There is no fact {key!r} there.", remedy="`farthing facts` lists them.")
    user = user_of(rows, shelf)
    sessions = _sessions(rows, shelf, user)
    if not wish.preview:
        _refuse_while_active(rows, sessions)
    mark = f"[erased {wish.receipt}]"
    eraser = Eraser({key: _values(found) for key, found in versions.items()}, mark)
    places: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for found in versions.values():
        for row in found:
            places["facts"] += 1
            if not wish.preview:
                rows.write_over(row, shelf, _erased(row, eraser, mark, wish.at))
    for other in rows.shelves_of(user, [session.uid for session in sessions]):
        skip = set(keys) if other == shelf else set()
        places["other facts"] += _other_facts(rows, other, skip, eraser, wish.at, preview=wish.preview)
    needles = eraser.needles()
    for session in sessions:
        for document in rows.documents(session, needles):
            clean = eraser.clean(document.raw, free=document.free)
            places[document.kind] += clean.hits > 0
            left[document.kind] += clean.left > 0
            if clean.hits and not wish.preview:
                rows.put_document(session, document, clean.raw)
    erased = Erased(
        receipt=wish.receipt,
        keys=keys,
        versions=sum(map(len, versions.values())),
        places=dict(+places),
        left=dict(+left),
    )
    if wish.preview:
        return Reached(erased, (), [])
    entries = append_admin(rows, shelf.partition, user, uid, wish.at, list(build(erased)))
    return Reached(erased, entries, eraser.traces())


def _sessions(rows: Rows, shelf: Shelf, user: str | None) -> list[SessionRow]:
    """The sessions of the user; without a user only the one whose facts these are."""
    if user is not None:
        return rows.sessions_of(user)
    own = rows.session_by_uid(shelf.owner) if shelf.scope == "session" else None
    return [own] if own is not None else []


def _refuse_while_active(rows: Rows, sessions: Sequence[SessionRow]) -> None:
    active = [run_id for session in sessions for run_id in rows.active_runs(session.id)]
    if active:
        raise Conflict(
            f"A run of this user is under way and may write the value again: {', '.join(active[:3])}.",
            code="memory.run_active",
            remedy="Wait until it ends, or cancel it, and erase again.",
        )


def _values(found: Sequence[FactRow]) -> list[Any]:
    return [row.fact.value for row in found if row.fact.state != "erased"]


def _erased(row: FactRow, eraser: Eraser, mark: str, at: datetime) -> Fact:
    fact = row.fact
    return msgspec.structs.replace(
        fact,
        state="erased",
        value=fact.value if fact.state == "erased" else mark,
        subject=None if fact.subject is None else eraser.text(fact.subject),
        attribute=None if fact.attribute is None else eraser.text(fact.attribute),
        valid_to=at if fact.valid_to is None else min(at, fact.valid_to),
    )


def _other_facts(
    rows: Rows, shelf: Shelf, skip: set[str], eraser: Eraser, at: datetime, *, preview: bool
) -> int:
    """Facts of other keys that have the text in them: copies, summaries, plans. One that is nothing else is
    erased, of the others what remains is kept."""
    hits = 0
    for key in rows.keys_on(shelf):
        if key in skip:
            continue
        for row in rows.fact_rows(shelf, key):
            value = eraser.value(row.fact.value)
            if value == row.fact.value:
                continue
            hits += 1
            if preview:
                continue
            if value == eraser.mark:
                rows.write_over(row, shelf, _erased(row, eraser, eraser.mark, at))
            else:
                rows.write_over(row, shelf, msgspec.structs.replace(row.fact, value=value))
    return hits
