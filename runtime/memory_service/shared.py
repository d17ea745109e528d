"""What memory and those who use it share: where it is used, and what a context is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.memory.candidates import Candidate
from runtime.messages import ToolSpec

if TYPE_CHECKING:
    from runtime.facts import Fact
    from runtime.memory.payload import Payload

MESSAGE = "message/"
"""Begins the reference of an older message of this session."""
EPISODE = "episode/"
"""Begins the reference of an exchange of another one."""
TWICE = "sent as prior turn"
"""Why an exchange is not sent that comes along from an earlier session anyway."""
SHARE = "no room in its share of the window"
"""Why less comes along of earlier sessions than `priming` allows."""
BUDGET = "priming.token_budget"
"""Why it does not where these tokens are used up."""


class Where(msgspec.Struct, frozen=True):
    """The step that memory is used in."""

    run_id: str
    node_id: str
    step: int | None


class Shown(Protocol):
    """What is shown of memory, in pieces that may give way, and the facts and passages it was chosen from."""

    @property
    def facts(self) -> Sequence[Fact]: ...

    @property
    def episodes(self) -> Sequence[Candidate]: ...

    def payload(self) -> Payload:
        """All that may, blocks excepted."""
        ...

    def without(self, refs: frozenset[str]) -> ForContext:
        """The same without these, each in its place as before."""
        ...


class ForContext(msgspec.Struct, frozen=True):
    """What memory gives to one context, and what of it goes on the bill.

    `text` is the part that stays the same while nothing changes: pinned blocks and facts that all fit;
    `sections` are its parts. `recall` is what was chosen for the question; it is sent right before the newest
    user message, and `recalled` are its parts. `laid_out`: summaries, plan and recalled messages are in it.
    `shown`: what of it may give way, None where nothing may.
    """

    text: str = ""
    recall: str = ""
    sections: tuple[ContextSection, ...] = ()
    recalled: tuple[ContextSection, ...] = ()
    left_out: tuple[ContextItem, ...] = ()
    warnings: tuple[str, ...] = ()
    laid_out: bool = False
    shown: Shown | None = None

    @property
    def refs(self) -> frozenset[str]:
        """References of all that is sent."""
        return frozenset(item.ref for section in (*self.sections, *self.recalled) for item in section.items)


class Beside(msgspec.Struct, frozen=True):
    """What else can stand in the sections of memory: summaries of what came before, oldest first, the plan
    as it is shown, the tools that the model is offered, and older messages, best first. `prior`: references
    of exchanges that are sent as turns of earlier sessions."""

    summaries: tuple[str, ...] = ()
    state: str = ""
    tools: Sequence[ToolSpec] = ()
    passages: tuple[Candidate, ...] = ()
    prior: frozenset[str] = frozenset()


NOTHING = ForContext()
