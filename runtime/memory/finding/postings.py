"""The inverted index: for each term the rows that hold it and how often; BM25 over it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log

import numpy as np

from runtime.memory.finding.columns import Array

_MANY = 64


@dataclass(slots=True)
class _Posting:
    rows: array[int] = field(default_factory=lambda: array("i"))
    counts: array[int] = field(default_factory=lambda: array("i"))


class Postings:
    """Kept in step row by row. A term without rows does not exist."""

    def __init__(self) -> None:
        self._terms: dict[str, _Posting] = {}
        self.total_length = 0
        self.rows = 0

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, row: int, terms: Iterable[str]) -> int:
        """Index `terms` under `row`; returns the row's length in terms."""
        counts = Counter(terms)
        for term, count in counts.items():
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = _Posting()
            posting.rows.append(row)
            posting.counts.append(count)
        length = counts.total()
        self.total_length += length
        self.rows += 1
        return length

    def remove(self, row: int, terms: Iterable[str]) -> None:
        """Take out what `add` put in, given the same terms."""
        counts = Counter(terms)
        for term in counts:
            posting = self._terms[term]
            at = _place(posting.rows, row)
            # The last entry takes the place of the removed one: order within a posting means nothing.
            posting.rows[at], posting.counts[at] = posting.rows[-1], posting.counts[-1]
            posting.rows.pop()
            posting.counts.pop()
            if not posting.rows:
                del self._terms[term]
        self.total_length -= counts.total()
        self.rows -= 1

    def rows_of(self, term: str) -> list[int]:
        posting = self._terms.get(term)
        return [] if posting is None else posting.rows.tolist()

    def rarity(self, term: str) -> float:
        """Inverse document frequency as in BM25 with +1 inside the logarithm, which never is negative."""
        posting = self._terms.get(term)
        found = len(posting.rows) if posting is not None else 0
        return log(1 + (self.rows - found + 0.5) / (found + 0.5))

    def bm25(self, query: Iterable[str], lengths: Array, k1: float, b: float) -> Array:
        """BM25 of every row for the query terms (Robertson and Zaragoza 2009), float32."""
        mean = self.total_length / self.rows if self.rows else 1.0
        norm = (k1 * (1 - b) + (k1 * b / mean) * lengths).astype(np.float32)
        found: list[Array] = []
        gains: list[Array] = []
        for term in query:
            posting = self._terms.get(term)
            if posting is None:
                continue
            rows = np.frombuffer(posting.rows, dtype=np.int32)
            counts = np.frombuffer(posting.counts, dtype=np.int32).astype(np.float32)
            found.append(rows)
            gains.append(np.float32(self.rarity(term) * (k1 + 1)) * counts / (counts + norm[rows]))
        if not found:
            return np.zeros(len(lengths), dtype=np.float32)
        # One pass of bincount over all terms is several times as fast as adding them term by term.
        sums = np.bincount(np.concatenate(found), np.concatenate(gains), len(lengths))
        return sums.astype(np.float32)


def _place(rows: array[int], row: int) -> int:
    """Where a row stands. A common term has it among many: numpy looks through them a hundred times as
    fast."""
    if len(rows) < _MANY:
        return rows.index(row)
    return int(np.argmax(np.frombuffer(rows, dtype=np.int32) == row))
