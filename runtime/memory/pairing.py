"""Pairs of facts that may say the same or contradict each other. Pure.

Likeness of words, or of meaning where vectors are given, only proposes a pair; a model says what it is.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat
from math import log
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from runtime.facts import Fact
from runtime.memory.consolidation import text_of

if TYPE_CHECKING:
    from runtime.memory.finding.columns import Array

    Vector = Sequence[float] | Array

_SPARE = 4
"""Times as many of a fact's pairs as are taken are looked at: some go because the other fact is in enough."""
_AT_ONCE = 256
"""Facts that are compared with all earlier ones at once: so many rows of numbers are held."""


class Judging(msgspec.Struct, frozen=True):
    """How many pairs a model is asked about, and which."""

    words_alike: float = 0.3
    """Share of common words (Dice, of keys and values) from which on two facts are a pair. How alike they
    are then, rare words say more than common ones."""
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
    mine = [fact for fact in facts if _fit(fact, rules)]
    taken = (
        None if vectors is None else [v for fact, v in zip(facts, vectors, strict=True) if _fit(fact, rules)]
    )
    found = []
    for i, near in enumerate(_nearest(mine, taken, rules, _known(mine, known))):
        for j, likeness in near:
            one, other = sorted((mine[i], mine[j]), key=lambda fact: fact.key)
            found.append(Pair(one, other, likeness))
    return _most(sorted(found, key=lambda p: (-p.likeness, p.one.key, p.other.key)), rules)


def _fit(fact: Fact, rules: Judging) -> bool:
    lasting = fact.valid_to is None and fact.kind in ("fact", "profile") and not fact.internal
    return lasting and fact.value is not None and len(text_of(fact)) <= rules.longest_chars


def _known(facts: Sequence[Fact], known: Collection[PairKey]) -> dict[int, list[int]]:
    """For each place of a fact the earlier places of those with which it was judged."""
    places = {(fact.key, fact.version): place for place, fact in enumerate(facts)}
    found: dict[int, list[int]] = {}
    for one, one_version, other, other_version in known:
        i, j = places.get((one, one_version)), places.get((other, other_version))
        if i is not None and j is not None:
            found.setdefault(max(i, j), []).append(min(i, j))
    return found


def _nearest(
    facts: Sequence[Fact], vectors: Sequence[Vector] | None, rules: Judging, known: Mapping[int, list[int]]
) -> Iterator[list[tuple[int, float]]]:
    """For each fact the earlier ones that are most like it, of equals the nearest, with their likeness. They
    are few: what is kept grows with the facts, not with their pairs."""
    import numpy as np

    by_words = _by_words([f"{fact.key} {text_of(fact)}" for fact in facts], rules)
    by_meaning = repeat(None) if vectors is None else _by_meaning(vectors, rules)
    for place, (near, meant) in enumerate(zip(by_words, by_meaning)):  # noqa: B905  repeat has no end
        if meant is not None:
            np.maximum(near, meant, out=near)
        near[known.get(place, [])] = 0
        alike = np.flatnonzero(near)[::-1]
        best = alike[np.argsort(-near[alike], kind="stable")[: _SPARE * rules.most_per_fact]]
        yield list(zip(best.tolist(), near[best].tolist(), strict=True))


def _by_words(texts: Sequence[str], rules: Judging) -> Iterator[Array]:
    """For each text how alike it is to every earlier one with which it shares enough words: the share of
    common words, of which rare ones (a name) weigh more than common ones (the way of saying it)."""
    import numpy as np

    from runtime.memory.finding.tokens import Tokens

    tokens = Tokens()
    words = [frozenset(tokens.terms(text.replace("_", " "))) for text in texts]
    counts = Counter(word for mine in words for word in mine)
    # The inverse document frequency of BM25 (Robertson and Zaragoza 2009), with which it never is negative.
    weights = {w: log(1 + (len(words) - count + 0.5) / (count + 0.5)) for w, count in counts.items()}
    sizes = np.array([len(mine) for mine in words])
    sums = np.array([sum(weights[word] for word in mine) for mine in words])
    having: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    for place, mine in enumerate(words):
        shared = [(word, np.frombuffer(having[word], dtype=np.int64)) for word in mine if word in having]
        telling = [rows for word, rows in shared if counts[word] <= rules.common_words]
        near = np.zeros(place, dtype=np.float32)
        if telling:
            all_rows = np.concatenate([rows for _, rows in shared])
            each = np.repeat([weights[word] for word, _ in shared], [len(rows) for _, rows in shared])
            dice = 2 * np.bincount(all_rows, minlength=place) / (sizes[:place] + sizes[place])
            likeness = 2 * np.bincount(all_rows, each, place) / (sums[:place] + sums[place])
            some = np.concatenate(telling)
            near[some] = np.where(dice[some] >= rules.words_alike, likeness[some], 0)
        yield near
        # A view would keep the array from growing.
        shared.clear()
        telling.clear()
        for word in mine:
            having[word].append(place)


def _by_meaning(vectors: Sequence[Vector], rules: Judging) -> Iterator[Array]:
    """For each vector its cosine with every earlier one; 0 below the bound."""
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    for start in range(0, len(unit), _AT_ONCE):
        scores = unit[start : start + _AT_ONCE] @ unit[: start + _AT_ONCE].T
        scores[scores < rules.meaning_alike] = 0
        for place, row in enumerate(scores, start=start):
            yield row[:place]


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
