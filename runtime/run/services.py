"""What runs share in one process: the store, the settings, the gate, the models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runtime.calls import Clients, Gate
from runtime.clock import Clock
from runtime.ledger import Rule
from runtime.memory_service.indexes import Indexes
from runtime.messages import LanguageModel, TokenCounter
from runtime.providers import ModelName, Provider
from runtime.record import Record
from runtime.registry import Registry, installed
from runtime.run.maintenance import Maintenance
from runtime.secrets.redact import Redactor
from runtime.settings import Settings

if TYPE_CHECKING:
    from runtime.tools.registry import ToolRegistry

OnDelta = Callable[[str, str], None]
"""Called with a node's id and a piece of its answer as it comes."""


class Assignment(msgspec.Struct, frozen=True):
    """Which model a node uses and which limits govern it."""

    provider: Provider
    model: ModelName
    client: LanguageModel
    rules: tuple[Rule, ...]


Assignments = dict[str, tuple[Assignment, ...]]
"""By node id: the node's model, then its fallbacks in order."""


def side(node_id: str) -> str:
    """Under which name the model of a node's side calls is assigned."""
    return f"{node_id}@side"


class Services:
    """Made once a process; `close` lets go of connections."""

    def __init__(
        self,
        record: Record,
        settings: Settings,
        clock: Clock,
        *,
        registry: Registry | None = None,
        counter: TokenCounter | None = None,
        clients: Clients | None = None,
        tools: ToolRegistry | None = None,
    ) -> None:
        self.record, self.settings, self.clock = record, settings, clock
        self.registry = registry or installed()
        self.indexes = Indexes()
        self.maintenance = Maintenance()
        self.clients = clients or Clients(clock)
        secrets = settings.secrets_values()
        self.redactor = Redactor(secrets) if secrets else None
        self.gate = Gate(counter or _counter(), clock, self.redactor)
        self._tools = tools

    def find_tools(self) -> ToolRegistry:
        """The tools that flows can name; none is loaded before a flow names one."""
        if self._tools is None:
            from runtime.tools.registry import installed_tools

            self._tools = installed_tools(self.settings.tool_files)
        return self._tools

    async def close(self) -> None:
        """Let maintenance end, then let go of model connections and the store."""
        try:
            await self.rest()
        finally:
            await self.record.close()

    async def rest(self) -> None:
        """Let maintenance end, then let go of model connections; the store stays open."""
        try:
            await self.maintenance.idle()
        finally:
            await self.clients.close()


def _counter() -> TokenCounter:
    from runtime.models.counter import HeuristicCounter

    return HeuristicCounter()


def script_beside(flow_path: Path | None) -> Path | None:
    """`NAME.script.json` beside `NAME.json`, where there is one."""
    if flow_path is None:
        return None
    script = flow_path.with_name(flow_path.name.removesuffix(".json") + ".script.json")
    return script if script.is_file() else None
