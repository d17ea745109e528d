"""What consolidation proposes: facts that are over, derived ones that repeat another, nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from runtime.facts import Fact
from runtime.memory.consolidation import proposals
from tests.runtime.store.support import START

NOW = START + timedelta(days=10)


def fact(key: str, value: Any, origin: Any = "derived", day: int = 0, **more: Any) -> Fact:
    return Fact(key=key, value=value, origin=origin, recorded_at=START + timedelta(days=day), **more)


def found(*facts: Fact) -> list[tuple[str, str, str | None]]:
    return [(each.action, each.key, each.by) for each in proposals(facts, NOW)]


def test_what_is_over_is_retired_whoever_said_it() -> None:
    over, later = START + timedelta(days=1), NOW + timedelta(days=1)
    facts = (fact("a", 1, "user", valid_to=over), fact("b", 2, valid_to=later), fact("c", 3, valid_to=NOW))
    assert found(*facts) == [("expire", "a", None), ("expire", "c", None)]
    assert [each.until for each in proposals(facts, NOW)] == [over, NOW]


def test_a_derived_fact_yields_to_what_was_told_and_to_a_newer_one() -> None:
    told = fact("bike", "rides a red tandem to work", "model", day=0)
    assert found(told, fact("x", "rides a red tandem to work", day=5)) == [("merge", "x", "bike")]
    old, new = fact("old", "likes strong green tea"), fact("new", "likes strong green tea", day=1)
    assert found(old, new) == [("merge", "old", "new")]
    assert found(new, old) == [("merge", "old", "new")]


def test_told_facts_are_never_merged_nor_what_differs_in_a_number() -> None:
    same = "rides a red tandem to work"
    assert found(fact("a", same, "user"), fact("b", same, "model"), fact("c", same, "tainted")) == []
    assert found(fact("a", "has 2 bicycles in the shed"), fact("b", "has 3 bicycles in the shed")) == []
    assert found(fact("__summary/a", same), fact("__summary/b", same)) == []
