"""The verb of changing several facts of a shelf at once: what offline maintenance does and takes back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtime.errors import Conflict
from runtime.events import Entry
from runtime.facts import Fact, FactChange, Made, Shelf
from runtime.record import BuildMade
from runtime.store.rows import FactRow, Rows
from runtime.store.verbs.facts import close_version, put_version, user_of
from runtime.store.verbs.runs import append_admin


def change_facts(
    rows: Rows,
    shelf: Shelf,
    changes: Sequence[FactChange],
    at: datetime,
    build: BuildMade,
    quiet: bool,
    uid: str,
) -> tuple[tuple[Made, ...], tuple[Entry, ...]]:
    user = user_of(rows, shelf)
    if quiet:
        _refuse_while_active(rows, shelf, user)
    made = tuple([_make(rows, shelf, change, at) for change in changes])
    return made, append_admin(rows, shelf.partition, user, uid, at, list(build(made)))


def _refuse_while_active(rows: Rows, shelf: Shelf, user: str | None) -> None:
    own = rows.session_by_uid(shelf.owner) if shelf.scope == "session" else None
    sessions = rows.sessions_of(user) if user is not None else [own] if own is not None else []
    active = [run_id for session in sessions for run_id in rows.active_runs(session.id)]
    if active:
        raise Conflict(
            f"A run of this user is under way: {', '.join(active[:3])}.",
            code="memory.run_active",
            remedy="Wait until it has ended, or cancel it, and go on.",
        )


def _make(rows: Rows, shelf: Shelf, change: FactChange, at: datetime) -> Made:
    closing: list[FactRow] = []
    for key, version in (*change.close, *change.stand):
        row = _newest(rows, shelf, key)
        if row is None or row.fact.version != version or row.fact.state != "current":
            return Made(False)
        if (key, version) in change.close:
            closing.append(row)
    for key, version in change.gone:
        row = _newest(rows, shelf, key)
        if row is None or row.fact.version != version or row.fact.state != "superseded":
            return Made(False)
    if _said_elsewhere(rows, shelf, change, closing):
        return Made(False)
    for row in closing:
        close_version(rows, shelf, row, "superseded", at)
    return Made(True, _put(rows, shelf, change, at))


def _newest(rows: Rows, shelf: Shelf, key: str) -> FactRow | None:
    versions = rows.fact_rows(shelf, key)
    return versions[-1] if versions else None


def _said_elsewhere(rows: Rows, shelf: Shelf, change: FactChange, closing: Sequence[FactRow]) -> bool:
    """Whether another key says the attribute of the subject that is to be written."""
    write = change.write
    if write is None or write.subject is None or write.attribute is None:
        return False
    ours = {row.id for row in closing}
    about = rows.facts_about(shelf, write.subject, write.attribute)
    return any(row.fact.key != write.key and row.id not in ours for row in about)


def _put(rows: Rows, shelf: Shelf, change: FactChange, at: datetime) -> Fact | None:
    if change.write is None:
        return None
    newest = _newest(rows, shelf, change.write.key)
    version = 1 if newest is None else newest.fact.version + 1
    return put_version(rows, shelf, change.write, version, at, "current")
