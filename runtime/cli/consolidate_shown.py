"""A consolidation as people and programs read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.cli.plain import counted, one_line
from runtime.cli.streams import say
from runtime.cli.when import stamp, zone
from runtime.events import Retired
from runtime.facts import Shelf
from runtime.memory_service.consolidating import Done, Plan
from runtime.run.consolidation import Asking, Executed, Preview
from runtime.run.judging import Spent
from runtime.usage import money_text

FEW = 20
"""Changes that are listed, and so many of what waits for a person; the rest is counted."""


class _Lines:
    """Lines below the names of their shelves; those beyond `FEW` of a kind are counted."""

    def __init__(self) -> None:
        self._shelf: Shelf | None = None
        self._said: Counter[str] = Counter()

    def say(self, kind: str, shelf: Shelf, line: str, style: str = "") -> None:
        """One line, or one more that is counted."""
        self._said[kind] += 1
        if self._said[kind] > FEW:
            return
        if shelf != self._shelf:
            say(_name(shelf))
            self._shelf = shelf
        say(line, *([style] if style else []))

    def count(self, kind: str) -> int:
        return self._said[kind]

    def rest(self) -> None:
        """How many more there are."""
        more = [
            counted(self._said[kind] - FEW, f"more {kind}")
            for kind in sorted(self._said)
            if self._said[kind] > FEW
        ]
        if more:
            say(f"and {', '.join(more)}: --json has all of them.", "dim")


def show_preview(seen: Preview, *, asked: bool) -> None:
    """What would be changed, what asking a model would cost or gave, and what to do next."""
    lines = _Lines()
    for plan in seen.plans:
        for proposal in plan.proposals:
            lines.say("change", plan.shelf, *_change(proposal.event(), "would be "))
        _show_waiting(lines, plan)
    lines.rest()
    if not seen.plans:
        say("Nothing to consolidate.")
    _show_asking(seen.asking, asked=asked)
    changes = lines.count("change")
    if changes:
        say(f"Nothing was changed; --execute makes {counted(changes, 'change')}.", "dim")


def show_executed(outcome: Executed) -> None:
    """What was changed, what was left out, and where the copy is."""
    lines = _Lines()
    if outcome.planned_at is not None:
        say(f"Carried out: the preview of {stamp(outcome.planned_at)} {zone()}.", "dim")
    if outcome.copy is not None:
        say(f"The database was copied to {outcome.copy}.", "dim")
    for done in outcome.done:
        for change in done.made:
            lines.say("change", done.shelf, *_change(change, ""))
        for change in done.skipped:
            key = one_line(change.key)
            told = f"  {key} left alone: it or what it rests on was written since."
            lines.say("fact left alone", done.shelf, told, "yellow")
    for plan in outcome.preview.plans if outcome.preview is not None else ():
        _show_waiting(lines, plan)
    lines.rest()
    if not outcome.done:
        say("Nothing to consolidate.")
    else:
        say("`farthing memory undo` takes it back.", "dim")
    if outcome.preview is not None and outcome.preview.asking.answers is not None:
        _show_asking(outcome.preview.asking, asked=True)


def _change(change: Retired, would: str) -> tuple[str, str]:
    """A change in words, and their colour."""
    key, by, why = one_line(change.key), one_line(change.by or ""), one_line(change.why)
    verb = would or "was "
    if change.action == "conflict":
        marked = "would be marked" if would else "marked"
        return f"  {key} and {by} contradict each other, {marked} for you to settle: {why}", "yellow"
    if change.action == "rewrite":
        become = "would become" if would else "became"
        return f"  {key} and {by} {become} one, {by}: {one_line(change.text or '')}", ""
    if change.judged_in is not None:
        return f"  {key} {verb}retired, {by} says the same: {why}", ""
    return f"  {key} {verb}retired: {why}", ""


def _show_waiting(lines: _Lines, plan: Plan) -> None:
    for key in map(one_line, plan.conflicts):
        told = f"  {key} has a conflict: farthing facts settle {key} --keep VERSION"
        lines.say("conflict", plan.shelf, told, "yellow")
    for mark in plan.marked:
        key, by = one_line(mark.key), one_line(mark.by or "")
        told = f"  {key} and {by} contradict each other ({one_line(mark.why)}): farthing facts settle {key}"
        lines.say("conflict", plan.shelf, f"{told} --over {by}, or --beside it if both are right", "yellow")


def _show_asking(asking: Asking, *, asked: bool) -> None:
    pairs = f"{counted(asking.pairs, 'pair')} of facts"
    if asking.answers is not None:
        if asking.pairs:
            answers = counted(asking.answers.answered, "answer")
            spent = _spent(asking.answers.spent)
            say(f"{asking.model} was asked about {pairs}: {answers} could be used, for {spent}.", "dim")
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
            f" {counted(most.calls, 'call')}, {most.tokens:,} tokens and {cost}.",
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
        found["spent"] = asking.answers.spent._asdict()
        found["failures"] = [msgspec.to_builtins(error) for error in asking.answers.failures]
    return found


def _spent(spent: Spent) -> str:
    cost = money_text(None if spent.unknown and not spent.cost else spent.cost)
    return f"{counted(spent.tokens, 'token')} and {'at least ' if spent.unknown and spent.cost else ''}{cost}"


def _name(shelf: Shelf) -> str:
    return f"{shelf.scope} {one_line(shelf.owner)}, namespace {one_line(shelf.namespace)}"
