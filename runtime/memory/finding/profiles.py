"""What texts are about, as weights of numbered terms: their own terms and the company that these keep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from runtime.memory.finding.columns import Array

_SHARE = 1.5
_MOST = 64
_ONE_THREAD = 262_144
"""Products of two numbers up to which BLAS stays on one thread; with more, a second one costs as much again
in waiting."""


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
        terms, weights = (
            np.concatenate([self.terms, more.terms]),
            np.concatenate([self.weights, more.weights]),
        )
        return Joined(self.size + more.size, of, terms, weights)


class Terms(Protocol):
    """What is known of numbered terms, all below `limit`."""

    @property
    def limit(self) -> int: ...

    def weights(self, terms: Array) -> Array:
        """Of each."""
        ...

    def company(self, term: int) -> Profile:
        """What a term goes with, of length 1."""
        ...


def made(texts: Sequence[Array], known: Terms, skip: Array, strange: float = 0.0) -> list[Profile]:
    """A profile for each of the texts (at least one, each its terms): of the terms and of the company that
    they keep, which counts 1.5 times what they do themselves, those 64 that weigh most, but for the terms to
    `skip`. `strange`: the length of the weights of the terms of a text that have no number."""
    count, own = len(texts), np.concatenate(texts)
    of = np.arange(count).repeat([len(text) for text in texts])
    if len(skip):
        kept = np.isin(own, skip, invert=True)
        own, of = own[kept], of[kept]
    weights = known.weights(own)
    around = {term: known.company(term) for term in dict.fromkeys(own.tolist())}
    met = Joined.join([around[term] for term in own.tolist()] or [NOTHING])
    columns, column = _distinct((own, met.terms), known.limit)
    width = len(columns)
    cells = of.take(met.of) * width + column.take(met.terms)
    both = _sums(cells, met.weights * weights.take(met.of), count * width).reshape(count, width)
    if len(skip):
        both[:, column.take(skip[np.isin(skip, columns)])] = 0
    both *= (_SHARE / _root(np.vecdot(both, both)))[:, None]
    length = _root(_sums(of, weights * weights, count) + strange * strange)
    both[of, column.take(own)] += weights / length.take(of)
    both /= _root(np.vecdot(both, both) + (strange / length) ** 2)[:, None]
    if width > _MOST:
        both[both < np.partition(both, width - _MOST, axis=1)[:, width - _MOST, None]] = 0
    rows, cols = both.nonzero()
    bounds = rows.searchsorted(np.arange(count + 1)).tolist()
    numbers, values = columns.take(cols), both[rows, cols].astype(np.float32)
    return [Profile(numbers[a:b], values[a:b]) for a, b in pairwise(bounds)]


def product(one: Array, other: Array) -> Array:
    """The inner product of each row of one matrix with each row of another."""
    found = np.zeros((len(one), len(other)), dtype=np.float32)
    step = max(16, _ONE_THREAD // max(found.size, 1))
    for first in range(0, one.shape[1], step):
        found += one[:, first : first + step] @ other[:, first : first + step].T
    return found


def _distinct(numbers: Sequence[Array], limit: int) -> tuple[Array, Array]:
    """The numbers that there are, in order, and by number the place of each among them."""
    seen = np.zeros(limit, dtype=np.bool_)
    for some in numbers:
        seen[some] = True
    found = seen.nonzero()[0]
    places = np.empty(limit, dtype=np.intp)
    places[found] = np.arange(len(found))
    return found, places


def _sums(places: Array, values: Array, size: int) -> Array:
    """The sum of the values at each place."""
    # Of nothing bincount makes whole numbers.
    return np.bincount(places, values, size).astype(np.float64, copy=False)


def _root(squares: Array) -> Array:
    """Lengths; of nothing infinite, so that divided by it stays nothing."""
    return np.sqrt(np.where(squares > 0, squares, np.inf))
