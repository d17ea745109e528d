"""Facts governed by people: undo, settling, moving, import, and erasing down to the bytes of the file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import cast

import msgspec

from runtime.events import Entry, Event
from runtime.facts import Ageing, Erase, Erased, FactChange, Imported, Made, Origin, Shelf, Shelved, Written
from runtime.record import BuildAged, BuildErased, BuildImported, BuildMade, BuildWritten
from runtime.store.sqlite.base import SqliteBase
from runtime.store.sqlite.sweeping import sweep
from runtime.store.verbs import ageing, changing, erasing, governing


class SqliteGoverning(SqliteBase):
    """The verbs of `runtime.record.Record` by which people govern facts."""

    async def undo_fact(
        self, shelf: Shelf, key: str, actor: str | None, at: datetime, build: BuildWritten
    ) -> tuple[Written, tuple[Entry, ...]]:
        uid = self._clock.new_id()
        answer = await self._do(lambda rows: governing.undo_fact(rows, shelf, key, actor, at, build, uid))
        return cast("tuple[Written, tuple[Entry, ...]]", answer)

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
        answer = await self._do(
            lambda rows: governing.settle_fact(rows, shelf, key, keep, origin, actor, at, build, uid)
        )
        return cast("tuple[Written, tuple[Entry, ...]]", answer)

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
        uid = self._clock.new_id()
        answer = await self._do(
            lambda rows: ageing.age_facts(rows, shelf, wish, receipt, at, build, run_id, uid)
        )
        return cast("tuple[Ageing, tuple[Entry, ...]]", answer)

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
        answer = await self._do(
            lambda rows: changing.change_facts(rows, shelf, changes, at, build, quiet, uid), durable=True
        )
        return cast("tuple[tuple[Made, ...], tuple[Entry, ...]]", answer)

    async def erase_facts(
        self, shelf: Shelf, wish: Erase, build: BuildErased
    ) -> tuple[Erased, tuple[Entry, ...]]:
        uid = self._clock.new_id()
        reached: erasing.Reached = await self._do(
            lambda rows: erasing.erase_facts(rows, shelf, wish, build, uid), durable=True
        )
        if wish.preview:
            return reached.erased, ()
        swept = await asyncio.to_thread(sweep, self.path, reached.traces, self._busy_ms)
        erased = msgspec.structs.replace(reached.erased, swept=swept.done, remains=swept.remains)
        return erased, reached.entries

    async def move_facts(
        self, shelf: Shelf, to: Shelf, keys: Sequence[str], at: datetime, events: Sequence[Event]
    ) -> tuple[Entry, ...]:
        uids = [self._clock.new_id() for _ in range(2)]
        answer = await self._do(lambda rows: governing.move_facts(rows, shelf, to, keys, at, events, uids))
        return cast("tuple[Entry, ...]", answer)

    async def import_facts(
        self, items: Sequence[Shelved], at: datetime, build: BuildImported, *, keep_ours: bool = False
    ) -> tuple[Imported, tuple[Entry, ...]]:
        uids = [self._clock.new_id() for _ in items]
        answer = await self._do(lambda rows: governing.import_facts(rows, items, at, build, keep_ours, uids))
        return cast("tuple[Imported, tuple[Entry, ...]]", answer)
