"""The inverted index: for each term the rows that hold it and how often; BM25 over it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from math import log

import numpy as np

from runtime.memory.finding.columns import Array

_BITS = 16
_MOST = (1 << _BITS) - 1
"""An entry is the row shifted by so many bits, and in those how often it holds the term, at most so often:
a single number, so that a posting is a single array, in order of rows."""


class _Terms(dict[str, "array[int]"]):
    """Postings by term; one is made where it is first asked for by `[]`."""

    def __missing__(self, term: str) -> array[int]:
        made: array[int] = array("q")
        self[term] = made
        return made


class Postings:
    """Kept in step row by row. A term without rows does not exist."""

    def __init__(self) -> None:
        self._terms = _Terms()
        self.total_length = 0
        self.rows = 0

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, row: int, terms: Iterable[str]) -> int:
        """Index `terms` under `row`; returns the row's length in terms."""
        counts = Counter(terms)
        start = row << _BITS
        for term, count in counts.items():
            posting = self._terms[term]
            entry = start + min(count, _MOST) if count > 1 else start + 1
            if not posting or posting[-1] < entry:
                posting.append(entry)
            else:
                posting.insert(bisect_left(posting, entry), entry)
        length = counts.total()
        self.total_length += length
        self.rows += 1
        return length

    def remove(self, row: int, terms: Iterable[str]) -> None:
        """Take out what `add` put in, given the same terms."""
        counts = Counter(terms)
        for term in counts:
            posting = self._terms[term]
            del posting[bisect_left(posting, row << _BITS)]
            if not posting:
                del self._terms[term]
        self.total_length -= counts.total()
        self.rows -= 1

    def rows_of(self, term: str) -> list[int]:
        """In ascending order."""
        return [entry >> _BITS for entry in self._terms.get(term, ())]

    def rarity(self, term: str) -> float:
        """Inverse document frequency as in BM25 with +1 inside the logarithm, which never is negative."""
        found = len(self._terms.get(term, ()))
        return log(1 + (self.rows - found + 0.5) / (found + 0.5))

    def bm25(self, query: Iterable[str], lengths: Array, k1: float, b: float) -> Array:
        """BM25 of every row for the query terms (Robertson and Zaragoza 2009), float32."""
        met = [(term, posting) for term in query if (posting := self._terms.get(term)) is not None]
        if not met:
            return np.zeros(len(lengths), dtype=np.float32)
        # One pass over all terms at once is several times as fast as adding them term by term.
        entries = np.concatenate([np.frombuffer(posting, dtype=np.int64) for _, posting in met])
        counts = (entries & _MOST).astype(np.float32)
        entries >>= _BITS
        rarities = np.array([self.rarity(term) * (k1 + 1) for term, _ in met], dtype=np.float32)
        gains = rarities.repeat([len(posting) for _, posting in met])
        gains *= counts
        norm = lengths.take(entries)
        norm *= np.float32(k1 * b * self.rows / self.total_length)
        norm += np.float32(k1 * (1 - b))
        norm += counts
        gains /= norm
        return np.bincount(entries, gains, len(lengths)).astype(np.float32)
