"""What texts are about, as weights of numbered terms: their own terms and the company that these keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import hypot, inf, sqrt
from typing import NamedTuple, Protocol

import numpy as np

from runtime.memory.finding.columns import Array

_SHARE = 1.5
_MOST = 64
_ONE_THREAD = 262_144
"""Products of two numbers up to which BLAS stays on one thread. A second one, once woken, waits for more by
running idle: that costs more than it does."""


class Profile(NamedTuple):
    """Numbers of terms and their weights, together at most of length 1; empty where a text tells nothing."""

    terms: Array
    weights: Array


NOTHING = Profile(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.float32))


class Joined(NamedTuple):
    """Some profiles one after the other: how many, and for each term of each the place of its profile, its
    number and weight."""

    size: int
    of: Array
    terms: Array
    weights: Array

    @classmethod
    def join(cls, profiles: Sequence[Profile]) -> Joined:
        """At least one."""
        of = np.arange(len(profiles)).repeat([len(terms) for terms, _ in profiles])
        terms = np.concatenate([terms for terms, _ in profiles])
        return cls(len(profiles), of, terms, np.concatenate([weights for _, weights in profiles]))

    def like(self, other: Array) -> Array:
        """From 0, nothing in common, to 1: the likeness of each with one that has a weight for every number
        of a term."""
        return _sums(self.of, self.weights * other.take(self.terms), self.size)

    def alike(self, more: Sequence[Profile]) -> Array:
        """The likeness of each (a row) with each other one, and with some more that have no term which none
        of these has; what stands for one and itself says nothing."""
        both = self._with(Joined.join(more)) if more else self
        # Of the terms of only one nothing comes in common.
        shared = np.bincount(self.terms, minlength=int(both.terms.max(initial=0)) + 1) > 1
        kept, column = shared.take(both.terms).nonzero()[0], shared.cumsum() - 1
        matrix = np.zeros((both.size, int(column[-1]) + 1), dtype=np.float32)
        matrix[both.of.take(kept), column.take(both.terms.take(kept))] = both.weights.take(kept)
        return product(matrix[: self.size], matrix)

    def _with(self, more: Joined) -> Joined:
        of = np.concatenate([self.of, more.of + self.size])
        terms = np.concatenate([self.terms, more.terms])
        return Joined(self.size + more.size, of, terms, np.concatenate([self.weights, more.weights]))


class Terms(Protocol):
    """What is known of numbered terms, all below `limit`."""

    @property
    def limit(self) -> int: ...

    def weights(self, terms: Array) -> Array:
        """Of each."""
        ...

    def company(self, terms: Sequence[int]) -> Mapping[int, Profile]:
        """What each goes with, of length 1."""
        ...


def made(texts: Sequence[Array], known: Terms, skip: Array) -> list[Profile]:
    """A profile for each of the texts (at least one, each its terms): of the terms and of the company that
    they keep, which counts 1.5 times what they do themselves, those 64 that weigh most, but for the terms to
    `skip`."""
    count, own = len(texts), np.concatenate(texts)
    of = np.arange(count).repeat([len(text) for text in texts])
    kept = np.isin(own, skip, invert=True)
    own, of = own[kept], of[kept]
    weights, around = known.weights(own), known.company(own.tolist())
    met = Joined.join([around[term] for term in own.tolist()] or [NOTHING])
    # A text's own terms are put among them without weight, so that each has a place to add its own to.
    places = of * known.limit + own
    pairs = np.concatenate([places, of.take(met.of) * known.limit + met.terms])
    gains = np.concatenate([np.zeros(len(own)), met.weights * weights.take(met.of)])
    pairs, gains = _merged(pairs, gains)
    rows, terms = np.divmod(pairs, known.limit)
    gains[np.isin(terms, skip)] = 0
    gains *= (_SHARE / _root(_sums(rows, gains * gains, count))).take(rows)
    gains[pairs.searchsorted(places)] += weights / _root(_sums(of, weights * weights, count)).take(of)
    gains /= _root(_sums(rows, gains * gains, count)).take(rows)
    bounds = rows.searchsorted(np.arange(count + 1)).tolist()
    weigh = gains.astype(np.float32)
    return [_weightiest(terms[a:b], weigh[a:b]) for a, b in pairwise(bounds)]


def company(texts: Sequence[Sequence[Array]], terms: Array, known: Terms) -> list[Profile]:
    """What each of the terms goes with in the texts that it is in, of length 1."""
    flat = [text for some in texts for text in some]
    of = np.arange(len(terms)).repeat([len(some) for some in texts]).repeat([len(text) for text in flat])
    others = np.concatenate([NOTHING.terms, *flat])
    pairs = (of * known.limit + others)[others != terms.take(of)]
    pairs.sort()
    of, others = np.divmod(pairs[_firsts(pairs)], known.limit)
    weights = known.weights(others)
    weights /= _root(_sums(of, weights * weights, len(terms))).take(of)
    bounds = of.searchsorted(np.arange(len(terms) + 1)).tolist()
    return [Profile(others[a:b], weights[a:b]) for a, b in pairwise(bounds)]


def whole(text: Array, known: Terms, skip: Array, strange: float) -> Array:
    """The profile of one text without terms to skip, as a weight for every number of a term. `strange`: the
    length of the weights of terms that have no number, which is of the text as well."""
    weights = known.weights(text)
    found = np.zeros(known.limit)
    for met, weight in zip(known.company(text.tolist()).values(), weights.tolist(), strict=True):
        found[met.terms] += weight * met.weights
    found[skip] = 0
    found *= _SHARE / (_length(found) or inf)
    length = hypot(_length(weights), strange) or inf
    found[text] += weights / length
    found /= hypot(_length(found), strange / length) or inf
    return found


def product(one: Array, other: Array) -> Array:
    """The inner product of each row of one matrix with each row of another."""
    found = np.zeros((len(one), len(other)), dtype=np.float32)
    step = max(16, _ONE_THREAD // max(found.size, 1))
    for first in range(0, one.shape[1], step):
        found += one[:, first : first + step] @ other[:, first : first + step].T
    return found


def _weightiest(terms: Array, weights: Array) -> Profile:
    """With all that weigh the same as the last of them."""
    kept = weights > 0
    if len(weights) > _MOST:
        kept &= weights >= np.partition(weights, len(weights) - _MOST)[len(weights) - _MOST]
    return Profile(terms[kept], weights[kept])


def _merged(pairs: Array, values: Array) -> tuple[Array, Array]:
    """The pairs that there are, in order, and for each the sum of its values."""
    order = pairs.argsort()
    pairs = pairs.take(order)
    first = _firsts(pairs).nonzero()[0]
    return pairs.take(first), np.add.reduceat(values.take(order), first) if len(first) else values


def _firsts(ordered: Array) -> Array:
    """Where another number begins."""
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _sums(places: Array, values: Array, size: int) -> Array:
    """The sum of the values at each place."""
    # Of nothing bincount makes whole numbers.
    return np.bincount(places, values, size).astype(np.float64, copy=False)


def _length(vector: Array) -> float:
    # Of long vectors BLAS makes the inner product on two threads.
    return sqrt(float(np.add.reduce(vector * vector)))


def _root(squares: Array) -> Array:
    """Lengths; of nothing infinite, so that divided by it stays nothing."""
    return np.sqrt(np.where(squares > 0, squares, np.inf))
