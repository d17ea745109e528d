"""The rows under way, as a tree: where each event belongs, and when a row ends."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from runtime import events as ev
from runtime.cli.timeline_row import Kind, Row


class Draft:
    """A row under way, with the drafts below it."""

    __slots__ = ("below", "closing", "end", "fields", "parent")

    def __init__(self, parent: Draft | None, **fields: Any) -> None:
        self.fields = fields
        self.parent = parent
        self.below: list[Draft] = []
        self.closing = False
        self.end = False
        if parent is not None:
            parent.below.append(self)

    def row(self) -> Row:
        return Row(**self.fields)


class Tree:
    """Runs, nodes, calls and tools of one session by the names that events give them."""

    def __init__(self) -> None:
        self.top: list[Draft] = []
        self.runs: dict[str | None, Draft] = {}
        self.nodes: dict[tuple[str | None, str], Draft] = {}
        self.calls: dict[tuple[str | None, str], Draft] = {}
        self.tools: dict[tuple[str | None, str], Draft] = {}
        self.steps: dict[tuple[str | None, str | None, int | None], Draft] = {}
        self.opened: dict[str | None, list[Draft]] = {}
        self.closing: dict[tuple[str | None, str | None], Draft] = {}
        self.left_out: dict[tuple[str | None, str | None, int | None], int] = {}

    def new(self, kind: Kind, seq: int, event: ev.Base, parent: Draft | None, **fields: Any) -> Draft:
        run = self.runs.get(event.run_id)
        began = run.fields["at"] if run is not None else event.at
        draft = Draft(
            parent,
            seq=seq,
            kind=kind,
            depth=parent.fields["depth"] + 1 if parent is not None else 0,
            at=event.at,
            offset_ms=milliseconds(began, event.at),
            run_id=event.run_id,
            node_id=event.node_id,
            step=event.step,
            **{"state": "done", **fields},
        )
        if parent is None:
            self.top.append(draft)
        if fields.get("state") in {"running", "waiting"}:
            self.opened.setdefault(event.run_id, []).append(draft)
        return draft

    def run(self, seq: int, event: ev.Base) -> Draft | None:
        if event.run_id is None:
            return None
        run = self.runs.get(event.run_id)
        if run is None:
            run = self.runs[event.run_id] = self.new("run", seq, event, None, what="run", state="running")
        return run

    def node(self, seq: int, event: ev.Base) -> Draft | None:
        """The open node of an event, else its run. A node inside a body (`loop/agent`) is below the body."""
        node_id = event.node_id
        while node_id:
            node = self.nodes.get((event.run_id, node_id))
            if node is not None:
                return node
            node_id = node_id.rpartition("/")[0]
        return self.run(seq, event)

    def below_step(self, seq: int, event: ev.Base) -> Draft | None:
        step = self.steps.get((event.run_id, event.node_id, event.step))
        return step if step is not None and event.step is not None else self.node(seq, event)

    def call(self, seq: int, event: Any, *, fresh: bool) -> Draft:
        """The draft of a model call; `fresh`: the event begins one, unless it is open already."""
        key = (event.run_id, event.call)
        draft = self.calls.get(key)
        if draft is None or (fresh and (draft.end or draft.closing)):
            node = self.node(seq, event)
            place = (event.run_id, event.node_id, event.step)
            purpose = getattr(event, "purpose", "main")
            draft = self.calls[key] = self.new(
                "call", seq, event, node, what=purpose, purpose=purpose, state="running"
            )
            draft.fields["left_out"] = self.left_out.pop(place, 0)
            self.steps[place] = draft
            while node is not None:
                node.fields["calls"] = node.fields.get("calls", 0) + 1
                node = node.parent
        return draft

    def settle(self, event: ev.Base) -> list[Draft]:
        """A call that is closing ends with the first event of its node that is not about the call."""
        place = (event.run_id, event.node_id)
        closing = self.closing.get(place)
        if closing is None or _about(closing, self.calls, event):
            return []
        del self.closing[place]
        closing.end = True
        return [closing]

    def close(self, draft: Draft, event: ev.Base, state: str) -> None:
        if draft.fields["state"] in {"running", "waiting"}:
            draft.fields["state"] = state
        if draft.fields.get("ms") is None:
            draft.fields["ms"] = milliseconds(draft.fields["at"], event.at)


def milliseconds(begin: datetime, end: datetime) -> int:
    """Whole milliseconds between two times, never negative."""
    return max(0, round((end - begin).total_seconds() * 1000))


def _about(call: Draft, calls: dict[tuple[str | None, str], Draft], event: Any) -> bool:
    """Whether the event still belongs to this call."""
    if isinstance(event, ev.AgentResponse) and event.call is None:
        return bool(call.fields["step"] == event.step)
    if isinstance(event, (ev.AgentResponse, ev.AgentUsage, ev.BudgetSettled, ev.BudgetReleased)):
        return calls.get((event.run_id, event.call or "")) is call
    return False
