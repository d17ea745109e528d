"""Consolidation: what of the facts on one shelf no longer needs to stand, and why. Only proposals; pure.

Told facts are only retired when their time is over. Derived ones are also retired where they repeat another.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from runtime.facts import Fact
from runtime.memory.compaction_rules import Compaction
from runtime.memory.insights import Insight, likeness


class Proposal(NamedTuple):
    """One fact to retire. `by` is the key that says the same; it was to hold until `until`."""

    action: Literal["expire", "merge"]
    key: str
    version: int
    why: str
    by: str | None = None
    until: datetime | None = None


def proposals(facts: Sequence[Fact], now: datetime, rules: Compaction | None = None) -> tuple[Proposal, ...]:
    """What to retire of the current facts, in key order. Farthing's own facts are left alone."""
    rules = rules or Compaction()
    own = sorted((fact for fact in facts if not fact.internal), key=lambda fact: fact.key)
    over = [fact for fact in own if fact.expired(now)]
    found = [
        Proposal("expire", f.key, f.version, f"its time ended {f.valid_to:%Y-%m-%d}", until=f.valid_to)
        for f in over
    ]
    found += _repeats([fact for fact in own if not fact.expired(now)], rules)
    return tuple(sorted(found, key=lambda proposal: proposal.key))


def _repeats(facts: Sequence[Fact], rules: Compaction) -> list[Proposal]:
    """Derived facts that say what another says: a told one, or a newer derived one."""
    told = [fact for fact in facts if fact.origin != "derived"]
    derived = sorted((fact for fact in facts if fact.origin == "derived"), key=_newest_first, reverse=True)
    kept, found = list(told), list[Proposal]()
    for fact in derived:
        alike = ((likeness(_insight(other), _insight(fact)), other.key) for other in kept)
        best = max(alike, default=(0.0, ""))
        if best[0] >= rules.insight_similarity_threshold:
            why = f"{best[1]} says the same ({best[0]:.0%} alike)"
            found.append(Proposal("merge", fact.key, fact.version, why, best[1], fact.valid_to))
        else:
            kept.append(fact)
    return found


def _newest_first(fact: Fact) -> tuple[datetime, str]:
    return fact.recorded_at, fact.key


def _insight(fact: Fact) -> Insight:
    value = fact.value if isinstance(fact.value, str) else msgspec.json.encode(fact.value).decode()
    return Insight(fact.key, value, fact.recorded_at)
