"""What an agent's loop needs of the run it is part of, and how a strategy asks for a call."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from runtime.calls import Account, Gate
from runtime.facts import Kind
from runtime.memory_service import MemoryService
from runtime.messages import Message, OnDelta, Purpose, ToolSpec
from runtime.reasoning.toolbox import Toolbox


class Internal(Protocol):
    """Farthing's own facts of an agent, in the scope of its Memory; the model cannot write them."""

    @property
    def session_uid(self) -> str: ...

    async def read(self, key: str) -> Any:
        """The value, or None."""
        ...

    async def write(self, key: str, value: Any, kind: Kind) -> None:
        """Replace the value."""
        ...


class Desk(Protocol):
    """What an agent needs of the run it is part of."""

    @property
    def account(self) -> Account: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def memory(self) -> MemoryService | None: ...

    @property
    def toolbox(self) -> Toolbox: ...

    @property
    def internal(self) -> Internal: ...

    @property
    def on_delta(self) -> OnDelta | None: ...

    def side_account(self, model: str | None) -> Account:
        """Who pays for a side call: the agent's own account, with another model where one is named."""
        ...

    async def history(self, *, last: int | None = None) -> list[Message]: ...

    def fall_back(self) -> bool:
        """Go over to the next model; False where there is none."""
        ...

    def take_step(self) -> int:
        """The next step's number in this agent; raises BoundReached at the run's own bound."""
        ...


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One model call of a step, as a strategy wants it. `after` are messages for this call alone."""

    purpose: Purpose = "main"
    extra: str = ""
    after: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    schema: dict[str, Any] | None = None
    stream: bool = True
    hold_for: int = 1
    keep_hold: bool = False
    carries: str | None = None
