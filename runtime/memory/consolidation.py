"""Consolidation: what of the facts on one shelf no longer needs to stand, and why. Only proposals; pure.

By rule, told facts are only retired when their time is over, derived ones also where they repeat another.
What a model said of pairs of facts adds to that; it never replaces what a user or an operator wrote.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from runtime.events import Retired, Verdict
from runtime.facts import Fact
from runtime.memory.compaction_rules import Compaction
from runtime.memory.insights import Insight, likeness

PROTECTED = frozenset({"user", "operator"})
"""Whose facts no guess of a model replaces."""
LONGEST_TEXT = 2000
"""Characters of a rewritten value at most."""


class Proposal(NamedTuple):
    """One change; the fields are those of `runtime.events.Retired`."""

    action: Literal["expire", "merge", "rewrite", "conflict"]
    key: str
    version: int
    why: str
    by: str | None = None
    until: datetime | None = None
    by_version: int | None = None
    text: str | None = None
    judged_in: str | None = None

    def event(self) -> Retired:
        """It as an event says it."""
        return Retired(**self._asdict())


class Said(NamedTuple):
    """A model's verdict and the run in which it was given."""

    verdict: Verdict
    run_id: str | None


def proposals(
    facts: Sequence[Fact], now: datetime, rules: Compaction | None = None, said: Sequence[Said] = ()
) -> tuple[Proposal, ...]:
    """What to change of the current facts, in key order; a fact takes part in one change at most, other than
    as what another one repeats. Farthing's own facts are left alone."""
    rules = rules or Compaction()
    own = sorted((fact for fact in facts if not fact.internal), key=lambda fact: fact.key)
    over = [fact for fact in own if fact.expired(now)]
    found = [
        Proposal("expire", f.key, f.version, f"its time ended {f.valid_to:%Y-%m-%d}", until=f.valid_to)
        for f in over
    ]
    standing = [fact for fact in own if not fact.expired(now)]
    found += _repeats(standing, rules)
    found += _judged({fact.key: fact for fact in standing}, found, said)
    return tuple(sorted(found, key=lambda proposal: proposal.key))


def _repeats(facts: Sequence[Fact], rules: Compaction) -> list[Proposal]:
    """Derived facts that say what another says: a told one, or a newer derived one."""
    told = [fact for fact in facts if fact.origin != "derived"]
    derived = sorted((fact for fact in facts if fact.origin == "derived"), key=_newest_first, reverse=True)
    kept, found = _Kept(rules.insight_similarity_threshold), list[Proposal]()
    for fact in told:
        kept.add(fact)
    for fact in derived:
        best = kept.most_like(fact)
        if best is None:
            kept.add(fact)
            continue
        share, other = best
        why = f"{other.key} says the same ({share:.0%} alike)"
        found.append(
            Proposal("merge", fact.key, fact.version, why, other.key, fact.valid_to, by_version=other.version)
        )
    return found


class _Kept:
    """Facts that stay, found by their words: only those that share enough of them are compared."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._facts: list[tuple[Fact, Insight, int]] = []
        self._having: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, fact: Fact) -> None:
        words = _words(fact)
        for word in words:
            self._having[word].append(len(self._facts))
        self._facts.append((fact, _insight(fact), len(words)))

    def most_like(self, fact: Fact) -> tuple[float, Fact] | None:
        """The most alike of those that are alike enough, and how much."""
        words, mine = _words(fact), _insight(fact)
        common = Counter(place for word in words for place in self._having.get(word, ()))
        best: tuple[float, str, Fact] | None = None
        for place, shared in common.items():
            other, insight, size = self._facts[place]
            if 2 * shared / (size + len(words)) < self._threshold:
                continue
            share = likeness(insight, mine)
            if share >= self._threshold and (best is None or (share, other.key) > best[:2]):
                best = share, other.key, other
        return None if best is None else (best[0], best[2])


def _words(fact: Fact) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text_of(fact).casefold()))


def _judged(facts: Mapping[str, Fact], found: Sequence[Proposal], said: Sequence[Said]) -> list[Proposal]:
    """What follows from the verdicts on facts that still are as the model saw them."""
    gone: set[str | None] = {proposal.key for proposal in found}
    held = {proposal.by for proposal in found}
    more: list[Proposal] = []
    for verdict, run_id in said:
        one, other = facts.get(verdict.key), facts.get(verdict.other)
        if one is None or other is None or {one.key, other.key} & gone:
            continue
        if (one.version, other.version) != (verdict.version, verdict.other_version):
            continue
        proposal = _of_verdict(one, other, verdict)
        if proposal is None:
            continue
        if proposal.action != "conflict":
            rewritten = {proposal.by} if proposal.action == "rewrite" else set()
            if ({proposal.key} | rewritten) & held:
                continue
            gone |= {proposal.key} | rewritten
            held.add(proposal.by)
        more.append(proposal._replace(judged_in=run_id))
    return more


def _of_verdict(one: Fact, other: Fact, verdict: Verdict) -> Proposal | None:
    kept, spare = sorted((one, other), key=_rank, reverse=True)
    why = verdict.why or verdict.relation
    if verdict.relation == "conflict":
        return Proposal(
            "conflict", spare.key, spare.version, why, kept.key, spare.valid_to, by_version=kept.version
        )
    if spare.origin in PROTECTED:
        return None
    if verdict.relation == "same":
        return Proposal(
            "merge", spare.key, spare.version, why, kept.key, spare.valid_to, by_version=kept.version
        )
    if verdict.relation == "merge" and _can_be_one(kept, spare, verdict.text):
        return Proposal(
            "rewrite", spare.key, spare.version, why, kept.key, spare.valid_to,
            by_version=kept.version, text=verdict.text.strip(),
        )  # fmt: skip
    return None


def _can_be_one(kept: Fact, spare: Fact, text: str) -> bool:
    """Whether a model's text may stand for both: neither was written by a person nor came from a tool, both
    are texts about the same thing, and it has their numbers and no others."""
    if kept.origin in PROTECTED or kept.tainted or spare.tainted or kept.kind != spare.kind:
        return False
    if (kept.subject, kept.attribute) != (spare.subject, spare.attribute):
        return False
    if not (isinstance(kept.value, str) and isinstance(spare.value, str)):
        return False
    if not text.strip() or len(text) > LONGEST_TEXT:
        return False
    return numbers(text) == numbers(kept.value) | numbers(spare.value)


def numbers(text: str) -> frozenset[str]:
    """The words of a text that have a digit in them."""
    from runtime.memory.finding.tokens import pieces

    return frozenset(piece for piece in pieces(text) if any(sign.isdigit() for sign in piece))


def _rank(fact: Fact) -> tuple[bool, bool, bool, datetime, str]:
    """Which of two facts rather stays: a person's, then one that no tool gave, a told one, the newer one."""
    return (
        fact.origin in PROTECTED,
        not fact.tainted,
        fact.origin != "derived",
        fact.recorded_at,
        fact.key,
    )


def _newest_first(fact: Fact) -> tuple[datetime, str]:
    return fact.recorded_at, fact.key


def text_of(fact: Fact) -> str:
    """A fact's value as text."""
    return fact.value if isinstance(fact.value, str) else msgspec.json.encode(fact.value).decode()


def _insight(fact: Fact) -> Insight:
    return Insight(fact.key, text_of(fact), fact.recorded_at)
