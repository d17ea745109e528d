"""Growing numpy columns, one row an item. Row 0 is empty for ever: it stands for "no neighbour"."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# What is used as an index has the type of one: another would be converted at every recall.
_FIELDS = {
    "alive": "bool",
    "start": "float64",
    "end": "float64",
    "tokens": "int32",
    "factor": "float32",
    "length": "float32",
    "speaker": "intp",
    "session": "intp",
    "before": "intp",
    "after": "intp",
    "by_user": "bool",
    "standing": "bool",
    "digest": "int64",
}


class Runs(NamedTuple):
    """Rows of one session that follow one another, as one; a row without a session is a run of its own.

    `starts`: first row of each run; `lengths`; `sessions`: codes.
    """

    starts: Array
    lengths: Array
    sessions: Array

    @classmethod
    def of(cls, sessions: Array) -> Runs:
        """The runs of at least one row, given the code of each row's session."""
        edge = sessions[1:] != sessions[:-1]
        edge |= sessions[1:] == 0
        ends = np.flatnonzero(edge)
        ends += 1
        bounds = np.concatenate([[0], ends, [len(sessions)]])
        return cls(bounds[:-1], np.diff(bounds), sessions.take(bounds[:-1]))


class Columns:
    """Rows are handed out by `take` and returned by `give`; a column reaches to the highest row ever in use.

    `start` and `end` are POSIX seconds (the interval in which the item is current), `tokens` its cost,
    `factor` its length penalty, `length` its number of terms, `speaker` and `session` codes (0: none),
    `before` and `after` rows of neighbours, `digest` a checksum of speaker and text.
    """

    def __init__(self) -> None:
        self._data: dict[str, Array] = {name: np.zeros(64, dtype=kind) for name, kind in _FIELDS.items()}
        self._free: list[int] = []
        self._runs: Runs | None = None
        self.size = 1

    def take(self) -> int:
        """A blank row."""
        self._runs = None
        if self._free:
            return self._free.pop()
        if self.size == len(self._data["alive"]):
            for name, column in self._data.items():
                self._data[name] = np.concatenate([column, np.zeros_like(column)])
        self.size += 1
        return self.size - 1

    def give(self, row: int) -> None:
        """Blank a row and hand it back."""
        self._runs = None
        for column in self._data.values():
            column[row] = 0
        self._free.append(row)

    def set(self, row: int, **values: float) -> None:
        if "session" in values:
            self._runs = None
        for name, value in values.items():
            self._data[name][row] = value

    def link(self, before: int, after: int) -> None:
        """Make two rows neighbours; 0 on either side is the end of a session."""
        if before:
            self._data["after"][before] = after
        if after:
            self._data["before"][after] = before

    def __getitem__(self, name: str) -> Array:
        return self._data[name][: self.size]

    def runs(self) -> Runs:
        """Of all rows."""
        if self._runs is None:
            self._runs = Runs.of(self["session"])
        return self._runs
