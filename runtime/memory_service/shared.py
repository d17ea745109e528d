"""What memory and those who use it share: where it is used, and what a context is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runtime.events import ContextItem, ContextSection
from runtime.messages import ToolSpec


class Where(NamedTuple):
    """The step that memory is used in."""

    run_id: str
    node_id: str
    step: int | None


class ForContext(NamedTuple):
    """What memory gives to one context, and what of it goes on the bill.

    `text` is the part that stays the same while nothing changes: pinned blocks and facts that all fit;
    `sections` are its parts. `recall` is what was chosen for the question; it is sent right before the newest
    user message, and `recalled` are its parts. `laid_out`: summaries and plan are in it.
    """

    text: str = ""
    recall: str = ""
    sections: tuple[ContextSection, ...] = ()
    recalled: tuple[ContextSection, ...] = ()
    left_out: tuple[ContextItem, ...] = ()
    warnings: tuple[str, ...] = ()
    laid_out: bool = False


class Beside(NamedTuple):
    """What else can stand in the sections of memory: summaries of what came before, oldest first, the plan
    as it is shown, and the tools that the model is offered."""

    summaries: tuple[str, ...] = ()
    state: str = ""
    tools: Sequence[ToolSpec] = ()


NOTHING = ForContext()
