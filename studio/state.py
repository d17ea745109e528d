"""What the routes of one server share. Settings are read anew when they change; all else stays."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from runtime.calls import Clients
from runtime.errors import BadSettings, FarthingError
from runtime.record import Record
from runtime.run.services import Services
from runtime.settings import Settings
from studio.consolidations import Consolidations
from studio.doors import Doors
from studio.feeds import Feeds
from studio.folder import Folder
from studio.limits import Limits
from studio.memories import Memories
from studio.runs import Runs
from studio.tokens import Tokens, tokens_path

log = logging.getLogger("farthing.studio")
REAP_S = 5.0
"""How often runs of processes that died are looked for and ended."""
DRAIN_S = 1.2
"""How long the end of cancelled runs is waited for when the server stops."""

ReadSettings = Callable[[], Settings]


class Studio:
    """One server's parts. `read_settings` null: the settings stay as they are."""

    def __init__(
        self,
        services: Services,
        folder: Path,
        *,
        port: int = 0,
        read_settings: ReadSettings | None = None,
    ) -> None:
        self.services = services
        self.folder = Folder(folder)
        self.port = port
        self.tokens = Tokens(tokens_path(services.settings.data), services.clock)
        self.doors = Doors(services.clock, self.tokens, lambda: self.port)
        self.runs = Runs()
        self.feeds = Feeds(services.record, self.runs)
        self.runs.publish = self.feeds.publish
        self.saving = asyncio.Lock()
        self._read_settings = read_settings
        self._old_clients: list[Clients] = []
        self.limits = Limits(lambda: self.services)
        self.memories = Memories(lambda: self.services)
        self.consolidations = Consolidations(lambda: self.services)
        self.trouble: str | None = None
        self._cancelled = 0
        self._reaper: asyncio.Task[None] | None = None

    @property
    def record(self) -> Record:
        return self.services.record

    @property
    def settings(self) -> Settings:
        return self.services.settings

    def refresh(self) -> None:
        """Read the settings again; runs under way keep those that they began with. Settings that cannot be
        used leave the old ones in force, and `trouble` says why."""
        if self._read_settings is None:
            return
        try:
            settings = self._read_settings()
        except BadSettings as error:
            self.trouble = str(error)
            return
        self.trouble = None
        old = self.services
        if settings == old.settings:
            return
        self._old_clients.append(old.clients)
        self.services = Services(
            old.record, settings, old.clock, registry=old.registry, counter=old.gate.counter
        )

    async def start(self) -> None:
        """Begin what goes on beside the requests."""
        self._reaper = asyncio.create_task(self._reap())

    def stop(self) -> int:
        """End every stream and cancel every run, at once; how many runs there were."""
        self.feeds.stop()
        self._cancelled = max(self._cancelled, self.runs.cancel_all())
        return self._cancelled

    async def close(self) -> None:
        """Wait for cancelled runs, and let go of connections. The record is its opener's to close."""
        running = self.stop()
        late = await self.runs.drain(DRAIN_S)
        if running:
            what = "One running run was" if running == 1 else f"{running} running runs were"
            log.warning("%s cancelled%s.", what, f", and {late} have not ended yet" if late else "")
        if self._reaper is not None:
            self._reaper.cancel()
            await asyncio.wait([self._reaper])
        await self.services.maintenance.stop()
        await self.consolidations.idle()
        for clients in (*self._old_clients, self.services.clients):
            with contextlib.suppress(Exception):
                await clients.close()

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(REAP_S)
            try:
                for ended in await self.record.reap():
                    log.warning("run %s was interrupted: its process died", ended.run_id)
            except FarthingError as error:
                log.error("looking for interrupted runs failed: %s", error)
