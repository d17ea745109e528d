"""Facts governed by people, in memory: undo, settling, erasing, moving, import."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from runtime.clock import Clock
from runtime.events import Entry, Event
from runtime.facts import Ageing, Erase, Erased, FactChange, Imported, Made, Origin, Shelf, Shelved, Written
from runtime.record import BuildAged, BuildErased, BuildImported, BuildMade, BuildWritten
from runtime.store.verbs import ageing, changing, erasing, governing

T = TypeVar("T")


class MemoryGoverning(ABC):
    """The verbs of `runtime.record.Record` by which people govern facts."""

    _clock: Clock

    @abstractmethod
    def _do(self, verb: Callable[..., T], *args: Any) -> T:
        """Carry out a verb, whole or not at all."""

    async def undo_fact(
        self, shelf: Shelf, key: str, actor: str | None, at: datetime, build: BuildWritten
    ) -> tuple[Written, tuple[Entry, ...]]:
        return self._do(governing.undo_fact, shelf, key, actor, at, build, self._clock.new_id())

    async def settle_fact(
        self,
        shelf: Shelf,
        key: str,
        keep: int,
        origin: Origin,
        actor: str | None,
        at: datetime,
        build: BuildWritten,
    ) -> tuple[Written, tuple[Entry, ...]]:
        uid = self._clock.new_id()
        return self._do(governing.settle_fact, shelf, key, keep, origin, actor, at, build, uid)

    async def age_facts(
        self,
        shelf: Shelf,
        wish: Ageing,
        receipt: str,
        at: datetime,
        build: BuildAged,
        *,
        run_id: str | None,
    ) -> tuple[Ageing, tuple[Entry, ...]]:
        return self._do(ageing.age_facts, shelf, wish, receipt, at, build, run_id, self._clock.new_id())

    async def change_facts(
        self,
        shelf: Shelf,
        changes: Sequence[FactChange],
        at: datetime,
        build: BuildMade,
        *,
        quiet: bool = True,
    ) -> tuple[tuple[Made, ...], tuple[Entry, ...]]:
        uid = self._clock.new_id()
        return self._do(changing.change_facts, shelf, changes, at, build, quiet, uid)

    async def erase_facts(
        self, shelf: Shelf, wish: Erase, build: BuildErased
    ) -> tuple[Erased, tuple[Entry, ...]]:
        erased, entries, _ = self._do(erasing.erase_facts, shelf, wish, build, self._clock.new_id())
        return erased, entries

    async def move_facts(
        self, shelf: Shelf, to: Shelf, keys: Sequence[str], at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        uids = [self._clock.new_id() for _ in range(2)]
        return self._do(governing.move_facts, shelf, to, keys, at, events, uids)

    async def import_facts(
        self, items: Sequence[Shelved], at: datetime, build: BuildImported, *, keep_ours: bool = False
    ) -> tuple[Imported, tuple[Entry, ...]]:
        uids = [self._clock.new_id() for _ in items]
        return self._do(governing.import_facts, items, at, build, keep_ours, uids)
