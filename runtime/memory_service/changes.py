"""What a change that consolidation proposes asks of the store, and what puts a version back."""

from __future__ import annotations

from datetime import datetime

from runtime.events import Retired
from runtime.facts import VERSION_SOURCE, Fact, FactChange, FactWrite


def change_of(change: Retired, facts: dict[str, Fact], actor: str) -> FactChange:
    """What a proposal asks of the store."""
    mine = (change.key, change.version)
    by = () if change.by is None or change.by_version is None else ((change.by, change.by_version),)
    if change.action == "conflict":
        return FactChange(stand=(mine, *by))
    if change.action != "rewrite":
        return FactChange(close=(mine,), stand=by)
    write = _rewritten(change, facts, actor)
    if write is None:
        return FactChange(stand=((change.key, 0),))
    return FactChange(close=(mine, *by), write=write)


def _rewritten(change: Retired, facts: dict[str, Fact], actor: str) -> FactWrite | None:
    """One statement for two, as surely as the less sure one; null where they are not there any more."""
    kept, spare = facts.get(change.by or ""), facts.get(change.key)
    if kept is None or spare is None:
        return None
    return FactWrite(
        key=kept.key,
        value=change.text,
        kind=kept.kind,
        origin="derived",
        confidence=min(kept.confidence, spare.confidence),
        valid_from=kept.valid_from,
        source=change.judged_in,
        actor=actor,
        subject=kept.subject,
        attribute=kept.attribute,
    )


def again(fact: Fact, until: datetime | None, actor: str) -> FactWrite:
    """The same statement anew."""
    return FactWrite(
        key=fact.key,
        value=fact.value,
        kind=fact.kind,
        origin=fact.origin,
        confidence=fact.confidence,
        valid_from=fact.valid_from,
        valid_to=until,
        source=f"{VERSION_SOURCE}{fact.version}",
        actor=actor,
        subject=fact.subject,
        attribute=fact.attribute,
    )
