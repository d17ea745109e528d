"""How well memory finds what a question needs, without a model: evidence inside a token budget, injection
hit rate, conflicts of old and new, size and latency."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from statistics import fmean
from typing import NamedTuple, Protocol

from runtime.clock import Clock
from runtime.memory.finding.scenarios import Conversation, Question, Scenario, Turn

BUDGETS = (500, 1500, 4000)
"""Token budgets at which everything is measured."""
UNANSWERABLE = "adversarial"
"""Category of questions that the conversations do not answer; left out."""

_WORD = re.compile(r"[a-z0-9]+")
_FILLERS = (
    "a an the of to in on at for and or is are was were be been i you he she it they we my your his her "
    "their our this that with as by from did do does have has had not no yes"
)
_SMALL_WORDS = frozenset(_FILLERS.split())


class Shown(NamedTuple):
    """One thing put into the context, in order: the turns it stands for, and its text where that is not
    the turn itself (an excerpt, a fact, a summary)."""

    ids: tuple[str, ...]
    text: str | None = None


class Finder(Protocol):
    """What is measured: a fresh one for each scenario."""

    def add(self, conversation: Conversation) -> None: ...

    def recall(self, query: str, token_budget: int, now: datetime) -> Sequence[Shown]: ...


@dataclass(frozen=True, slots=True)
class Report:
    """Means over all questions by measure (`evidence@500`, `conflict@1500`, …), the same by category, the
    number of questions, and recall latency in milliseconds at the middle budget."""

    means: dict[str, float]
    by_category: dict[str, dict[str, float]]
    questions: int
    latency_p50: float
    latency_p95: float


def evaluate(scenarios: Iterable[Scenario], make_finder: Callable[[], Finder], clock: Clock) -> Report:
    """Put every scenario's conversations into a fresh finder and ask its questions at each budget."""
    rows: list[dict[str, float]] = []
    categories: list[str] = []
    times: list[float] = []
    for scenario in scenarios:
        finder, turns = make_finder(), scenario.turns()
        for conversation in scenario.conversations:
            finder.add(conversation)
        finder.recall("warm up", BUDGETS[0], scenario.now)
        for question in scenario.questions:
            if question.category == UNANSWERABLE or not question.evidence:
                continue
            found = {}
            for budget in BUDGETS:
                began = clock.monotonic()
                found[budget] = finder.recall(question.text, budget, scenario.now)
                if budget == BUDGETS[1]:
                    times.append((clock.monotonic() - began) * 1000)
            rows.append(measure(question, found, turns))
            categories.append(question.category)
    return _report(rows, categories, sorted(times))


def measure(
    question: Question, found: Mapping[int, Sequence[Shown]], turns: Mapping[str, Turn]
) -> dict[str, float]:
    """The measures of one question; `found` has what was recalled for each budget.

    - `evidence`: share of the evidence that is inside the budget; `all`: whether all of it is; `hit`: any of
    it. - `used`: tokens charged. - Where turns are superseded: `current` (any evidence inside), `stale_only`,
    `conflict` (both inside), `current_first` (evidence inside and before anything stale), `clean` (evidence
    and nothing stale). - `answer`: where the evidence holds every word of the answer, the share of these
    words that is inside.
    """
    result: dict[str, float] = {}
    for budget, shown in found.items():
        kept, used = charge(shown, turns, budget)
        inside = question.evidence.intersection(kept)
        result[f"evidence@{budget}"] = len(inside) / len(question.evidence)
        result[f"all@{budget}"] = float(len(inside) == len(question.evidence))
        result[f"hit@{budget}"] = float(bool(inside))
        result[f"used@{budget}"] = float(used)
        if question.stale:
            result.update(_currency(kept, question, budget))
        if question.answer:
            result.update(_answer(kept, question, turns, budget))
    return result


def charge(shown: Sequence[Shown], turns: Mapping[str, Turn], budget: int) -> tuple[list[str], int]:
    """The turns that earn credit, in order, and the tokens charged.

    Things are charged in order; the first that does not fit ends it. Unknown and repeated turns cost and earn
    nothing. A text of its own earns a turn only where it keeps half of that turn's words, or twelve of them.
    """
    kept: list[str] = []
    used = 0
    for ids, text in shown:
        new = [each for each in ids if each in turns and each not in kept]
        if text is None:
            if not new:
                continue
            cost = turns[new[0]].tokens
        else:
            cost = max(1, ceil(len(text) / 4))
            new = [each for each in new if _keeps(text, turns[each].text)]
        if used + cost > budget:
            break
        kept.extend(new)
        used += cost
    return kept, used


def _keeps(text: str, original: str) -> bool:
    words = _words(original)
    return len(words & _words(text)) >= min(12, ceil(len(words) / 2))


def _currency(kept: list[str], question: Question, budget: int) -> dict[str, float]:
    current = [place for place, each in enumerate(kept) if each in question.evidence]
    old = [place for place, each in enumerate(kept) if each in question.stale]
    return {
        f"current@{budget}": float(bool(current)),
        f"stale_only@{budget}": float(bool(old) and not current),
        f"conflict@{budget}": float(bool(old) and bool(current)),
        f"current_first@{budget}": float(bool(current) and (not old or min(current) < min(old))),
        f"clean@{budget}": float(bool(current) and not old),
    }


def _answer(kept: list[str], question: Question, turns: Mapping[str, Turn], budget: int) -> dict[str, float]:
    asked = _words(question.answer)
    held = _words(" ".join(turns[each].shown for each in question.evidence if each in turns))
    if not asked or not asked <= held:
        return {}
    got = _words(" ".join(turns[each].shown for each in kept))
    return {f"answer@{budget}": len(asked & got) / len(asked)}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - _SMALL_WORDS


def _report(rows: list[dict[str, float]], categories: list[str], times: list[float]) -> Report:
    by_category = {
        category: _means([row for row, own in zip(rows, categories, strict=True) if own == category])
        for category in sorted(set(categories))
    }
    p50, p95 = (times[len(times) // 2], times[int(len(times) * 0.95)]) if times else (0.0, 0.0)
    return Report(_means(rows), by_category, len(rows), p50, p95)


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: fmean(row[name] for row in rows if name in row) for name in names}
