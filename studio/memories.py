"""Which Memory serves which node, by the documents that runs went by; compiled ones are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from runtime.errors import FarthingError
from runtime.facts import Shelf
from runtime.plan import MemoryBinding, read_plan
from runtime.record import RunLine, SessionFilter
from runtime.run.services import Services

LATEST_RUNS = 20
"""Runs of a flow's latest session that are looked at for a document that is still kept."""
MOST_KEPT = 200
"""Documents that are kept compiled; the one that was used longest ago makes room."""

Bindings = Mapping[str, MemoryBinding]
"""The Memory of each node that has one, by the node's id."""


class Memories:
    """Memories of flows as they were run."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._kept: OrderedDict[str, Bindings] = OrderedDict()

    async def of_run(self, run: RunLine) -> Bindings:
        """Those of a run's document; none where it is not kept, or cannot be compiled here."""
        found = self._kept.get(run.flow_hash)
        if found is None:
            raw = await self._services().record.flow_bytes(run.flow_hash)
            found = {} if raw is None else self._compiled(raw)
        self._kept[run.flow_hash] = found
        self._kept.move_to_end(run.flow_hash)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    async def of_flow(self, shelf: Shelf, flow_id: str, user_id: str | None) -> Bindings:
        """Those of a flow as this user last ran it, that keep their facts on such a shelf."""
        record = self._services().record
        if user_id is None:
            return {}
        which = SessionFilter(shelf.partition, user_id, flow_id, limit=1)
        for session in await record.sessions(which):
            for run in list(reversed(await record.runs(session.uid)))[:LATEST_RUNS]:
                found = {name: each for name, each in (await self.of_run(run)).items() if _fits(each, shelf)}
                if found:
                    return found
        return {}

    def default(self) -> Any:
        """A Memory node's config as it is where nothing is set."""
        kind = self._services().registry.get("memory")
        assert kind is not None
        return kind.config()

    def _compiled(self, raw: bytes) -> Bindings:
        try:
            plan = read_plan(raw, self._services().registry, lambda: None)
        except FarthingError:  # a node type of it may be gone
            return {}
        return {node.id: node.memory for node in plan.nodes if node.memory is not None}


def _fits(binding: MemoryBinding, shelf: Shelf) -> bool:
    return (binding.namespace, binding.config.scope) == (shelf.namespace, shelf.scope)
