"""A session's events folded into rows: one for each run, node, model call and tool, and for whatever a
person must see. Pure; the terminal, the studio and the exports draw the same rows."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.cli.timeline_events import HANDLERS, unknown
from runtime.cli.timeline_row import Kind, Row
from runtime.cli.timeline_tree import Tree
from runtime.events import Event, Unknown

__all__ = ["Kind", "Row", "Timeline", "fold"]


class Timeline:
    """The fold. `add` takes the events of one session in order and returns the rows that are news now:
    those that ended, and those that a person must see at once. `rows` gives all so far, as a tree."""

    def __init__(self) -> None:
        self._tree = Tree()

    def add(self, seq: int, event: Event | Unknown) -> tuple[Row, ...]:
        """Take one event; the rows that are news."""
        if isinstance(event, Unknown):
            return (unknown(self._tree, seq, event).row(),)
        news = self._tree.settle(event)
        handle = HANDLERS.get(type(event))
        if handle is not None:
            news.extend(handle(self._tree, seq, event))
        return tuple(draft.row() for draft in news)

    def rows(self, run_id: str | None = None) -> list[Row]:
        """Every row so far, or those of one run, depth first, in the order in which they began."""
        found: list[Row] = []
        top = self._tree.top if run_id is None else [self._tree.runs[run_id]]
        stack = list(reversed(top))
        while stack:
            draft = stack.pop()
            found.append(draft.row())
            stack.extend(reversed(draft.below))
        return found


def fold(events: Iterable[tuple[int, Event | Unknown]]) -> list[Row]:
    """All rows of a session's events."""
    timeline = Timeline()
    for seq, event in events:
        timeline.add(seq, event)
    return timeline.rows()
