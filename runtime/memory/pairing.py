"""Pairs of facts that may say the same or contradict each other. Pure.

Likeness of words, or of meaning where vectors are given, only proposes a pair; a model says what it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from runtime.facts import Fact
from runtime.memory.consolidation import text_of
from runtime.memory.policies import Vector


class Judging(msgspec.Struct, frozen=True):
    """How many pairs a model is asked about, and which."""

    words_alike: float = 0.3
    """Share of common words (Dice, of keys and values) from which on two facts are a pair."""
    meaning_alike: float = 0.6
    """Cosine of their vectors from which on they are one too."""
    longest_chars: int = 600
    """A longer value is not compared: what is sent is never cut."""
    pairs_per_call: int = 8
    """Pairs in one question."""
    most_pairs: int = 200
    """Pairs in all, the most alike first; others are for the next time."""
    most_per_fact: int = 5
    """Pairs that one fact is in."""
    common_words: int = 200
    """A word that more facts have proposes no pair."""


class Pair(NamedTuple):
    """Two facts, the one with the smaller key first, and how alike they are (0 to 1)."""

    one: Fact
    other: Fact
    likeness: float

    @property
    def tainted(self) -> bool:
        """Whether what a tool gave is in it: such pairs are asked about apart from others."""
        return self.one.tainted or self.other.tainted


PairKey = tuple[str, int, str, int]
"""Which versions of which keys a pair is of."""


def pairs(
    facts: Sequence[Fact],
    known: Collection[PairKey] = (),
    rules: Judging | None = None,
    vectors: Sequence[Vector] | None = None,
) -> list[Pair]:
    """The pairs to ask about, the most alike first: of facts that last and are not too long, without those
    that are known. `vectors`: one for each fact."""
    rules = rules or Judging()
    mine = [i for i, fact in enumerate(facts) if _fit(fact, rules)]
    scores = _by_words([f"{facts[i].key} {text_of(facts[i])}" for i in mine], rules)
    if vectors is not None:
        for at, score in _by_meaning([vectors[i] for i in mine], rules).items():
            scores[at] = max(score, scores.get(at, 0.0))
    found = []
    for (i, j), score in scores.items():
        one, other = sorted((facts[mine[i]], facts[mine[j]]), key=lambda fact: fact.key)
        if (one.key, one.version, other.key, other.version) not in known:
            found.append(Pair(one, other, score))
    return _most(sorted(found, key=lambda p: (-p.likeness, p.one.key, p.other.key)), rules)


def _fit(fact: Fact, rules: Judging) -> bool:
    lasting = fact.valid_to is None and fact.kind in ("fact", "profile") and not fact.internal
    return lasting and fact.value is not None and len(text_of(fact)) <= rules.longest_chars


def _by_words(texts: Sequence[str], rules: Judging) -> dict[tuple[int, int], float]:
    from runtime.memory.finding.tokens import Tokens

    tokens = Tokens()
    words = [frozenset(tokens.terms(text.replace("_", " "))) for text in texts]
    having: defaultdict[str, list[int]] = defaultdict(list)
    common: Counter[tuple[int, int]] = Counter()
    for i, mine in enumerate(words):
        for word in mine:
            having[word].append(i)
    for places in having.values():
        if len(places) <= rules.common_words:
            common.update((i, j) for at, i in enumerate(places) for j in places[at + 1 :])
    scores = {}
    for i, j in common:
        dice = 2 * len(words[i] & words[j]) / (len(words[i]) + len(words[j]))
        if dice >= rules.words_alike:
            scores[i, j] = dice
    return scores


def _by_meaning(vectors: Sequence[Vector], rules: Judging) -> dict[tuple[int, int], float]:
    import numpy as np

    found = {}
    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    for i in range(len(unit) - 1):
        scores = unit[i + 1 :] @ unit[i]
        for j in np.flatnonzero(scores >= rules.meaning_alike):
            found[i, i + 1 + int(j)] = float(scores[j])
    return found


def _most(found: Sequence[Pair], rules: Judging) -> list[Pair]:
    taken: Counter[str] = Counter()
    kept: list[Pair] = []
    for pair in found:
        if max(taken[pair.one.key], taken[pair.other.key]) < rules.most_per_fact:
            taken.update((pair.one.key, pair.other.key))
            kept.append(pair)
    return kept[: rules.most_pairs]


def batches(found: Sequence[Pair], rules: Judging | None = None) -> list[tuple[Pair, ...]]:
    """The pairs in questions; those with a tool's words in them stand in questions of their own, so that
    such words are in no context in which other facts are judged."""
    size = (rules or Judging()).pairs_per_call
    apart = [[pair for pair in found if pair.tainted is tainted] for tainted in (False, True)]
    return [tuple(group[at : at + size]) for group in apart for at in range(0, len(group), size)]
