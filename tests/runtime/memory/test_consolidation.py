"""What consolidation proposes: facts that are over, derived ones that repeat another, nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.events import Verdict
from runtime.facts import Fact
from runtime.memory.compaction_rules import Compaction
from runtime.memory.consolidation import PROTECTED, Proposal, Said, proposals
from runtime.memory.insights import Insight, likeness
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


def verdict(one: Fact, other: Fact, relation: str, text: str = "") -> Said:
    one, other = sorted((one, other), key=lambda each: each.key)
    said = Verdict(
        key=one.key, version=one.version, other=other.key, other_version=other.version,
        relation=relation, text=text, why="so it seems",
    )  # fmt: skip
    return Said(said, "run-7")


def judged(one: Fact, other: Fact, relation: str, text: str = "") -> list[Proposal]:
    return list(proposals((one, other), NOW, said=[verdict(one, other, relation, text)]))


HOME = fact("home", "lives by the canal", "user")


def test_what_says_the_same_yields_to_a_person_then_to_the_told_then_to_the_newer() -> None:
    for origin in ("model", "derived", "tainted"):
        (found,) = judged(HOME, fact("place", "has a canal house", origin, day=3), "same")
        assert (found.action, found.key, found.by, found.judged_in) == ("merge", "place", "home", "run-7")
    (found,) = judged(fact("a", "x", "model"), fact("b", "y", "derived", day=3), "same")
    assert (found.key, found.by) == ("b", "a")
    (found,) = judged(fact("a", "x", "model"), fact("b", "y", "model", day=3), "same")
    assert (found.key, found.by, found.by_version) == ("a", "b", 1)
    (found,) = judged(fact("a", "x", "tainted", day=3), fact("b", "y", "derived"), "same")
    assert found.key == "a", "what a tool gave never takes the place of what it did not"
    assert judged(HOME, fact("place", "has a canal house", "operator"), "same") == []


def test_two_statements_become_one_only_where_no_person_and_no_tool_is_behind_either() -> None:
    one, other = fact("dog", "has a dog", "model"), fact("pet", "owns a terrier", "derived", day=2)
    (found,) = judged(one, other, "merge", " has a dog, a terrier ")
    assert (found.action, found.key, found.by, found.text) == (
        "rewrite",
        "pet",
        "dog",
        "has a dog, a terrier",
    )
    for origin in ("user", "operator", "tainted"):
        assert judged(fact("dog", "has a dog", origin), other, "merge", "has a terrier") == []
    assert judged(one, fact("pet", ["terrier"]), "merge", "has a terrier") == []
    assert judged(one, fact("pet", "a terrier", kind="profile"), "merge", "has a terrier") == []
    assert judged(one, fact("pet", "a terrier", subject="Eve", attribute="dog"), "merge", "a terrier") == []


@pytest.mark.parametrize("text", ["", " ", "has 2 dogs, since 1999", "has dogs", "x" * 3000])
def test_a_text_that_loses_or_invents_a_number_stands_for_nothing(text: str) -> None:
    assert judged(fact("dog", "has 2 dogs"), fact("pet", "owns two terriers"), "merge", text) == []


def test_a_contradiction_is_marked_and_changes_neither() -> None:
    (found,) = judged(HOME, fact("place", "lives in the hills", "user"), "conflict")
    assert (found.action, {found.key, found.by}) == ("conflict", {"home", "place"})


def test_a_verdict_on_other_versions_or_gone_facts_counts_for_nothing() -> None:
    one, other = fact("a", "x"), fact("b", "y", day=2)
    said = verdict(one, other, "same")
    assert proposals((fact("a", "x", version=2), other), NOW, said=[said]) == ()
    assert proposals((other,), NOW, said=[said]) == ()
    assert judged(one, other, "different") == []


def test_a_fact_takes_part_in_one_change_at_most() -> None:
    a, b, c = fact("a", "v"), fact("b", "w", day=1), fact("c", "x", day=2)
    said = [verdict(a, b, "same"), verdict(b, c, "same"), verdict(a, c, "merge", "v and x")]
    assert [(each.key, each.by) for each in proposals((a, b, c), NOW, said=said)] == [("a", "b")]


ORIGINS = st.sampled_from(["user", "operator", "model", "derived", "tainted"])
RELATIONS = st.sampled_from(["same", "merge", "conflict", "different"])


@given(st.lists(ORIGINS, min_size=2, max_size=6), st.data())
def test_no_verdict_ever_takes_what_a_person_wrote(origins: list[Any], data: st.DataObject) -> None:
    facts = [fact(f"k{n}", f"text {chr(97 + n)}", origin, day=n) for n, origin in enumerate(origins)]
    several = [(one, other) for i, one in enumerate(facts) for other in facts[i + 1 :]]
    said = [verdict(one, other, data.draw(RELATIONS), "text") for one, other in several]
    by_key = {each.key: each for each in facts}
    changed = [p for p in proposals(facts, NOW, said=said) if p.action != "conflict"]
    for proposal in changed:
        kept = by_key[proposal.by or ""]
        assert by_key[proposal.key].origin not in PROTECTED
        assert not (kept.tainted and not by_key[proposal.key].tainted)
        assert proposal.action != "rewrite" or kept.origin not in PROTECTED
    retired = [proposal.key for proposal in changed]
    rewritten = [proposal.by for proposal in changed if proposal.action == "rewrite"]
    assert len({*retired, *rewritten}) == len(retired) + len(rewritten)
    assert not set(retired) & {proposal.by for proposal in changed}


@given(st.lists(st.lists(st.sampled_from("abcdefg1"), min_size=1, max_size=6), max_size=9), st.data())
def test_what_repeats_is_found_as_if_all_were_compared(texts: list[list[str]], data: st.DataObject) -> None:
    facts = [
        fact(f"k{n}", " ".join(text), data.draw(st.sampled_from(["model", "derived"])), day=n)
        for n, text in enumerate(texts)
    ]
    rules = Compaction()
    kept = [each for each in facts if each.origin == "model"]
    expected = {}
    for one in reversed([each for each in facts if each.origin == "derived"]):
        alike = [(likeness(Insight(o.key, o.value), Insight(one.key, one.value)), o.key) for o in kept]
        best = max(alike, default=(0.0, ""))
        if best[0] >= rules.insight_similarity_threshold:
            expected[one.key] = best[1]
        else:
            kept.append(one)
    assert {each.key: each.by for each in proposals(facts, NOW, rules)} == expected
