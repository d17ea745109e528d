"""A session's events folded into rows: one for each run, node, model call and tool, and for whatever a
person must see. Pure; the terminal, the studio and the exports draw the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec

from runtime import events as ev
from runtime.cli.timeline_words import memory_words, short_json
from runtime.usage import Usage

Kind = Literal["run", "node", "call", "tool", "memory", "note", "warning", "stop", "error", "admin"]
TEXT_LIMIT = 2_000
"""Characters of a text that a row keeps; the event has all of it."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a timeline.

    `depth` is its place in the tree run > node > call > tool; `offset_ms` counts from the run's start, `ms`
    is how long it took (null: still under way or of no length), `waited_ms` how long a call waited for a
    budget. `usage` null: nothing was used here; with usage, `cost` null is an unknown cost. `gauges` show the
    budgets after the row; `gauge` is the one that a warning or a stop is about. `calls` counts the model
    calls below a node or a run.
    """

    seq: int
    kind: Kind
    depth: int
    at: datetime
    offset_ms: int = 0
    run_id: str | None = None
    node_id: str | None = None
    step: int | None = None
    what: str = ""
    text: str = ""
    state: str = "done"
    ms: int | None = None
    waited_ms: int = 0
    purpose: str | None = None
    model: str | None = None
    attempt: int = 1
    usage: Usage | None = None
    cost: int | None = None
    unknown: int = 0
    estimated: bool = False
    gauges: tuple[ev.Gauge, ...] = ()
    gauge: ev.Gauge | None = None
    code: str | None = None
    remedy: str | None = None
    left_out: int = 0
    rehearsal: bool = False
    calls: int = 0


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


class Timeline:
    """The fold. `add` takes the events of one session in order and returns the rows that are news now:
    those that ended, and those that a person must see at once. `rows` gives all so far, as a tree."""

    def __init__(self) -> None:
        self._top: list[Draft] = []
        self._runs: dict[str | None, Draft] = {}
        self._nodes: dict[tuple[str | None, str], Draft] = {}
        self._calls: dict[tuple[str | None, str], Draft] = {}
        self._tools: dict[tuple[str | None, str], Draft] = {}
        self._steps: dict[tuple[str | None, str | None, int | None], Draft] = {}
        self._closing: dict[tuple[str | None, str | None], Draft] = {}
        self._left_out: dict[tuple[str | None, str | None, int | None], int] = {}

    def add(self, seq: int, event: ev.Event | ev.Unknown) -> tuple[Row, ...]:
        """Take one event; the rows that are news."""
        if isinstance(event, ev.Unknown):
            return self._unknown(seq, event)
        news = self._settle(event)
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            news.extend(handle(self, seq, event))
        return tuple(draft.row() for draft in news)

    def rows(self) -> list[Row]:
        """Every row so far, depth first, in the order in which they began."""
        found: list[Row] = []
        stack = list(reversed(self._top))
        while stack:
            draft = stack.pop()
            found.append(draft.row())
            stack.extend(reversed(draft.below))
        return found

    # -- where a row belongs

    def _new(self, kind: Kind, seq: int, event: ev.Base, parent: Draft | None, **fields: Any) -> Draft:
        run = self._runs.get(event.run_id)
        began = run.fields["at"] if run is not None else event.at
        draft = Draft(
            parent,
            seq=seq,
            kind=kind,
            depth=parent.fields["depth"] + 1 if parent is not None else 0,
            at=event.at,
            offset_ms=_ms(began, event.at),
            run_id=event.run_id,
            node_id=event.node_id,
            step=event.step,
            **fields,
        )
        if parent is None:
            self._top.append(draft)
        return draft

    def _run(self, seq: int, event: ev.Base) -> Draft | None:
        if event.run_id is None:
            return None
        run = self._runs.get(event.run_id)
        if run is None:
            run = self._runs[event.run_id] = self._new("run", seq, event, None, what="run", state="running")
        return run

    def _node(self, seq: int, event: ev.Base) -> Draft | None:
        """The open node of an event, else its run. A node inside a body (`loop/agent`) is below the body."""
        node_id = event.node_id
        while node_id:
            node = self._nodes.get((event.run_id, node_id))
            if node is not None:
                return node
            node_id = node_id.rpartition("/")[0]
        return self._run(seq, event)

    def _below_step(self, seq: int, event: ev.Base) -> Draft | None:
        step = self._steps.get((event.run_id, event.node_id, event.step))
        return step if step is not None and event.step is not None else self._node(seq, event)

    def _call(self, seq: int, event: Any, *, fresh: bool) -> Draft:
        """The draft of a model call; `fresh`: the event begins one, unless it is open already."""
        key = (event.run_id, event.call)
        draft = self._calls.get(key)
        if draft is None or (fresh and (draft.end or draft.closing)):
            node = self._node(seq, event)
            place = (event.run_id, event.node_id, event.step)
            purpose = getattr(event, "purpose", "main")
            draft = self._calls[key] = self._new(
                "call", seq, event, node, what=purpose, purpose=purpose, state="running"
            )
            draft.fields["left_out"] = self._left_out.pop(place, 0)
            self._steps[place] = draft
            while node is not None:
                node.fields["calls"] = node.fields.get("calls", 0) + 1
                node = node.parent
        return draft

    def _settle(self, event: ev.Base) -> list[Draft]:
        """A call that is closing ends with the first event of its node that is not about the call."""
        place = (event.run_id, event.node_id)
        closing = self._closing.get(place)
        if closing is None or _about(closing, self._calls, event):
            return []
        del self._closing[place]
        closing.end = True
        return [closing]

    def _close(self, draft: Draft, event: ev.Base, state: str) -> None:
        if draft.fields["state"] in {"running", "waiting"}:
            draft.fields["state"] = state
        if draft.fields.get("ms") is None:
            draft.fields["ms"] = _ms(draft.fields["at"], event.at)

    # -- runs and nodes

    def _run_begins(self, seq: int, event: ev.RunStarted) -> list[Draft]:
        run = self._run(seq, event)
        assert run is not None
        run.fields.update(
            at=event.at,
            what=event.flow_name or event.flow_id,
            state="running",
            model=event.model,
            rehearsal=event.rehearsal,
            text="" if event.kind == "flow" else event.kind,
        )
        return []

    def _run_ends(self, seq: int, event: ev.RunFinished) -> list[Draft]:
        run = self._run(seq, event)
        assert run is not None
        news: list[Draft] = []
        for draft in [*self._calls.values(), *self._tools.values(), *self._nodes.values()]:
            if draft.fields["run_id"] == event.run_id and draft.fields["state"] in {"running", "waiting"}:
                self._close(draft, event, event.state if event.state != "completed" else "done")
                news.append(draft)
        for place, draft in list(self._closing.items()):
            if place[0] == event.run_id:
                del self._closing[place]
                news.append(draft)
        run.fields.update(
            state=event.state, ms=event.ms, usage=event.usage, cost=event.cost, unknown=event.unknown_cost
        )
        if event.cost == 0 and event.unknown_cost:
            run.fields["cost"] = None
        if event.error is not None:
            run.fields.update(text=event.error.message, code=event.error.code, remedy=event.error.remedy)
        return [*news, run]

    def _node_begins(self, seq: int, event: ev.NodeStarted) -> list[Draft]:
        outer = (event.node_id or "").rpartition("/")[0]
        parent = self._nodes.get((event.run_id, outer)) if outer else None
        what = event.node_id or "node"
        what += f" · visit {event.visit}" if event.visit > 1 else ""
        what += f" · item {event.item}" if event.item is not None else ""
        node = self._new("node", seq, event, parent or self._run(seq, event), what=what, state="running")
        self._nodes[(event.run_id, event.node_id or "")] = node
        return []

    def _node_ends(self, seq: int, event: ev.NodeFinished | ev.NodeFailed) -> list[Draft]:
        node = self._nodes.get((event.run_id, event.node_id or ""))
        if node is None:
            node = self._new("node", seq, event, self._run(seq, event), what=event.node_id or "node")
        if isinstance(event, ev.NodeFailed):
            node.fields["state"] = "failed"
            node.fields.update(code=event.error.code, remedy=event.error.remedy)
            told = any(d.fields.get("code") == event.error.code for d in node.below)
            node.fields["text"] = "" if told else event.error.message[:TEXT_LIMIT]
        self._close(node, event, "done")
        return [node]

    def _node_skipped(self, seq: int, event: ev.NodeSkipped) -> list[Draft]:
        parent = self._run(seq, event)
        what = event.node_id or "node"
        return [self._new("node", seq, event, parent, what=what, state="skipped", text=event.reason)]

    # -- calls and tools

    def _asked(self, seq: int, event: ev.AgentRequest) -> list[Draft]:
        node = self._node(seq, event)
        if node is not None and node.fields["kind"] == "node":
            node.fields["text"] = event.text[:TEXT_LIMIT]
        return []

    def _call_begins(self, seq: int, event: ev.ModelCalled | ev.BudgetReserved) -> list[Draft]:
        call = self._call(seq, event, fresh=True)
        if call.fields["state"] == "waiting":
            call.fields.update(state="running", waited_ms=_ms(call.fields["at"], event.at))
        call.fields["purpose"] = event.purpose
        if isinstance(event, ev.ModelCalled):
            call.fields.update(model=event.model, attempt=event.attempt)
        return []

    def _waiting(self, seq: int, event: ev.BudgetWaiting) -> list[Draft]:
        call = self._call(seq, event, fresh=True)
        call.fields.update(state="waiting", gauges=event.gauges)
        return [call]

    def _used(self, seq: int, event: ev.AgentUsage) -> list[Draft]:
        call = self._call(seq, event, fresh=False)
        call.fields.update(
            model=event.model,
            purpose=event.purpose,
            attempt=event.attempt,
            estimated=event.estimated,
            ms=event.ms,
        )
        if event.error is None or event.usage.tokens:
            call.fields.update(usage=event.usage, cost=event.cost, unknown=int(event.cost is None))
        if event.error is not None:
            call.fields.update(
                state="failed", text=event.error.message, code=event.error.code, remedy=event.error.remedy
            )
        return self._closes(call, event)

    def _settled(self, seq: int, event: ev.BudgetSettled) -> list[Draft]:
        call = self._call(seq, event, fresh=False)
        call.fields["gauges"] = event.gauges
        if call.fields.get("usage") is None:
            call.fields.update(cost=event.cost, unknown=int(event.cost is None), estimated=event.estimated)
            call.fields["usage"] = Usage(input=event.tokens)
        if event.status == "orphaned":
            call.fields["text"] = "its process died; charged at the estimate"
        return self._closes(call, event)

    def _released(self, seq: int, event: ev.BudgetReleased) -> list[Draft]:
        call = self._call(seq, event, fresh=False)
        call.fields["text"] = call.fields.get("text") or event.reason
        if call.fields["state"] in {"running", "waiting"}:
            call.fields["state"] = "released"
        return self._closes(call, event)

    def _closes(self, call: Draft, event: ev.Base) -> list[Draft]:
        self._close(call, event, "done")
        if not call.end:
            call.closing = True
            self._closing[(call.fields["run_id"], call.fields["node_id"])] = call
        return []

    def _said(self, seq: int, event: ev.AgentResponse) -> list[Draft]:
        call = self._calls.get((event.run_id, event.call)) if event.call is not None else None
        if call is None:
            call = self._steps.get((event.run_id, event.node_id, event.step))
        if call is None:
            parent = self._node(seq, event)
            return [self._new("note", seq, event, parent, what="said", text=event.text[:TEXT_LIMIT])]
        if event.tool_calls and not event.text:
            call.fields["text"] = "asks for " + ", ".join(event.tool_calls)
        else:
            call.fields["text"] = event.text[:TEXT_LIMIT]
        return []

    def _tool_begins(self, seq: int, event: ev.ToolRequest) -> list[Draft]:
        text = short_json(event.arguments)[:TEXT_LIMIT]
        parent = self._below_step(seq, event)
        tool = self._new("tool", seq, event, parent, what=event.tool, text=text, state="running")
        self._tools[(event.run_id, event.call)] = tool
        return []

    def _tool_ends(self, seq: int, event: ev.ToolResponse) -> list[Draft]:
        tool = self._tools.get((event.run_id, event.call))
        if tool is None:
            tool = self._new("tool", seq, event, self._below_step(seq, event), what=event.tool)
        tool.fields["ms"] = event.ms
        if event.error is not None:
            tool.fields.update(state="failed", code=event.error.code, text=event.error.message)
        else:
            shown = short_json(event.result)
            tool.fields["text"] = f"{tool.fields.get('text', '')} → {shown}"[:TEXT_LIMIT]
        self._close(tool, event, "done")
        return [tool]

    def _context(self, seq: int, event: ev.ContextAssembled) -> list[Draft]:
        if event.left_out_count:
            self._left_out[(event.run_id, event.node_id, event.step)] = event.left_out_count
        return []

    # -- what a person must see, and the rest

    def _warned(self, seq: int, event: ev.AgentWarning) -> list[Draft]:
        return [self._message("warning", seq, event)]

    def _stopped(self, seq: int, event: ev.AgentError) -> list[Draft]:
        stop = event.gauge is not None or event.code.startswith("budget.")
        return [self._message("stop" if stop else "error", seq, event)]

    def _message(self, kind: Kind, seq: int, event: ev.AgentWarning | ev.AgentError) -> Draft:
        return self._new(
            kind,
            seq,
            event,
            self._node(seq, event),
            what=event.code,
            code=event.code,
            text=event.message,
            remedy=event.remedy,
            gauge=event.gauge,
        )

    def _policy_failed(self, seq: int, event: ev.PolicyFailed) -> list[Draft]:
        text = f"{event.policy}: {event.error.message}"
        parent = self._node(seq, event)
        return [self._new("warning", seq, event, parent, what="policy.failed", text=text)]

    def _remembered(self, seq: int, event: ev.MemoryEvent) -> list[Draft]:
        what, text = memory_words(event)
        return [self._new("memory", seq, event, self._below_step(seq, event), what=what, text=text)]

    def _changed(self, seq: int, event: ev.BudgetChanged) -> list[Draft]:
        text = f"{event.action} of {event.budget} by {event.actor}: {event.reason}"
        return [self._new("admin", seq, event, self._run(seq, event), what="budget.changed", text=text)]

    def _noted(self, seq: int, event: Any) -> list[Draft]:
        what, text = _note_words(event)
        return [self._new("note", seq, event, self._node(seq, event), what=what, text=text[:TEXT_LIMIT])]

    def _unknown(self, seq: int, event: ev.Unknown) -> tuple[Row, ...]:
        body = event.body
        base = msgspec.convert(
            {k: body[k] for k in ("at", "run_id", "node_id", "step") if k in body}, _Place, strict=False
        )
        text = short_json({k: v for k, v in body.items() if k not in _COMMON})
        draft = self._new("note", seq, base, self._node(seq, base), what=event.type, text=text[:TEXT_LIMIT])
        return (draft.row(),)


class _Place(ev.Base, frozen=True, kw_only=True):
    """Where an event of an unknown type happened."""


_COMMON = frozenset({"at", "run_id", "node_id", "step", "type", "v", "seq", "session_uid"})


def _ms(begin: datetime, end: datetime) -> int:
    return max(0, round((end - begin).total_seconds() * 1000))


def _about(call: Draft, calls: dict[tuple[str | None, str], Draft], event: Any) -> bool:
    """Whether the event still belongs to this call."""
    if isinstance(event, ev.AgentResponse) and event.call is None:
        return bool(call.fields["step"] == event.step)
    if isinstance(event, (ev.AgentResponse, ev.AgentUsage, ev.BudgetSettled, ev.BudgetReleased)):
        return calls.get((event.run_id, event.call or "")) is call
    return False


def _note_words(event: Any) -> tuple[str, str]:
    tag = str(type(event).__struct_config__.tag)
    if isinstance(event, (ev.RunPaused, ev.RunResumed)):
        return tag, event.reason
    if isinstance(event, ev.AgentClarify):
        return "asks", event.text
    if isinstance(event, ev.PlanUpdated):
        return "plan", f"{event.done} of {len(event.items)} done"
    if isinstance(event, ev.HumanAsked):
        return "asks a person", event.question
    if isinstance(event, ev.HumanAnswered):
        return "answered", short_json(event.answer)
    return str(event.name), short_json(event.data)


_Handler = Callable[[Timeline, int, Any], list[Draft]]
_HANDLERS: dict[type, _Handler] = {
    ev.RunStarted: Timeline._run_begins,
    ev.RunFinished: Timeline._run_ends,
    ev.RunPaused: Timeline._noted,
    ev.RunResumed: Timeline._noted,
    ev.NodeStarted: Timeline._node_begins,
    ev.NodeFinished: Timeline._node_ends,
    ev.NodeFailed: Timeline._node_ends,
    ev.NodeSkipped: Timeline._node_skipped,
    ev.AgentRequest: Timeline._asked,
    ev.AgentClarify: Timeline._noted,
    ev.AgentResponse: Timeline._said,
    ev.AgentWarning: Timeline._warned,
    ev.AgentError: Timeline._stopped,
    ev.AgentUsage: Timeline._used,
    ev.PlanUpdated: Timeline._noted,
    ev.ContextAssembled: Timeline._context,
    ev.ModelCalled: Timeline._call_begins,
    ev.ToolRequest: Timeline._tool_begins,
    ev.ToolResponse: Timeline._tool_ends,
    ev.MemoryRead: Timeline._remembered,
    ev.MemoryWrite: Timeline._remembered,
    ev.MemoryRefused: Timeline._remembered,
    ev.MemoryForgotten: Timeline._remembered,
    ev.MemoryErased: Timeline._remembered,
    ev.MemoryMoved: Timeline._remembered,
    ev.MemoryCompacted: Timeline._remembered,
    ev.MemoryConsolidated: Timeline._remembered,
    ev.PolicyFailed: Timeline._policy_failed,
    ev.BudgetReserved: Timeline._call_begins,
    ev.BudgetWaiting: Timeline._waiting,
    ev.BudgetSettled: Timeline._settled,
    ev.BudgetReleased: Timeline._released,
    ev.BudgetChanged: Timeline._changed,
    ev.HumanAsked: Timeline._noted,
    ev.HumanAnswered: Timeline._noted,
    ev.Custom: Timeline._noted,
}


def fold(events: Iterable[tuple[int, ev.Event | ev.Unknown]]) -> list[Row]:
    """All rows of a session's events."""
    timeline = Timeline()
    for seq, event in events:
        timeline.add(seq, event)
    return timeline.rows()
