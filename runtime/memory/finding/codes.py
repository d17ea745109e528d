"""Names as small numbers, counted, so that a name nobody uses any more is forgotten."""

from __future__ import annotations


class Codes:
    """Numbers from 1; 0 stands for no name. Numbers of forgotten names are given out again."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        self._free: list[int] = []

    def take(self, name: str) -> int:
        """The number of `name`, one more use of it."""
        if not name:
            return 0
        if name not in self._codes:
            self._codes[name] = self._free.pop() if self._free else len(self._codes) + 1
        self._uses[name] = self._uses.get(name, 0) + 1
        return self._codes[name]

    def release(self, name: str) -> None:
        """One use less; after the last one the name is forgotten."""
        if not name:
            return
        self._uses[name] -= 1
        if not self._uses[name]:
            del self._uses[name]
            self._free.append(self._codes.pop(name))

    def get(self, name: str) -> int:
        """The number of `name`, or 0."""
        return self._codes.get(name, 0)

    @property
    def limit(self) -> int:
        """One more than the highest number that may be in use."""
        return len(self._codes) + len(self._free) + 1

    def items(self) -> list[tuple[str, int]]:
        return list(self._codes.items())
