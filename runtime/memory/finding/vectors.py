"""Embedding vectors of rows and their cosine with a query, the corpus mean subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from runtime.memory.finding.columns import Array

_BLOCK = 16_384
"""Rows of a block of memory: one more is taken without copying those there are."""
_AT_ONCE = 1024
"""Rows of one product. With 256 numbers a row it is small enough for BLAS to stay on one thread: a second
one would cost as much again in waiting, for memory is what is slow here."""
_HEAD = 64
"""First numbers of a vector, kept apart: a quarter of the memory to read where all rows are compared.
Embeddings trained to be cut short carry most at the front; of any others it is a sample."""
_SAMPLES, _SAMPLE = 16, 64
"""Samples on which the rough cosines are held against the exact ones, and the rows of one: neighbours in
memory are read several times as fast as rows here and there."""


class Vectors:
    """A growing float32 matrix of unit vectors, one a row, in blocks; rows without a vector are all zero.

    The mean is taken anew when the number of vectors has changed by a twentieth: static embeddings share a
    large common part, which hides what tells texts apart.
    """

    def __init__(self, exact_rows: int = 8192) -> None:
        """`exact_rows`: up to so many rows `cosines` compares whole vectors."""
        self._exact_rows = exact_rows
        self._heads: list[Array] = []
        self._tails: list[Array] = []
        self._sum: Array = np.zeros(0, dtype=np.float64)
        self._mean: Array = np.zeros(0, dtype=np.float32)
        self._scales: Array = np.zeros(0, dtype=np.float32)
        self._present: Array = np.zeros(0, dtype=np.bool_)
        self._count = 0
        self._counted = -1

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
            self._sum = np.zeros(units.shape[1], dtype=np.float64)
        self._grow(int(at.max()) + 1)
        for row in at[self._present[at]].tolist():
            self.drop(row)
        there = units.any(axis=1)
        self._write(at, units)
        self._present[at] = there
        self._count += int(there.sum())
        self._sum += units.sum(axis=0, dtype=np.float64)
        if self._counted >= 0:
            away = np.linalg.norm(units - self._mean, axis=1)
            self._scales[at] = np.where(there, 1 / np.maximum(away, 1e-6), 0)

    def drop(self, row: int) -> None:
        """Zero a row."""
        if row < len(self._present) and self._present[row]:
            block, place = divmod(row, _BLOCK)
            self._sum -= np.concatenate([self._heads[block][place], self._tails[block][place]])
            self._heads[block][place] = 0
            self._tails[block][place] = 0
            self._scales[row] = 0
            self._present[row] = False
            self._count -= 1
            # The mean is taken anew at once: nothing of an erased vector may stay in it.
            self._counted = -1

    def aim(self, query: Sequence[float] | Array) -> Array:
        """The query's vector as the others are compared with it: centred, of length 1."""
        self._refresh()
        return _unit(_unit(np.asarray(query, dtype=np.float32)) - self._mean)

    def is_rough(self, size: int) -> bool:
        """Whether `cosines` of so many rows are estimates."""
        return size > self._exact_rows and len(self._sum) > _HEAD

    def cosines(self, aim: Array, size: int) -> Array:
        """Cosine of `aim` with each centred row, for the first `size` rows; 0 without a vector.

        Of more rows than `exact_rows` an estimate by the head of the vectors, with the spread of the exact
        ones: good for choosing those that `exact` is to look at.
        """
        self._grow(size)
        found = _products(self._heads, aim[:_HEAD], size)
        rough = self.is_rough(size)
        if not rough and len(aim) > _HEAD:
            found += _products(self._tails, aim[_HEAD:], size)
        mean = self._mean[:_HEAD] @ aim[:_HEAD] if rough else self._mean @ aim
        found -= np.float32(mean)
        found *= self._scales[:size]
        return self._spread(found, aim) if rough else found

    def exact(self, aim: Array, rows: Array) -> Array:
        """Cosine of `aim` with each of these centred rows; 0 without a vector."""
        blocks, places = np.divmod(rows, _BLOCK)
        units = np.empty((len(rows), len(aim)), dtype=np.float32)
        for block in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == block)
            units[here, :_HEAD] = self._heads[block].take(places[here], axis=0)
            units[here, _HEAD:] = self._tails[block].take(places[here], axis=0)
        found: Array = (units @ aim - np.float32(self._mean @ aim)) * self._scales[rows]
        return found

    def centred(self, rows: Sequence[int]) -> Array:
        """The vectors of these rows, centred, of length 1; zero without a vector."""
        found = np.zeros((len(rows), len(self._sum)), dtype=np.float32)
        for place, row in enumerate(rows):
            if row < len(self._present) and self._present[row]:
                block, at = divmod(row, _BLOCK)
                found[place, :_HEAD] = self._heads[block][at]
                found[place, _HEAD:] = self._tails[block][at]
                found[place] -= self._mean
                found[place] *= self._scales[row]
        return found

    def _spread(self, rough: Array, aim: Array) -> Array:
        """Estimates with the spread that the exact cosines have, by samples of the rows."""
        step = max(1, len(rough) // _SAMPLES // _SAMPLE) * _SAMPLE
        samples = [slice(start, min(start + _SAMPLE, len(rough))) for start in range(0, len(rough), step)]
        by_head = np.concatenate([rough[rows] for rows in samples])
        rest = np.concatenate([self._rest(rows, aim) for rows in samples])
        narrow = float(by_head.std())
        if narrow > 1e-9:
            rough *= np.float32(float((by_head + rest).std()) / narrow)
        return rough

    def _rest(self, rows: slice, aim: Array) -> Array:
        """What the tails of a sample add to the estimates by their heads."""
        block, first = divmod(rows.start, _BLOCK)
        found: Array = self._tails[block][first : first + rows.stop - rows.start] @ aim[_HEAD:]
        found -= np.float32(self._mean[_HEAD:] @ aim[_HEAD:])
        found *= self._scales[rows]
        return found

    def _refresh(self) -> None:
        if self._counted >= 0 and abs(self._count - self._counted) * 20 <= self._counted:
            return
        self._mean = (self._sum / max(self._count, 1)).astype(np.float32)
        size = len(self._present)
        along = _products(self._heads, self._mean[:_HEAD], size)
        along += _products(self._tails, self._mean[_HEAD:], size)
        # |v - m|² = |v|² - 2 v·m + |m|², and |v| is 1.
        square = 1 - 2 * along + float(self._mean @ self._mean)
        scales = np.where(self._present, 1 / np.sqrt(np.maximum(square, 1e-12)), 0)
        self._scales = scales.astype(np.float32)
        self._counted = self._count

    def _write(self, rows: Array, units: Array) -> None:
        blocks, places = np.divmod(rows, _BLOCK)
        for block in np.unique(blocks).tolist():
            here = blocks == block
            self._heads[block][places[here]] = units[here, :_HEAD]
            self._tails[block][places[here]] = units[here, _HEAD:]

    def _grow(self, size: int) -> None:
        width = len(self._sum)
        while len(self._present) < size:
            self._heads.append(np.zeros((_BLOCK, min(width, _HEAD)), dtype=np.float32))
            self._tails.append(np.zeros((_BLOCK, max(width - _HEAD, 0)), dtype=np.float32))
            self._scales = np.concatenate([self._scales, np.zeros(_BLOCK, dtype=np.float32)])
            self._present = np.concatenate([self._present, np.zeros(_BLOCK, dtype=np.bool_)])


def _products(blocks: Sequence[Array], aim: Array, size: int) -> Array:
    """Product of `aim` with each of the first `size` rows."""
    found = np.empty(size, dtype=np.float32)
    for start in range(0, size, _AT_ONCE):
        block, first = divmod(start, _BLOCK)
        part = found[start : start + _AT_ONCE]
        np.matmul(blocks[block][first : first + len(part)], aim, out=part)
    return found


def _unit(vector: Array) -> Array:
    length = sqrt(float(vector @ vector))
    return vector / np.float32(length) if length > 0 else vector


def _units(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Array = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
