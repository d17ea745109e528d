"""The words of a timeline's rows for what has no line of its own elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from runtime import events as ev
from runtime.cli.plain import counted


def short_json(value: Any) -> str:
    """A value as a person reads it: a text as itself, all else as JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8", "replace") if value is not None else ""


def memory_words(event: ev.MemoryEvent) -> tuple[str, str]:
    """What a memory event did, and to which keys."""
    keys = ", ".join(event.keys)
    what = str(type(event).__struct_config__.tag).replace(".", " ")
    if isinstance(event, ev.MemoryRead):
        return what, f"{event.found} found{': ' + keys if keys else ''}"
    if isinstance(event, ev.MemoryWrite):
        note = "" if event.outcome == "created" else f" ({event.outcome})"
        return what, f"{keys} = {short_json(event.value) or 'empty'}{note}"
    if isinstance(event, ev.MemoryRefused):
        return what, f"{keys}: {event.message}"
    if isinstance(event, ev.MemoryMoved):
        place = f" in {event.to_namespace}" if event.to_namespace else ""
        return what, f"{keys} to {event.to_scope} {event.to_owner}{place}"
    if isinstance(event, ev.MemoryErased):
        return what, f"{keys}, receipt {event.receipt}"
    if isinstance(event, ev.MemoryCompacted):
        return (
            what,
            f"{counted(event.turns, 'turn')}, {event.tokens_before:,} → {event.tokens_after:,} tokens",
        )
    if isinstance(event, ev.MemoryJudged):
        found = Counter(verdict.relation for verdict in event.verdicts)
        return what, ", ".join(f"{n} {relation}" for relation, n in sorted(found.items()))
    if isinstance(event, ev.MemoryProposed):
        return what, ", ".join(f"{change.action} {change.key}" for change in event.changes)
    if isinstance(event, ev.MemoryConsolidated):
        return what, _consolidated(event)
    return what, keys


def _consolidated(event: ev.MemoryConsolidated) -> str:
    if event.undoes is not None:
        return f"taken back: {', '.join(event.keys) or 'nothing'}"
    counts = {
        "merged": event.merged,
        "expired": event.expired,
        "promoted": event.promoted,
        "faded": event.faded,
        "emptied": event.emptied,
        "conflicts": event.conflicts,
        "skipped": event.skipped,
    }
    return ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no changes"


def note_words(event: Any) -> tuple[str, str]:
    """What happened, in a word or two, and the text with it."""
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
