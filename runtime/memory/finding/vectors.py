"""Embedding vectors of rows and their cosine with a query, the corpus mean subtracted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.memory.finding.columns import Array


class Vectors:
    """A growing float32 matrix of unit vectors, one a row; rows without a vector are all zero.

    The mean is taken anew when the number of vectors has changed by a twentieth: static embeddings share a
    large common part, which hides what tells texts apart.
    """

    def __init__(self) -> None:
        self._rows: Array = np.zeros((0, 0), dtype=np.float32)
        self._sum: Array = np.zeros(0, dtype=np.float64)
        self._mean: Array = np.zeros(0, dtype=np.float32)
        self._scales: Array = np.zeros(0, dtype=np.float32)
        self._present: Array = np.zeros(0, dtype=np.bool_)
        self._count = 0
        self._counted = -1

    def __len__(self) -> int:
        return self._count

    def set(self, row: int, vector: Sequence[float] | Array) -> None:
        """Keep `vector` (any length but one and the same for all rows; not all zero counts) under `row`."""
        unit = _unit(np.asarray(vector, dtype=np.float32))
        if not len(self._sum):
            self._sum = np.zeros(len(unit), dtype=np.float64)
            self._rows = np.zeros((0, len(unit)), dtype=np.float32)
        self._grow(row + 1)
        self.drop(row)
        self._rows[row] = unit
        self._present[row] = bool(unit.any())
        self._count += int(self._present[row])
        self._sum += unit
        if self._counted >= 0:
            self._scales[row] = 1 / max(float(np.linalg.norm(unit - self._mean)), 1e-6) if unit.any() else 0

    def drop(self, row: int) -> None:
        """Zero a row."""
        if row < len(self._rows) and self._present[row]:
            self._sum -= self._rows[row]
            self._rows[row] = 0
            self._scales[row] = 0
            self._present[row] = False
            self._count -= 1
            # The mean is taken anew at once: nothing of an erased vector may stay in it.
            self._counted = -1

    def cosines(self, query: Sequence[float] | Array, size: int) -> Array:
        """Cosine of the centred query with each centred row, for the first `size` rows; 0 without a
        vector."""
        self._grow(size)
        self._refresh()
        aim = _unit(_unit(np.asarray(query, dtype=np.float32)) - self._mean)
        raw: Array = self._rows[:size] @ aim
        raw -= np.float32(self._mean @ aim)
        raw *= self._scales[:size]
        return raw

    def _refresh(self) -> None:
        if self._counted >= 0 and abs(self._count - self._counted) * 20 <= self._counted:
            return
        self._mean = (self._sum / max(self._count, 1)).astype(np.float32)
        # |v - m|² = |v|² - 2 v·m + |m|², and |v| is 1.
        square = 1 - 2 * (self._rows @ self._mean) + float(self._mean @ self._mean)
        scales = np.where(self._present, 1 / np.sqrt(np.maximum(square, 1e-12)), 0)
        self._scales = scales.astype(np.float32)
        self._counted = self._count

    def _grow(self, size: int) -> None:
        have = len(self._rows)
        if size <= have:
            return
        extra = max(size, 2 * have, 64) - have
        self._rows = np.concatenate([self._rows, np.zeros((extra, self._rows.shape[1]), dtype=np.float32)])
        self._scales = np.concatenate([self._scales, np.zeros(extra, dtype=np.float32)])
        self._present = np.concatenate([self._present, np.zeros(extra, dtype=np.bool_)])


def _unit(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
