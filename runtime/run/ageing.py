"""Ageing of one shelf in a maintenance run: derived facts fade, stay for good, or lose their value."""

from __future__ import annotations

from runtime.calls import Account
from runtime.events import MemoryConsolidated
from runtime.facts import Ageing, Shelf
from runtime.memory_service import ageing
from runtime.memory_service.ageing import Standing
from runtime.plan import PlanNode
from runtime.run.services import Services


class ShelfAgeing:
    """One look at a shelf. `done`: what was changed, None where nothing was."""

    def __init__(self, services: Services, node: PlanNode, shelf: Shelf) -> None:
        assert node.memory is not None
        self.shelf, self._services = shelf, services
        self._rules = ageing.rules_of(node.memory.config.lifecycle)
        self._standing: Standing | None = None
        self.done: Ageing | None = None

    @property
    def standing(self) -> Standing:
        """What was found; there is nothing before one has looked."""
        assert self._standing is not None
        return self._standing

    @property
    def due(self) -> bool:
        """Whether something is to be changed."""
        return self._standing is not None and self._standing.wish != Ageing()

    async def look(self) -> bool:
        """See how the derived facts stand; whether something is to be changed."""
        now = self._services.clock.now()
        self._standing = await ageing.standing(self._services.record, self.shelf, now, self._rules)
        return self.due

    async def wanted(self) -> bool:
        """Look, where that is on and time for it, and keep when that was."""
        record, now = self._services.record, self._services.clock.now()
        if not self._rules.enabled:
            return False
        if not ageing.is_due(await ageing.looked(record, self.shelf), now, self._rules):
            return False
        if await self.look():
            return True
        await self._note(self.standing, Ageing(), None)
        return False

    async def carry_out(self, account: Account, actor: str | None = None) -> None:
        """Make the changes, in one transaction with its event, and keep when that was."""
        found = self.standing

        def told(done: Ageing) -> list[MemoryConsolidated]:
            return [
                MemoryConsolidated(
                    at=self._services.clock.now(), run_id=account.run_id, node_id=account.node_id,
                    namespace=self.shelf.namespace, scope=self.shelf.scope, owner=self.shelf.owner,
                    keys=tuple(sorted({*done.retire, *done.empty, *done.promote})),
                    promoted=len(done.promote), faded=len(done.retire), emptied=len(done.empty),
                    batch=account.run_id, part=1, changes=found.changes(done), actor=actor,
                )
            ]  # fmt: skip

        self.done = await account.journal.age_facts(self.shelf, found.wish, told)
        await self._note(found, self.done, account.run_id)

    async def _note(self, before: Standing, done: Ageing, run_id: str | None) -> None:
        now = self._services.clock.now()
        write = ageing.note_of(before, done, now)
        await self._services.record.write_fact(self.shelf, write, now, lambda _written: [], run_id=run_id)
