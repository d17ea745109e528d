"""The signs of centred vectors, a bit a number: enough to estimate cosines, a thirty-second of the memory to
read."""

from __future__ import annotations

import numpy as np

from runtime.memory.finding.columns import Array

_WORD = 64
_MOST = 512
"""Numbers of a vector whose signs are kept: of longer ones these are a sample."""


class Signs:
    """Bits by row in blocks, each a matrix of words by rows: one word of all rows lies together."""

    def __init__(self, width: int, block: int) -> None:
        """`width`: numbers of a vector; `block`: rows of a block."""
        self._width, self._block = min(width, _MOST), block
        self._words = -(-self._width // _WORD)
        self._blocks: list[Array] = []

    def grow(self) -> None:
        """Take one more block of rows; their bits are all 0."""
        self._blocks.append(np.zeros((self._words, self._block), dtype=np.uint64))

    def write(self, block: int, places: Array | slice, vectors: Array) -> None:
        """Keep the signs of these centred vectors at places of a block."""
        self._blocks[block][:, places] = self._bits(vectors).T

    def clear(self, block: int, place: int) -> None:
        self._blocks[block][:, place] = 0

    def estimates(self, aim: Array, size: int) -> Array:
        """For the first `size` rows the share of signs that are as in `aim`, from -1, none, to 1, all.

        The share of different signs is the angle between two vectors, in half turns, where their numbers are
        like chance (Charikar 2002).
        """
        found = np.empty(size, dtype=np.float32)
        wanted = self._bits(aim[None])[0]
        different = np.empty(self._block, dtype=np.uint64)
        ones, count = np.empty(self._block, dtype=np.uint8), np.empty(self._block, dtype=np.int16)
        for start, words in zip(range(0, size, self._block), self._blocks, strict=False):
            count[:] = 0
            for word, row in zip(wanted, words, strict=True):
                np.bitwise_xor(row, word, out=different)
                np.bitwise_count(different, out=ones)
                np.add(count, ones, out=count)
            part = found[start : start + self._block]
            np.multiply(count[: len(part)], np.float32(-2 / self._width), out=part)
        found += 1
        return found

    def _bits(self, vectors: Array) -> Array:
        """Rows of words, the numbers beyond the width as if negative."""
        positive = np.zeros((len(vectors), self._words * _WORD), dtype=np.bool_)
        np.greater(vectors[:, : self._width], 0, out=positive[:, : self._width])
        return np.packbits(positive, axis=1).view(np.uint64)
