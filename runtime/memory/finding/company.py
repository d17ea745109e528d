"""What a user's own short statements tell about their words: how rare each is, and in which company it comes.
Words that come in the same company (live and reside, both with names of towns) speak of the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array

Profile = Mapping[str, float]
"""Weights of terms, of length 1, or empty."""
_SINGLE = 0.3
_SHARE = 1.5
_COMMON = 32
_KEPT = 24
_REMEMBERED = 4096
_NOTHING: Profile = {}


class Known(NamedTuple):
    """A statement's profile, and the same as numbers of terms with their weights."""

    profile: Profile
    terms: Array
    weights: Array


class Company:
    """In how many statements each term is, and together with which others; kept in step.

    A term weighs the square of the logarithm of its rarity (the product that TF-IDF compares by), one of a
    single statement 0.3 of that: no other statement can be like it. Company counts 1.5 times what the words
    themselves do; terms of more than 32 statements go with anything and have none. Of a term's company
    the 24 that weigh most are looked at.
    """

    def __init__(self) -> None:
        self._size = 0
        self._counts: dict[str, int] = {}
        self._met: dict[str, dict[str, int]] = {}
        self._weights: dict[str, float] = {}
        self._around: dict[str, Profile] = {}
        self._told: dict[tuple[frozenset[str], frozenset[str]], Known] = {}
        self._numbers: dict[str, int] = {}

    def add(self, terms: frozenset[str]) -> None:
        """Take a statement of these terms in."""
        self._count(terms, 1)

    def remove(self, terms: frozenset[str]) -> None:
        """Take out what `add` put in."""
        self._count(terms, -1)

    def forget(self) -> None:
        """Drop what is remembered only to be fast: it holds words of queries."""
        self._weights, self._around, self._told, self._numbers = {}, {}, {}, {}

    def shared(self, term: str) -> bool:
        """Whether more than one statement has the term: one alone proves nothing about it."""
        return self._counts.get(term, 0) > 1

    def known(self, statement: frozenset[str], without: frozenset[str]) -> Known:
        """`profile` of a statement that was added; remembered until another is."""
        found = self._told.get((statement, without))
        if found is None:
            if len(self._told) >= _REMEMBERED:
                self._told = {}
            profile, numbers = self.profile(statement, without), self._numbers
            terms = np.array([numbers.setdefault(term, len(numbers)) for term in profile], dtype=np.intp)
            weights = np.array(list(profile.values()), dtype=np.float32)
            found = self._told[statement, without] = Known(profile, terms, weights)
        return found

    def profile(self, terms: Iterable[str], without: frozenset[str]) -> Profile:
        """What a text of these terms is about: they and the company that they keep, but for those
        `without`."""
        own: dict[str, float] = {}
        near: dict[str, float] = {}
        for term in terms:
            if term in without:
                continue
            weight = own[term] = self._weight(term)
            for other, share in self._company(term).items():
                near[other] = near.get(other, 0.0) + weight * share
        for name in without:
            near.pop(name, None)
        both, scale = dict(_unit(own)), _SHARE * _inverse(near)
        for term, weight in near.items():
            both[term] = both.get(term, 0.0) + scale * weight
        return _unit(both)

    def _count(self, terms: frozenset[str], step: int) -> None:
        self.forget()
        self._size += step
        for term in terms:
            count = self._counts[term] = self._counts.get(term, 0) + step
            met = self._met.setdefault(term, {})
            for other in terms:
                met[other] = met.get(other, 0) + step
                if not met[other]:
                    del met[other]
            if not count:
                del self._counts[term], self._met[term]

    def _weight(self, term: str) -> float:
        weight = self._weights.get(term)
        if weight is None:
            count = self._counts.get(term, 0)
            rarity = log(1 + self._size / max(count, 1))
            weight = self._weights[term] = rarity * rarity * (1.0 if count > 1 else _SINGLE)
        return weight

    def _company(self, term: str) -> Profile:
        found = self._around.get(term)
        if found is None:
            met = self._met.get(term, {}) if self._counts.get(term, 0) <= _COMMON else {}
            weights = [(self._weight(other), other) for other in met if other != term]
            if len(weights) > _KEPT:
                weights = sorted(weights, reverse=True)[:_KEPT]
            found = _unit({other: weight for weight, other in weights})
            self._around[term] = found
        return found


def alike(known: Sequence[Known]) -> Array:
    """The likeness of each two, in one product."""
    terms = np.concatenate([one.terms for one in known])
    seen = np.zeros(int(terms.max(initial=-1)) + 1, dtype=np.intp)
    seen[terms] = 1
    columns = np.cumsum(seen) - 1
    rows = np.repeat(np.arange(len(known)), [len(one.terms) for one in known])
    matrix = np.zeros((len(known), int(seen.sum())), dtype=np.float32)
    matrix[rows, columns[terms]] = np.concatenate([one.weights for one in known])
    found: Array = matrix @ matrix.T
    return found


def likeness(one: Profile, other: Profile) -> float:
    """From 0, nothing in common, to 1."""
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other[term] for term, weight in one.items() if term in other)


def _inverse(weights: Profile) -> float:
    size = sqrt(sum(weight * weight for weight in weights.values()))
    return 1 / size if size else 0.0


def _unit(weights: Profile) -> Profile:
    scale = _inverse(weights)
    return {term: weight * scale for term, weight in weights.items()} if scale else _NOTHING
