"""Golden timelines: events in the form that two runs of one flow share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from runtime.events import Event, ToolRequest, ToolResponse, encode

GOLDEN_LEFT_OUT = frozenset({"budget.waiting", "budget.reserved"})
"""What depends on other runs or on what a model cost before, and so is no part of a golden timeline."""
DROPPED = frozenset({"at", "run_id", "v", "ms", "digest", "flow_hash", "request_id", "resets_at"})
"""Fields that differ from run to run."""


def golden(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events in the form that two runs of one flow share: canonical order, no times, ids or durations.

    Order is by node (in order of its first event), step and place, since independent nodes may interleave;
    so may the tool calls of one step: they stand as all requests, what came of them, all responses.
    """
    place: dict[str | None, int] = {}
    for event in events:
        place.setdefault(event.node_id, len(place))
    kept = [event for event in events if event.__struct_config__.tag not in GOLDEN_LEFT_OUT]
    rows = sorted(enumerate(kept), key=lambda pair: (_phase(pair[1]), place[pair[1].node_id], pair[0]))
    return [_row(event) for event in _tools_in_order([event for _, event in rows])]


def _tools_in_order(events: Sequence[Event]) -> Iterator[Event]:
    """Each unbroken stretch of tool and memory events of a node in the order of the calls."""
    for _, stretch in groupby(events, key=lambda event: (event.node_id, event.step, _of_tools(event))):
        found = list(stretch)
        yield from sorted(found, key=_tool_place) if _of_tools(found[0]) else found


def _of_tools(event: Event) -> bool:
    return str(event.__struct_config__.tag).startswith(("tool.", "memory."))


def _tool_place(event: Event) -> tuple[int, int]:
    """Requests by call, then what is neither, then responses by call."""
    if not isinstance(event, (ToolRequest, ToolResponse)):
        return 1, 0
    last = event.call.rpartition("/")[2]
    return (0 if isinstance(event, ToolRequest) else 2), int(last) if last.isdigit() else 0


def _phase(event: Event) -> int:
    """What comes before all nodes, the nodes, and what comes after."""
    tag = str(event.__struct_config__.tag)
    return 0 if tag in ("session.opened", "run.started") else 2 if tag == "run.finished" else 1


def _row(event: Event) -> dict[str, Any]:
    row: dict[str, Any] = _without(msgspec.json.decode(encode(event)))
    return row


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without(item)
            for key, item in value.items()
            if key not in DROPPED and item not in (None, [], {})
        }
    if isinstance(value, list):
        return [_without(item) for item in value]
    return value
