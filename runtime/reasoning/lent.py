"""Tools that a flow's tool nodes lend to an agent: carried out, or in a rehearsal answered for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from runtime.clock import Clock
from runtime.memory_service import Where
from runtime.messages import ToolSpec
from runtime.tools.results import text_of

if TYPE_CHECKING:
    from runtime.tools.attached import Attached

SHOWN_CHARS = 200
"""How much of the arguments a stub repeats."""
REHEARSAL = "[rehearsal]"


@runtime_checkable
class AnswersForTools(Protocol):
    """A scripted model whose script also says what tools give in a rehearsal."""

    def tool_result(self, tool: str) -> Any:
        """The next result for this tool. Raises LookupError where the script has none left, ToolFailure where
        it says that the tool fails."""
        ...


class LentTool(msgspec.Struct, frozen=True):
    """A function as an agent has it. `rehearsed`: it is not called; `script` answers for it, or a stub that
    says what would have been called."""

    attached: Attached
    clock: Clock
    rehearsed: bool = False
    script: AnswersForTools | None = None

    @property
    def spec(self) -> ToolSpec:
        return self.attached.spec

    @property
    def effect(self) -> str:
        return self.attached.effect

    async def call(self, arguments: Mapping[str, Any], where: Where, key: str) -> Any:
        """Its result as a JSON value. Raises FarthingError with what went wrong."""
        from runtime.tools.function import ToolContext

        context = ToolContext(
            clock=self.clock,
            run_id=where.run_id,
            node_id=where.node_id,
            step=where.step,
            key=f"{where.run_id}/{key}",
            folder=self.attached.folder,
        )
        if self.rehearsed:
            self.attached.function.bind(arguments, context)
            return self._rehearse(arguments)
        return await self.attached.call(arguments, context)

    def _rehearse(self, arguments: Mapping[str, Any]) -> Any:
        if self.script is not None:
            try:
                return self.script.tool_result(self.attached.name)
            except LookupError:
                pass
        shown = text_of(dict(arguments))
        more = "…" if len(shown) > SHOWN_CHARS else ""
        return f"{REHEARSAL} {self.attached.name} would have been called with {shown[:SHOWN_CHARS]}{more}"
