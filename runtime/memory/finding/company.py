"""What a user's own short statements tell about their words: how rare each is, and in which company it comes.
Words that come in the same company (live and reside, both with names of towns) speak of the same thing."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from runtime.memory.finding import profiles
from runtime.memory.finding.columns import Array
from runtime.memory.finding.profiles import NOTHING, Profile

_SINGLE = 0.3
_COMMON = 32
_FINE = 4
_REMEMBERED, _LEVELS = 4096, 16
_AT_ONCE = 128


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
        self._writes = 0
        self._touched: Array = np.zeros(64, dtype=np.intp)
        self._known: dict[frozenset[str], dict[int, tuple[int, Known]]] = {}
        self._met: dict[int, tuple[int, Profile]] = {}

    def add(self, row: int, terms: frozenset[str], changed: frozenset[str]) -> None:
        """Take in a statement of these `terms`, of which it says that those `changed` are not as before."""
        # In one order in every process: sums of the same numbers are the same then.
        self._texts[row] = np.array([self._number(term) for term in sorted(terms)], dtype=np.intp)
        if changed:
            self._changed[row] = np.array([self._numbers[term] for term in sorted(changed)], dtype=np.intp)
        for number in self._texts[row].tolist():
            insort(self._rows[number], row)
        self._count(row, 1)

    def remove(self, row: int) -> None:
        """Take out what `add` put in."""
        self._count(row, -1)
        self._changed.pop(row, None)
        for known in self._known.values():
            known.pop(row, None)
        for number in self._texts.pop(row).tolist():
            rows = self._rows[number]
            del rows[bisect_left(rows, row)]
            if not rows:
                del self._numbers[self._names[number]]
                self._names[number] = ""
                self._free.append(number)

    def forget(self) -> None:
        """Drop what is remembered only to be fast."""
        self._known, self._met = {}, {}

    def known(self, rows: Sequence[int], without: frozenset[str]) -> list[Known]:
        """What these statements are about: their terms and the company that these keep, but for those
        `without`."""
        if without not in self._known and len(self._known) >= _LEVELS:
            self._known = {}
        known = self._known.setdefault(without, {})
        if len(known) + len(rows) > _REMEMBERED:
            known.clear()
        touched = self._last_touched(rows)
        missing = [row for row in rows if row not in known or known[row][0] < touched[row]]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for row, made in zip(some, self._made(some, without), strict=True):
                known[row] = self._writes, made
        return [known[row][1] for row in rows]

    def wanted(self, terms: frozenset[str], without: frozenset[str]) -> Array:
        """What any text of these terms is about: a weight for each number of a term."""
        asked = sorted(terms - without)
        text = np.array([self._numbers[term] for term in asked if term in self._numbers], dtype=np.intp)
        strange = (len(asked) - len(text)) ** 0.5 * float(self._table()[1])
        return profiles.whole(text, self, self._numbered(without), strange)

    @property
    def limit(self) -> int:
        """Above the number of every term."""
        return len(self._counts)

    def weights(self, terms: Array) -> Array:
        """How much each term tells."""
        return self._table().take(self._counts.take(terms))

    def company(self, terms: Sequence[int]) -> dict[int, Profile]:
        """For each the terms that are in a statement with it, of length 1; of one that is in many nothing."""
        met, touched = self._met, self._touched
        if len(met) + len(terms) > _REMEMBERED:
            met.clear()
        missing = [term for term in dict.fromkeys(terms) if term not in met or met[term][0] < touched[term]]
        few = [term for term in missing if len(self._rows[term]) <= _COMMON]
        met.update(dict.fromkeys(missing, (self._writes, NOTHING)))
        if few:
            texts = [[self._texts[row] for row in self._rows[term]] for term in few]
            for term, found in zip(few, profiles.company(texts, np.array(few), self), strict=True):
                met[term] = self._writes, found
        return {term: met[term][1] for term in terms}

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
                    self._touched = np.concatenate([self._touched, np.zeros_like(self._touched)])
            self._numbers[term] = number
        return number

    def _count(self, row: int, step: int) -> None:
        text, table = self._texts[row], self._weights
        before = self._counts.take(text)
        self._counts[text] += step
        self._size += step
        if not self._known and not self._met:
            return
        if self._table() is not table:
            self.forget()
            return
        self._writes += 1
        common = np.minimum(before, before + step) > _COMMON
        moved = table.take(before) != table.take(before + step)
        self._touched[text[moved | ~common]] = self._writes
        if moved.any():
            # It weighs something else now in the company of every term that it meets.
            rows = set().union(*(self._rows[number] for number in text[moved].tolist()))
            met = np.concatenate([self._texts[other] for other in rows])
            self._touched[met[self._counts.take(met) <= _COMMON]] = self._writes

    def _last_touched(self, rows: Sequence[int]) -> dict[int, int]:
        """The write with which a statement's terms, or the company that they keep, were last others."""
        texts = [self._texts[row] for row in rows]
        found = np.zeros(len(rows), dtype=np.intp)
        of = np.arange(len(rows)).repeat([len(text) for text in texts])
        np.maximum.at(found, of, self._touched.take(np.concatenate(texts)))
        return dict(zip(rows, found.tolist(), strict=True))

    def _table(self) -> Array:
        """The weight of a term by how many statements have it, from 0 on (as if one had it)."""
        scale = round(2 * log2(max(self._size, 1)))
        if scale != self._scale:
            counts = np.maximum(np.arange(2 ** (scale // 2 + 1) + 1), 1)
            counts = np.where(counts > _FINE, np.exp2(np.rint(2 * np.log2(counts)) / 2), counts)
            self._scale, self._weights = scale, np.log1p(2 ** (scale / 2) / counts) ** 2
            self._weights[:2] *= _SINGLE
        return self._weights
