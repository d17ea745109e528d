"""Embedding vectors of rows and their cosine with a query, the corpus mean subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from runtime.memory.finding.columns import Array
from runtime.memory.finding.signs import Signs

_BLOCK = 16_384
"""Rows of a block of memory: one more is taken without copying those there are."""
_AT_ONCE = 1024
"""Rows of one product. With 256 numbers a row it is small enough for BLAS to stay on one thread: a second
one would cost as much again in waiting, for memory is what is slow here."""
_NARROW = 128
"""Vectors of up to so many numbers are compared whole: of so few, signs tell too little."""
_GRAIN = 1024
"""The centre's numbers are multiples of one part in so many."""
_SAMPLES, _SAMPLE = 16, 64
"""Samples on which the estimates are held against the exact cosines, and the rows of one: neighbours in
memory are read several times as fast as rows here and there."""


class Vectors:
    """A growing float32 matrix of unit vectors, one a row, in blocks; rows without a vector are all zero.

    What is subtracted, the centre, is the mean, rounded. It is taken anew when the number of vectors has
    changed by a twentieth: static embeddings share a large common part, which hides what tells texts apart.
    """

    def __init__(self, exact_rows: int = 8192) -> None:
        """`exact_rows`: up to so many rows `cosines` compares whole vectors."""
        self._exact_rows = exact_rows
        self._blocks: list[Array] = []
        self._sum: Array = np.zeros(0, dtype=np.float64)
        self._centre: Array = np.zeros(0, dtype=np.float32)
        self._signs = Signs(0, _BLOCK)
        self._scales: Array = np.zeros(0, dtype=np.float32)
        self._present: Array = np.zeros(0, dtype=np.bool_)
        self._count = 0
        self._counted = -1
        self._centred = False

    def __len__(self) -> int:
        return self._count

    def set(self, rows: Sequence[int], vectors: Sequence[Sequence[float] | Array] | Array) -> None:
        """Keep a vector (any length but one and the same for all; one that is all zero counts as none) under
        each of these rows, the last where a row stands here twice."""
        if not len(rows):
            return
        last = {row: place for place, row in enumerate(rows)}
        at = np.fromiter(last, dtype=np.intp, count=len(last))
        units = _units(np.asarray(vectors, dtype=np.float32)[list(last.values())])
        if not len(self._sum):
            self._sum = np.zeros(units.shape[1])
            self._signs = Signs(units.shape[1], _BLOCK)
        self._grow(int(at.max()) + 1)
        for row in at[self._present[at]].tolist():
            self.drop(row)
        there = units.any(axis=1)
        self._present[at] = there
        self._count += int(there.sum())
        self._sum += units.sum(axis=0, dtype=np.float64)
        blocks, places = np.divmod(at, _BLOCK)
        for block in np.unique(blocks).tolist():
            here = blocks == block
            self._blocks[block][places[here]] = units[here]
            if self._centred:
                self._compare(block, places[here], units[here])

    def drop(self, row: int) -> None:
        """Zero a row."""
        if row < len(self._present) and self._present[row]:
            block, place = divmod(row, _BLOCK)
            self._sum -= self._blocks[block][place]
            self._blocks[block][place] = 0
            self._signs.clear(block, place)
            self._scales[row] = 0
            self._present[row] = False
            self._count -= 1
            # The centre is taken anew at once: nothing of an erased vector may stay in it.
            self._counted = -1

    def aim(self, query: Sequence[float] | Array) -> Array:
        """The query's vector as the others are compared with it: centred, of length 1."""
        self._refresh()
        return _unit(_unit(np.asarray(query, dtype=np.float32)) - self._centre)

    def is_rough(self, size: int) -> bool:
        """Whether `cosines` of so many rows are estimates."""
        return size > self._exact_rows and len(self._sum) > _NARROW

    def cosines(self, aim: Array, size: int) -> Array:
        """Cosine of `aim` with each centred row, for the first `size` rows; 0 without a vector.

        Of more rows than `exact_rows` an estimate by the signs of the vectors, with the spread of the exact
        ones: good for choosing those that `exact` is to look at.
        """
        self._grow(size)
        if self.is_rough(size):
            found = self._spread(self._signs.estimates(aim, size), aim)
            found *= self._present[:size]
            return found
        found = np.empty(size, dtype=np.float32)
        for start in range(0, size, _AT_ONCE):
            self._products(aim, found[start : start + _AT_ONCE], start)
        return self._scaled(found, aim, slice(size))

    def exact(self, aim: Array, rows: Array) -> Array:
        """Cosine of `aim` with each of these centred rows; 0 without a vector."""
        return self._scaled(self._units(rows) @ aim, aim, rows)

    def centred(self, rows: Sequence[int]) -> Array:
        """The vectors of these rows, centred, of length 1; zero without a vector."""
        self._grow(max(rows, default=0) + 1)
        at = np.asarray(rows, dtype=np.intp)
        found: Array = (self._units(at) - self._centre) * self._scales.take(at)[:, None]
        return found

    def _units(self, rows: Array) -> Array:
        blocks, places = np.divmod(rows, _BLOCK)
        if not blocks.any():
            return self._blocks[0].take(places, axis=0)
        units = np.empty((len(rows), len(self._sum)), dtype=np.float32)
        for block in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == block)
            units[here] = self._blocks[block].take(places.take(here), axis=0)
        return units

    def _spread(self, rough: Array, aim: Array) -> Array:
        """Estimates with the mean and the spread that the exact cosines have, by samples of the rows."""
        step = max(1, len(rough) // _SAMPLES // _SAMPLE) * _SAMPLE
        samples = [slice(start, min(start + _SAMPLE, len(rough))) for start in range(0, len(rough), step)]
        there = np.concatenate([self._present[rows] for rows in samples])
        if not there.any():
            return rough
        exact = np.concatenate([self._sample(rows, aim) for rows in samples])[there]
        by_signs = np.concatenate([rough[rows] for rows in samples])[there]
        narrow = float(by_signs.std())
        rough -= by_signs.mean()
        if narrow > 1e-9:
            rough *= np.float32(float(exact.std()) / narrow)
        rough += exact.mean()
        return rough

    def _sample(self, rows: slice, aim: Array) -> Array:
        found = np.empty(rows.stop - rows.start, dtype=np.float32)
        self._products(aim, found, rows.start)
        return self._scaled(found, aim, rows)

    def _products(self, aim: Array, found: Array, start: int) -> None:
        """Product of `aim` with as many rows of one block, from `start` on, as `found` has room for."""
        block, first = divmod(start, _BLOCK)
        np.matmul(self._blocks[block][first : first + len(found)], aim, out=found)

    def _scaled(self, products: Array, aim: Array, rows: Array | slice) -> Array:
        products -= np.float32(self._centre @ aim)
        products *= self._scales[rows]
        return products

    def _refresh(self) -> None:
        if self._counted >= 0 and abs(self._count - self._counted) * 20 <= self._counted:
            return
        self._counted = self._count
        centre = np.rint(self._sum * (_GRAIN / max(self._count, 1))) / _GRAIN
        if self._centred and np.array_equal(centre, self._centre):
            # Nothing that was made with it can be different.
            return
        self._centre, self._centred = centre.astype(np.float32), True
        for block, units in enumerate(self._blocks):
            for first in range(0, _BLOCK, _AT_ONCE):
                self._compare(block, np.arange(first, first + _AT_ONCE), units[first : first + _AT_ONCE])

    def _compare(self, block: int, places: Array, units: Array) -> None:
        """Make what these rows are compared by with the centre there is."""
        moved, rows = units - self._centre, places + block * _BLOCK
        away = np.sqrt(np.einsum("ij,ij->i", moved, moved))
        self._scales[rows] = np.where(self._present[rows], 1 / np.maximum(away, 1e-6), 0)
        self._signs.write(block, places, moved)

    def _grow(self, size: int) -> None:
        width = len(self._sum)
        while len(self._present) < size:
            self._blocks.append(np.zeros((_BLOCK, width), dtype=np.float32))
            self._signs.grow()
            self._scales = np.concatenate([self._scales, np.zeros(_BLOCK, dtype=np.float32)])
            self._present = np.concatenate([self._present, np.zeros(_BLOCK, dtype=np.bool_)])


def _unit(vector: Array) -> Array:
    length = sqrt(float(vector @ vector))
    return vector / np.float32(length) if length > 0 else vector


def _units(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Array = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
