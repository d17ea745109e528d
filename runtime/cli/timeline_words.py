"""The words of a timeline's rows for what has no line of its own elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime import events as ev
from runtime.cli.plain import counted
from runtime.usage import money_text

RELATIONS = {"same": "say the same", "merge": "belong in one", "conflict": "contradict each other"}
CHANGES = {
    "expire": "retire {key}, whose time is over",
    "merge": "retire {key}, {by} says the same",
    "rewrite": "put {key} and {by} into {by}",
    "conflict": "mark that {key} and {by} contradict each other",
    "keep": "{by} is right, {key} was retired",
    "both": "{by} and {key} are both right",
}
SETTLED = frozenset({"keep", "both"})
"""A person's word on what contradicts each other."""
CHANGES_SAID = 5
"""Changes of a plan that a row names before it counts the rest."""


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
        return what, _judged(event)
    if isinstance(event, ev.MemoryProposed):
        return what, _proposed(event)
    if isinstance(event, ev.MemoryConsolidated):
        return what, _consolidated(event)
    return what, keys


def _judged(event: ev.MemoryJudged) -> str:
    """Who judged, for how much, and what is not simply different."""
    different = sum(verdict.relation == "different" for verdict in event.verdicts)
    said = [_verdict(each) for each in event.verdicts if each.relation != "different"]
    said += [f"{different} different"] if different else []
    if event.model is None:
        return "; ".join(said)
    return f"{event.model}, {counted(event.tokens, 'token')}, {money_text(event.cost)}: {'; '.join(said)}"


def _verdict(verdict: ev.Verdict) -> str:
    because = f" ({verdict.why})" if verdict.why else ""
    return f"{verdict.key} and {verdict.other} {RELATIONS.get(verdict.relation, verdict.relation)}{because}"


def _proposed(event: ev.MemoryProposed) -> str:
    if not event.changes:
        return "nothing to change"
    by = f" for {event.actor}" if event.actor else ""
    more = len(event.changes) - CHANGES_SAID
    said = [_change(change) for change in event.changes[:CHANGES_SAID]]
    return "; ".join([*said, *([f"and {more} more"] if more > 0 else [])]) + by


def _change(change: ev.Retired) -> str:
    template = CHANGES.get(change.action, change.action + " {key}")
    return template.format(key=change.key, by=change.by)


def _consolidated(event: ev.MemoryConsolidated) -> str:
    by = f" by {event.actor}" if event.actor else ""
    if event.undoes is not None:
        return f"taken back: {', '.join(event.keys) or 'nothing'}{by}"
    words = [change for change in event.changes if change.action in SETTLED]
    if words:
        return "; ".join(map(_change, words)) + by
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
