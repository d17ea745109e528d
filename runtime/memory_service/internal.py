"""Farthing's own facts of an agent: summaries and plans."""

from __future__ import annotations

from typing import Any

from runtime.events import MemoryWrite
from runtime.facts import FactWrite, Kind, Shelf, Written
from runtime.journal import Journal
from runtime.memory_service.shared import Where


class InternalFacts:
    """Facts whose keys begin with `__`: the model neither sees nor writes them."""

    def __init__(self, shelf: Shelf, journal: Journal, where: Where, session_uid: str) -> None:
        self._shelf, self._journal, self._where = shelf, journal, where
        self.session_uid = session_uid

    async def read(self, key: str) -> Any:
        """The value, or None."""
        found = await self._journal.record.facts(self._shelf, keys=[key])
        return found[0].value if found else None

    async def write(self, key: str, value: Any, kind: Kind) -> None:
        """Replace the value."""
        now = self._journal.clock.now()
        write = FactWrite(
            key=key, value=value, kind=kind, origin="derived", valid_from=now, source=self._where.run_id,
            step=self._where.step,
        )  # fmt: skip

        def said(written: Written) -> list[MemoryWrite]:
            return [
                MemoryWrite(
                    at=now, run_id=self._where.run_id, node_id=self._where.node_id, step=self._where.step,
                    namespace=self._shelf.namespace, scope=self._shelf.scope, keys=(key,),
                    outcome=written.outcome, version=written.fact.version, value=value, kind=kind,
                    origin="derived",
                )
            ]  # fmt: skip

        await self._journal.write_fact(self._shelf, write, said)
