"""Leases in memory: of one process, whose tasks exclude each other like processes do."""

from __future__ import annotations

from datetime import datetime

from runtime.record import Lease


class MemoryLeases:
    """The verbs of `runtime.record.Record` for what only one may do at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._leases: dict[str, Lease] = {}

    async def take_lease(self, lease: Lease, at: datetime) -> bool:
        found = self._leases.get(lease.name)
        if found is not None and found.holder != lease.holder and found.until > at:
            return False
        self._leases[lease.name] = lease
        return True

    async def drop_lease(self, lease: Lease) -> None:
        found = self._leases.get(lease.name)
        if found is not None and found.holder == lease.holder:
            del self._leases[lease.name]

    async def lease_held(self, name: str, at: datetime) -> bool:
        found = self._leases.get(name)
        return found is not None and found.until > at
