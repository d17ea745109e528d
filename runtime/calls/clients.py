"""Open model clients, shared by the runs of a process."""

from __future__ import annotations

from pathlib import Path

from runtime.clock import Clock
from runtime.messages import LanguageModel
from runtime.models.opening import open_model
from runtime.providers import SCRIPTED, Provider


class Clients:
    """Open model clients, one a provider, so that runs share connections. The scripted model is each run's
    own, since it plays its script from the beginning."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, LanguageModel] = {}

    def client(self, provider: Provider, script: Path | None = None) -> LanguageModel:
        """The client of a provider. Raises BadInput for a script that cannot be used."""
        if provider.name == SCRIPTED:
            return open_model(provider, self._clock, script=script)
        client = self._open.get(provider.name)
        if client is None:
            client = self._open[provider.name] = open_model(provider, self._clock)
        return client

    async def close(self) -> None:
        """Let go of every connection."""
        clients, self._open = list(self._open.values()), {}
        for client in clients:
            await client.close()
