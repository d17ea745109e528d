"""A consolidation as people and programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.cli.plain import one_line
from runtime.cli.streams import say
from runtime.events import Retired
from runtime.facts import Shelf
from runtime.memory_service.consolidating import Done, Plan
from runtime.run.consolidation import Asking, Executed, Preview
from runtime.usage import money_text


def show_preview(seen: Preview, *, asked: bool) -> None:
    """What would be changed, what asking a model would cost or gave, and what to do next."""
    changes = 0
    for plan in seen.plans:
        say(_name(plan.shelf))
        for proposal in plan.proposals:
            changes += 1
            _show_change(proposal.event(), "would be ")
        _show_waiting(plan)
    if not seen.plans:
        say("Nothing to consolidate.")
    _show_asking(seen.asking, asked=asked)
    if changes:
        say(f"Nothing was changed; --execute makes {_count(changes, 'change')}.", "dim")


def show_executed(outcome: Executed) -> None:
    """What was changed, what was left out, and where the copy is."""
    if outcome.planned_at is not None:
        say(f"Carried out: the preview of {outcome.planned_at:%Y-%m-%d %H:%M} UTC.", "dim")
    if outcome.copy is not None:
        say(f"The database was copied to {outcome.copy}.", "dim")
    shelf = None
    for done in outcome.done:
        if done.shelf != shelf:
            shelf = done.shelf
            say(_name(done.shelf))
        for change in done.made:
            _show_change(change, "")
        for change in done.skipped:
            say(f"  {one_line(change.key)} left alone: it or what it rests on was written since.", "yellow")
    for plan in outcome.preview.plans if outcome.preview is not None else ():
        _show_waiting(plan)
    if not outcome.done:
        say("Nothing to consolidate.")
    else:
        say("`farthing memory undo` takes it back.", "dim")
    if outcome.preview is not None and outcome.preview.asking.answers is not None:
        _show_asking(outcome.preview.asking, asked=True)


def _show_change(change: Retired, would: str) -> None:
    key, by, why = one_line(change.key), one_line(change.by or ""), one_line(change.why)
    verb = would or "was "
    if change.action == "conflict":
        marked = "would be marked" if would else "marked"
        say(f"  {key} and {by} contradict each other, {marked} for you to settle: {why}", "yellow")
    elif change.action == "rewrite":
        become = "would become" if would else "became"
        say(f"  {key} and {by} {become} one, {by}: {one_line(change.text or '')}")
    elif change.judged_in is not None:
        say(f"  {key} {verb}retired, {by} says the same: {why}")
    else:
        say(f"  {key} {verb}retired: {why}")


def _show_waiting(plan: Plan) -> None:
    for key in plan.conflicts:
        say(f"  {one_line(key)} has a conflict: farthing facts settle {one_line(key)}", "yellow")
    for mark in plan.marked:
        both = f"{one_line(mark.key)} and {one_line(mark.by or '')}"
        say(f"  {both} contradict each other: set or forget one of them ({one_line(mark.why)})", "yellow")


def _show_asking(asking: Asking, *, asked: bool) -> None:
    pairs = f"{_count(asking.pairs, 'pair')} of facts"
    if asking.answers is not None:
        if asking.pairs:
            answers = _count(asking.answers.answered, "answer")
            say(f"{asking.model} was asked about {pairs}: {answers} could be used.", "dim")
        else:
            say("No facts are alike that were not asked about before.", "dim")
        for error in asking.answers.failures:
            say(f"{error.code}: {one_line(error.message)}", "red")
    elif asking.model is None and (asked or asking.pairs):
        say("No model is configured, so only the rules were applied.", "yellow" if asked else "dim")
    elif asking.pairs:
        most = asking.most
        cost = "an unknown cost" if most.cost is None else money_text(most.cost)
        say(
            f"{pairs} are alike: --with-model asks {asking.model} what they are, with at most"
            f" {_count(most.calls, 'call')}, {most.tokens:,} tokens and {cost}.",
            "dim",
        )


def preview_json(seen: Preview) -> dict[str, Any]:
    """The preview as JSON."""
    return {
        "executed": False,
        "batch": seen.parts[0].batch if seen.parts else None,
        "shelves": [
            {
                **_place(plan.shelf),
                "changes": [msgspec.to_builtins(proposal.event()) for proposal in plan.proposals],
                **_waiting(plan),
            }
            for plan in seen.plans
        ],
        "model": _asking_json(seen.asking),
    }


def executed_json(outcome: Executed) -> dict[str, Any]:
    """What was changed, as JSON."""
    shelves: dict[Shelf, dict[str, Any]] = {}
    for plan in outcome.preview.plans if outcome.preview is not None else ():
        shelves[plan.shelf] = {**_place(plan.shelf), "changes": [], "skipped": [], **_waiting(plan)}
    for done in outcome.done:
        shelf = shelves.setdefault(
            done.shelf, {**_place(done.shelf), "changes": [], "skipped": [], "conflicts": [], "marked": []}
        )
        _add(shelf, done)
    return {
        "executed": True,
        "planned_at": outcome.planned_at,
        "copy": None if outcome.copy is None else str(outcome.copy),
        "shelves": [shelves[shelf] for shelf in sorted(shelves)],
        "model": None if outcome.preview is None else _asking_json(outcome.preview.asking),
    }


def _add(shelf: dict[str, Any], done: Done) -> None:
    shelf["changes"] += _changes(done.made)
    shelf["skipped"] += _changes(done.skipped)


def _changes(changes: Sequence[Retired]) -> list[Any]:
    return [msgspec.to_builtins(change) for change in changes]


def _place(shelf: Shelf) -> dict[str, Any]:
    return {"namespace": shelf.namespace, "scope": shelf.scope, "owner": shelf.owner}


def _waiting(plan: Plan) -> dict[str, Any]:
    return {"conflicts": list(plan.conflicts), "marked": _changes(plan.marked)}


def _asking_json(asking: Asking) -> dict[str, Any]:
    found: dict[str, Any] = {"name": asking.model, "pairs": asking.pairs, "at_most": asking.most._asdict()}
    if asking.answers is not None:
        found["answered"] = asking.answers.answered
        found["failures"] = [msgspec.to_builtins(error) for error in asking.answers.failures]
    return found


def _name(shelf: Shelf) -> str:
    return f"{shelf.scope} {one_line(shelf.owner)}, namespace {one_line(shelf.namespace)}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
