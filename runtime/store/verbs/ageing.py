"""Verbs of ageing: derived facts are retired or lose their value, and scores are raised by an access."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from runtime.events import Entry
from runtime.facts import (
    PROMOTED_SOURCE,
    VERSION_SOURCE,
    Ageing,
    Fact,
    Origin,
    Shelf,
    promoted_from,
)
from runtime.record import Access, BuildAged
from runtime.store.rows import FactRow, Rows
from runtime.store.verbs.facts import close_version, put_version, said_again, user_of
from runtime.store.verbs.runs import append_admin, running, say


def age_facts(
    rows: Rows,
    shelf: Shelf,
    wish: Ageing,
    receipt: str,
    at: datetime,
    build: BuildAged,
    run_id: str | None,
    uid: str,
) -> tuple[Ageing, tuple[Entry, ...]]:
    """Only what is as it was seen is changed: a version that was written since is left alone."""
    run = None if run_id is None else running(rows, run_id)
    acts: dict[str, Callable[[FactRow], bool]] = {
        "retire": lambda row: _retire(rows, shelf, row, at),
        "empty": lambda row: _empty(rows, shelf, row, receipt),
        "promote": lambda row: _promote(rows, shelf, row, at),
        "demote": lambda row: _demote(rows, shelf, row, at),
    }
    done = Ageing(**{name: _each(rows, shelf, getattr(wish, name), act) for name, act in acts.items()})
    events = build(done) if done != Ageing() else ()
    if run is not None:
        return done, say(rows, run, events)
    return done, append_admin(rows, shelf.partition, user_of(rows, shelf), uid, at, events)


def _each(rows: Rows, shelf: Shelf, wanted: dict[str, int], act: Callable[[FactRow], bool]) -> dict[str, int]:
    """Those that still were the last of their keys and were changed; a conflict beside one is later."""
    done = {}
    for key, version in wanted.items():
        found = rows.fact_rows(shelf, key)
        if found and found[-1].fact.version == version and act(found[-1]):
            done[key] = version
    return done


def _retire(rows: Rows, shelf: Shelf, row: FactRow, at: datetime) -> bool:
    if row.fact.state != "current":
        return False
    close_version(rows, shelf, row, "superseded", at)
    return True


def _empty(rows: Rows, shelf: Shelf, row: FactRow, receipt: str) -> bool:
    if row.fact.state != "superseded":
        return False
    fact = msgspec.structs.replace(row.fact, state="erased", value=f"[erased {receipt}]")
    rows.write_over(row, shelf, fact)
    return True


def _promote(rows: Rows, shelf: Shelf, row: FactRow, at: datetime) -> bool:
    """A derived fact becomes one like those that the model writes; never beside what a person said of the
    same attribute."""
    fact = row.fact
    if fact.state != "current" or fact.origin != "derived" or _told(rows, shelf, fact):
        return False
    _again(rows, shelf, row, at, "model", f"{PROMOTED_SOURCE}{fact.version}")
    return True


def _demote(rows: Rows, shelf: Shelf, row: FactRow, at: datetime) -> bool:
    """What was promoted becomes derived again."""
    before = promoted_from(row.fact)
    if row.fact.state != "current" or before is None:
        return False
    _again(rows, shelf, row, at, "derived", f"{VERSION_SOURCE}{before}")
    return True


def _told(rows: Rows, shelf: Shelf, fact: Fact) -> bool:
    if fact.subject is None or fact.attribute is None:
        return False
    about = rows.facts_about(shelf, fact.subject, fact.attribute)
    return any(row.fact.key != fact.key and row.fact.origin in ("user", "operator") for row in about)


def _again(rows: Rows, shelf: Shelf, row: FactRow, at: datetime, origin: Origin, source: str) -> None:
    """The same statement as a version of another origin."""
    fact = row.fact
    close_version(rows, shelf, row, "superseded", at)
    write = said_again(fact, origin, source, valid_to=fact.valid_to)
    put_version(rows, shelf, write, fact.version + 1, at, "current")


def raised(before: Access | None, access: Access) -> float | None:
    """The score after an access: faded until then, raised, at most 1. None where nothing fades."""
    fading = access.fading
    if fading is None:
        return None
    from runtime.memory.ageing import kept_score, refreshed

    value, at = (None, None) if before is None else (before.score, before.at)
    score = kept_score(fading.since, value, at)
    raised_now = refreshed(score, access.at, decay_rate=fading.decay_rate, access_boost=fading.access_boost)
    return raised_now.value
