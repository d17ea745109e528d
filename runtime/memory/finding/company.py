"""What a user's own short statements tell about their words: how rare each is, and in which company it comes.
Words that come in the same company (live and reside, both with names of towns) speak of the same thing."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from math import log2, sqrt
from typing import NamedTuple

import numpy as np

from runtime.memory.finding import profiles
from runtime.memory.finding.columns import Array
from runtime.memory.finding.profiles import NOTHING, Profile

_SINGLE = 0.3
_COMMON = 32
_FINE = 4
_REMEMBERED, _LEVELS = 4096, 16
_AT_ONCE = 32


class Known(NamedTuple):
    """What a statement is about, and what of that it says is not as before; None where it says nothing of
    the kind, or only of terms that no other statement has: one alone proves nothing."""

    about: Profile
    changed: Profile | None


class Company:
    """In which statements each term is, kept in step; and from that what each statement is about.

    A term weighs the square of the logarithm of its rarity (the product that TF-IDF compares by), one of a
    single statement 0.3 of that: no other statement can be like it. For this counts above 4 and the
    number of statements are rounded to half powers of two, so that what is remembered of a statement rarely
    has to be made anew. Terms of more than 32 statements go with anything: they have no company.
    """

    def __init__(self) -> None:
        self._size = 0
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._free: list[int] = []
        self._rows: list[array[int]] = []
        self._counts: Array = np.zeros(64, dtype=np.intp)
        self._scale, self._weights = -1, np.zeros(0)
        self._texts: dict[int, Array] = {}
        self._changed: dict[int, Array] = {}
        self._known: dict[frozenset[str], dict[int, Known]] = {}

    def add(self, row: int, terms: frozenset[str], changed: frozenset[str]) -> None:
        """Take in a statement of these `terms`, of which it says that those `changed` are not as before."""
        # In one order in every process: sums of the same numbers are the same then.
        self._texts[row] = np.array([self._number(term) for term in sorted(terms)], dtype=np.intp)
        if changed:
            self._changed[row] = np.array([self._numbers[term] for term in sorted(changed)], dtype=np.intp)
        for number in self._texts[row].tolist():
            rows = self._rows[number]
            if not rows or rows[-1] < row:
                rows.append(row)
            else:
                rows.insert(bisect_left(rows, row), row)
        self._count(row, 1)

    def remove(self, row: int) -> None:
        """Take out what `add` put in."""
        self._count(row, -1)
        self._changed.pop(row, None)
        for number in self._texts.pop(row).tolist():
            rows = self._rows[number]
            del rows[bisect_left(rows, row)]
            if not rows:
                del self._numbers[self._names[number]]
                self._names[number] = ""
                self._free.append(number)

    def forget(self) -> None:
        """Drop what is remembered only to be fast: it goes by names from queries."""
        self._known = {}

    def known(self, rows: Sequence[int], without: frozenset[str]) -> list[Known]:
        """What these statements are about: their terms and the company that these keep, but for those
        `without`."""
        if without not in self._known and len(self._known) >= _LEVELS:
            self._known = {}
        known = self._known.setdefault(without, {})
        if len(known) + len(rows) > _REMEMBERED:
            known.clear()
        missing = [row for row in rows if row not in known]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            known.update(zip(some, self._made(some, without), strict=True))
        return [known[row] for row in rows]

    def wanted(self, terms: frozenset[str], without: frozenset[str]) -> Array:
        """What any text of these terms is about: a weight for each number of a term."""
        asked = sorted(terms - without)
        text = np.array([self._numbers[term] for term in asked if term in self._numbers], dtype=np.intp)
        strange = (len(asked) - len(text)) ** 0.5 * float(self._table()[1])
        profile = profiles.made([text], self, self._numbered(without), strange)[0]
        found = np.zeros(self.limit, dtype=np.float32)
        found[profile.terms] = profile.weights
        return found

    @property
    def limit(self) -> int:
        """Above the number of every term."""
        return len(self._counts)

    def weights(self, terms: Array) -> Array:
        """How much each term tells."""
        return self._table().take(self._counts.take(terms))

    def company(self, term: int) -> Profile:
        """The terms that are in a statement with this one, of length 1; of one that is in many nothing."""
        rows = self._rows[term]
        if len(rows) > _COMMON:
            return NOTHING
        met = np.zeros(self.limit, dtype=np.bool_)
        met[np.concatenate([self._texts[row] for row in rows])] = True
        met[term] = False
        others = met.nonzero()[0]
        weights = self.weights(others)
        return Profile(others, weights / sqrt(weights @ weights)) if len(others) else NOTHING

    def _made(self, rows: Sequence[int], without: frozenset[str]) -> list[Known]:
        changed: dict[int, Array] = {}
        for row in rows:
            if row in self._changed:
                text = self._changed[row]
                changed[row] = text[self._counts.take(text) > 1]
        texts = [*(self._texts[row] for row in rows), *changed.values()]
        found = profiles.made(texts, self, self._numbered(without))
        told = dict(zip(changed, found[len(rows) :], strict=True))
        return [
            Known(about, told[row] if row in told and len(told[row].terms) else None)
            for row, about in zip(rows, found, strict=False)
        ]

    def _numbered(self, terms: frozenset[str]) -> Array:
        found = [self._numbers[term] for term in terms if term in self._numbers]
        return np.array(found, dtype=np.intp)

    def _number(self, term: str) -> int:
        number = self._numbers.get(term)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._names[number] = term
            else:
                number = len(self._names)
                self._names.append(term)
                self._rows.append(array("q"))
                if number == len(self._counts):
                    self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._numbers[term] = number
        return number

    def _count(self, row: int, step: int) -> None:
        text, table = self._texts[row], self._weights
        before = self._counts.take(text)
        self._counts[text] += step
        self._size += step
        if not self._known:
            return
        common = np.minimum(before, before + step) > _COMMON
        moved = table.take(before) != table.take(before + step)
        if self._table() is not table or (moved & common).any():
            self._known = {}
            return
        stale = self._rows_with(text[~common])
        stale.add(row)
        if moved.any():
            # It weighs something else now in the company of every term that it meets.
            near = [self._texts[other] for other in self._rows_with(text[moved])]
            met = np.unique(np.concatenate(near))
            stale |= self._rows_with(met[self._counts.take(met) <= _COMMON])
        for known in self._known.values():
            for other in known.keys() & stale:
                del known[other]

    def _rows_with(self, terms: Array) -> set[int]:
        return set().union(*(self._rows[number] for number in terms.tolist()))

    def _table(self) -> Array:
        """The weight of a term by how many statements have it, from 0 on (as if one had it)."""
        scale = round(2 * log2(max(self._size, 1)))
        if scale != self._scale:
            counts = np.maximum(np.arange(2 ** (scale // 2 + 1) + 1), 1)
            counts = np.where(counts > _FINE, np.exp2(np.rint(2 * np.log2(counts)) / 2), counts)
            self._scale, self._weights = scale, np.log1p(2 ** (scale / 2) / counts) ** 2
            self._weights[:2] *= _SINGLE
        return self._weights
