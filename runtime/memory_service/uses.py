"""What of one shelf a run uses: each fact and past exchange that is sent to the model or read by it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from runtime.facts import INTERNAL_PREFIX, Fact, Shelf
from runtime.memory.candidates import Candidate
from runtime.record import Access, Fading


def access_key(ref: str) -> str:
    """Under which key the accesses of a past exchange are counted; the model writes no such key."""
    return f"{INTERNAL_PREFIX}{ref}"


class Uses:
    """Each item counts once a run. Past exchanges are counted where they fade, by `lifecycle`."""

    def __init__(self, lifecycle: Any) -> None:
        self._rules = lifecycle
        self._since: dict[str, datetime | None] = {}

    def facts(self, facts: Iterable[Fact]) -> None:
        """These facts were used."""
        for fact in facts:
            fades = self._rules.enabled and fact.origin == "derived"
            self._since[fact.key] = fact.recorded_at if fades else None

    def exchanges(self, exchanges: Iterable[Candidate]) -> None:
        """These past exchanges were used."""
        if self._rules.enabled:
            self._since |= {access_key(each.ref): each.at for each in exchanges}

    def accesses(self, shelf: Shelf, at: datetime) -> list[Access]:
        """What was used, in the order of the keys."""
        return [
            Access(shelf, key, 1, at, fading=self._fading(self._since[key])) for key in sorted(self._since)
        ]

    def _fading(self, since: datetime | None) -> Fading | None:
        return None if since is None else Fading(self._rules.decay_rate, self._rules.access_boost, since)
