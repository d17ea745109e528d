"""What each type of event does to the rows. A function takes the tree, the event's number and the event, and
returns the rows that are news."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from runtime import events as ev
from runtime.cli.timeline_row import TEXT_LIMIT, Kind
from runtime.cli.timeline_tree import Draft, Tree, milliseconds
from runtime.cli.timeline_words import memory_words, note_words, short_json
from runtime.usage import Usage


def _run_begins(tree: Tree, seq: int, event: ev.RunStarted) -> list[Draft]:
    run = tree.run(seq, event)
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


def _run_ends(tree: Tree, seq: int, event: ev.RunFinished) -> list[Draft]:
    run = tree.run(seq, event)
    assert run is not None
    news: list[Draft] = []
    for draft in tree.opened.pop(event.run_id, ()):
        if draft is not run and draft.fields["state"] in {"running", "waiting"}:
            tree.close(draft, event, event.state if event.state != "completed" else "done")
            news.append(draft)
    for place, draft in list(tree.closing.items()):
        if place[0] == event.run_id:
            del tree.closing[place]
            news.append(draft)
    run.fields.update(
        state=event.state, ms=event.ms, usage=event.usage, cost=event.cost, unknown=event.unknown_cost
    )
    if event.cost == 0 and event.unknown_cost:
        run.fields["cost"] = None
    if event.error is not None:
        run.fields.update(text=event.error.message, code=event.error.code, remedy=event.error.remedy)
    return [*news, run]


def _node_begins(tree: Tree, seq: int, event: ev.NodeStarted) -> list[Draft]:
    outer = (event.node_id or "").rpartition("/")[0]
    parent = tree.nodes.get((event.run_id, outer)) if outer else None
    what = event.node_id or "node"
    what += f" · visit {event.visit}" if event.visit > 1 else ""
    what += f" · item {event.item}" if event.item is not None else ""
    node = tree.new("node", seq, event, parent or tree.run(seq, event), what=what, state="running")
    tree.nodes[(event.run_id, event.node_id or "")] = node
    return []


def _node_ends(tree: Tree, seq: int, event: ev.NodeFinished | ev.NodeFailed) -> list[Draft]:
    node = tree.nodes.get((event.run_id, event.node_id or ""))
    if node is None:
        node = tree.new("node", seq, event, tree.run(seq, event), what=event.node_id or "node")
    if isinstance(event, ev.NodeFailed):
        node.fields["state"] = "failed"
        node.fields.update(code=event.error.code, remedy=event.error.remedy)
        told = any(d.fields.get("code") == event.error.code for d in node.below)
        node.fields["text"] = "" if told else event.error.message[:TEXT_LIMIT]
    tree.close(node, event, "done")
    return [node]


def _node_skipped(tree: Tree, seq: int, event: ev.NodeSkipped) -> list[Draft]:
    parent = tree.run(seq, event)
    what = event.node_id or "node"
    return [tree.new("node", seq, event, parent, what=what, state="skipped", text=event.reason)]


def _asked(tree: Tree, seq: int, event: ev.AgentRequest) -> list[Draft]:
    node = tree.node(seq, event)
    if node is not None and node.fields["kind"] == "node":
        node.fields["text"] = event.text[:TEXT_LIMIT]
    return []


def _call_begins(tree: Tree, seq: int, event: ev.ModelCalled | ev.BudgetReserved) -> list[Draft]:
    call = tree.call(seq, event, fresh=True)
    if call.fields["state"] == "waiting":
        call.fields.update(state="running", waited_ms=milliseconds(call.fields["at"], event.at))
    call.fields["purpose"] = event.purpose
    if isinstance(event, ev.ModelCalled):
        call.fields.update(model=event.model, attempt=event.attempt)
    return []


def _waiting(tree: Tree, seq: int, event: ev.BudgetWaiting) -> list[Draft]:
    call = tree.call(seq, event, fresh=True)
    call.fields.update(state="waiting", gauges=event.gauges)
    return [call]


def _used(tree: Tree, seq: int, event: ev.AgentUsage) -> list[Draft]:
    call = tree.call(seq, event, fresh=False)
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
    return _closes(tree, call, event)


def _settled(tree: Tree, seq: int, event: ev.BudgetSettled) -> list[Draft]:
    call = tree.call(seq, event, fresh=False)
    call.fields["gauges"] = event.gauges
    if call.fields.get("usage") is None:
        call.fields.update(cost=event.cost, unknown=int(event.cost is None), estimated=event.estimated)
        call.fields["usage"] = Usage(input=event.tokens)
    if event.status == "orphaned":
        call.fields["text"] = "its process died; charged at the estimate"
    return _closes(tree, call, event)


def _released(tree: Tree, seq: int, event: ev.BudgetReleased) -> list[Draft]:
    call = tree.call(seq, event, fresh=False)
    call.fields["text"] = call.fields.get("text") or event.reason
    if call.fields["state"] in {"running", "waiting"}:
        call.fields["state"] = "released"
    return _closes(tree, call, event)


def _closes(tree: Tree, call: Draft, event: ev.Base) -> list[Draft]:
    tree.close(call, event, "done")
    if not call.end:
        call.closing = True
        tree.closing[(call.fields["run_id"], call.fields["node_id"])] = call
    return []


def _said(tree: Tree, seq: int, event: ev.AgentResponse) -> list[Draft]:
    call = tree.calls.get((event.run_id, event.call)) if event.call is not None else None
    if call is None:
        call = tree.steps.get((event.run_id, event.node_id, event.step))
    if call is None:
        parent = tree.node(seq, event)
        return [tree.new("note", seq, event, parent, what="said", text=event.text[:TEXT_LIMIT])]
    if event.tool_calls and not event.text:
        call.fields["text"] = "asks for " + ", ".join(event.tool_calls)
    else:
        call.fields["text"] = event.text[:TEXT_LIMIT]
    return []


def _tool_begins(tree: Tree, seq: int, event: ev.ToolRequest) -> list[Draft]:
    text = short_json(event.arguments)[:TEXT_LIMIT]
    parent = tree.below_step(seq, event)
    tool = tree.new("tool", seq, event, parent, what=event.tool, text=text, state="running")
    tree.tools[(event.run_id, event.call)] = tool
    return []


def _tool_ends(tree: Tree, seq: int, event: ev.ToolResponse) -> list[Draft]:
    tool = tree.tools.get((event.run_id, event.call))
    if tool is None:
        tool = tree.new("tool", seq, event, tree.below_step(seq, event), what=event.tool)
    tool.fields["ms"] = event.ms
    if event.error is not None:
        tool.fields.update(state="failed", code=event.error.code, text=event.error.message)
    else:
        shown = short_json(event.result)
        tool.fields["text"] = f"{tool.fields.get('text', '')} → {shown}"[:TEXT_LIMIT]
    tree.close(tool, event, "done")
    return [tool]


def _context(tree: Tree, seq: int, event: ev.ContextAssembled) -> list[Draft]:
    if event.left_out_count:
        tree.left_out[(event.run_id, event.node_id, event.step)] = event.left_out_count
    return []


def _warned(tree: Tree, seq: int, event: ev.AgentWarning) -> list[Draft]:
    return [_message(tree, "warning", seq, event)]


def _stopped(tree: Tree, seq: int, event: ev.AgentError) -> list[Draft]:
    stop = event.gauge is not None or event.code.startswith("budget.")
    return [_message(tree, "stop" if stop else "error", seq, event)]


def _message(tree: Tree, kind: Kind, seq: int, event: ev.AgentWarning | ev.AgentError) -> Draft:
    return tree.new(
        kind,
        seq,
        event,
        tree.node(seq, event),
        what=event.code,
        code=event.code,
        text=event.message,
        remedy=event.remedy,
        gauge=event.gauge,
    )


def _policy_failed(tree: Tree, seq: int, event: ev.PolicyFailed) -> list[Draft]:
    text = f"{event.policy}: {event.error.message}"
    parent = tree.node(seq, event)
    return [tree.new("warning", seq, event, parent, what="policy.failed", text=text)]


def _remembered(tree: Tree, seq: int, event: ev.MemoryEvent) -> list[Draft]:
    what, text = memory_words(event)
    return [tree.new("memory", seq, event, tree.below_step(seq, event), what=what, text=text)]


def _changed(tree: Tree, seq: int, event: ev.BudgetChanged) -> list[Draft]:
    text = f"{event.action} of {event.budget} by {event.actor}: {event.reason}"
    return [tree.new("admin", seq, event, tree.run(seq, event), what="budget.changed", text=text)]


def _noted(tree: Tree, seq: int, event: Any) -> list[Draft]:
    what, text = note_words(event)
    return [tree.new("note", seq, event, tree.node(seq, event), what=what, text=text[:TEXT_LIMIT])]


def unknown(tree: Tree, seq: int, event: ev.Unknown) -> Draft:
    """An event of a type that this version does not know, shown raw."""
    body = event.body
    base = msgspec.convert(
        {k: body[k] for k in ("at", "run_id", "node_id", "step") if k in body}, _Place, strict=False
    )
    text = short_json({k: v for k, v in body.items() if k not in _COMMON})
    return tree.new("note", seq, base, tree.node(seq, base), what=event.type, text=text[:TEXT_LIMIT])


class _Place(ev.Base, frozen=True, kw_only=True):
    """Where an event of an unknown type happened."""


_COMMON = frozenset({"at", "run_id", "node_id", "step", "type", "v", "seq", "session_uid"})


Handler = Callable[[Tree, int, Any], list[Draft]]
HANDLERS: dict[type, Handler] = {
    ev.RunStarted: _run_begins,
    ev.RunFinished: _run_ends,
    ev.RunPaused: _noted,
    ev.RunResumed: _noted,
    ev.NodeStarted: _node_begins,
    ev.NodeFinished: _node_ends,
    ev.NodeFailed: _node_ends,
    ev.NodeSkipped: _node_skipped,
    ev.AgentRequest: _asked,
    ev.AgentClarify: _noted,
    ev.AgentResponse: _said,
    ev.AgentWarning: _warned,
    ev.AgentError: _stopped,
    ev.AgentUsage: _used,
    ev.PlanUpdated: _noted,
    ev.ContextAssembled: _context,
    ev.ModelCalled: _call_begins,
    ev.ToolRequest: _tool_begins,
    ev.ToolResponse: _tool_ends,
    ev.MemoryRead: _remembered,
    ev.MemoryWrite: _remembered,
    ev.MemoryRefused: _remembered,
    ev.MemoryForgotten: _remembered,
    ev.MemoryErased: _remembered,
    ev.MemoryMoved: _remembered,
    ev.MemoryCompacted: _remembered,
    ev.MemoryJudged: _remembered,
    ev.MemoryProposed: _remembered,
    ev.MemoryConsolidated: _remembered,
    ev.PolicyFailed: _policy_failed,
    ev.BudgetReserved: _call_begins,
    ev.BudgetWaiting: _waiting,
    ev.BudgetSettled: _settled,
    ev.BudgetReleased: _released,
    ev.BudgetChanged: _changed,
    ev.HumanAsked: _noted,
    ev.HumanAnswered: _noted,
    ev.Custom: _noted,
}
