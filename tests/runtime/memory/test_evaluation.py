"""The measures of the evaluation, by hand-made cases, and floors for finding on made-up conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from runtime.clock import SystemClock, VirtualClock
from runtime.errors import BadInput
from runtime.memory.evaluation import BUDGETS, Report, Shown, charge, evaluate, measure
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.finder import IndexFinder
from runtime.memory.finding.scenarios import Conversation, Question, Turn, load
from tests.runtime.memory.finding.build import START
from tests.runtime.memory.finding.scenario_maker import make_scenario
from tests.runtime.memory.finding.update_maker import make_updates

# "[2025-01-01] user: " has 19 characters, so 21 more make 10 tokens.
TURNS = {name: Turn(name, "user", "user", START, f"{name} word of 21 chars."[:21]) for name in "abcd"}
QUESTION = Question("q", "?", "updated", frozenset("ab"), frozenset("c"), "")


def show(names: str) -> list[Shown]:
    return [Shown((name,)) for name in names]


def test_charge_stops_at_the_first_that_does_not_fit() -> None:
    long = {**TURNS, "long": Turn("long", "user", "user", START, "x" * 400)}
    assert charge([*show("a"), Shown(("long",)), *show("b")], long, 25) == (["a"], 10)


def test_charge_ignores_unknown_and_repeated_turns() -> None:
    assert charge([*show("a"), Shown(("nobody",)), *show("ab")], TURNS, 20) == (["a", "b"], 20)


def test_charge_credits_a_text_only_with_turns_whose_words_it_keeps() -> None:
    turns = {
        "x": Turn("x", "user", "user", START, "red kite over quiet hills"),
        "y": Turn("y", "user", "user", START, "slow train through dark tunnels"),
    }
    assert charge([Shown(("x", "y"), "a red kite, quiet")], turns, 50) == (["x"], 5)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            "ab",
            {"evidence": 1, "all": 1, "hit": 1, "current": 1, "conflict": 0, "current_first": 1, "clean": 1},
        ),
        ("ac", {"evidence": 0.5, "all": 0, "hit": 1, "conflict": 1, "current_first": 1, "clean": 0}),
        ("cab", {"evidence": 1, "conflict": 1, "current_first": 0, "clean": 0, "stale_only": 0}),
        ("c", {"evidence": 0, "hit": 0, "current": 0, "conflict": 0, "stale_only": 1, "current_first": 0}),
        ("", {"evidence": 0, "hit": 0, "used": 0, "stale_only": 0, "clean": 0}),
    ],
)
def test_measure_by_what_is_inside(shown: str, expected: dict[str, float]) -> None:
    found = measure(QUESTION, {500: show(shown)}, TURNS)
    assert {name: found[f"{name}@500"] for name in expected} == expected


def test_measure_counts_answer_words_only_where_the_evidence_holds_them() -> None:
    turns = {"a": Turn("a", "user", "user", START, "the ferry left at noon")}
    question = Question("q", "?", "static", frozenset("a"), frozenset(), "noon ferry")
    assert measure(question, {500: show("a")}, turns)["answer@500"] == 1
    assert measure(question, {500: []}, turns)["answer@500"] == 0
    unheld = Question("q", "?", "static", frozenset("a"), frozenset(), "midnight ferry")
    assert "answer@500" not in measure(unheld, {500: show("a")}, turns)


class Nothing:
    """A finder that remembers nothing and takes its time."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    def add(self, conversation: Conversation) -> None: ...

    def recall(self, query: str, token_budget: int, now: datetime) -> Sequence[Shown]:
        self.clock.advance(0.25)
        return []


def test_evaluate_reports_latency_in_milliseconds_and_zeros_for_nothing_found() -> None:
    clock = VirtualClock()
    report = evaluate([make_scenario(1)], lambda: Nothing(clock), clock)
    assert report.latency_p50 == report.latency_p95 == pytest.approx(250)
    assert {report.means[f"evidence@{budget}"] for budget in BUDGETS} == {0}


def test_evaluate_of_no_scenarios_is_empty() -> None:
    assert evaluate([], IndexFinder, VirtualClock()) == Report({}, {}, 0, 0.0, 0.0)


def test_load_reads_what_the_docs_describe(tmp_path: Path) -> None:
    turn = {"id": "1", "speaker": "user", "role": "user", "ts": "2025-01-01T09:00:00+00:00", "text": "hello"}
    line = {
        "id": "s",
        "dataset": "mine",
        "now": "2025-01-02T09:00:00+00:00",
        "sessions": [{"id": "c", "ts": turn["ts"], "turns": [turn]}],
        "queries": [{"id": "q", "text": "?", "category": "static", "evidence": ["1"]}],
    }
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(line) + "\n\n", encoding="utf-8")
    (scenario,) = load(path)
    assert scenario.turns() == {"1": Turn("1", "user", "user", START, "hello")}
    assert scenario.questions == (Question("q", "?", "static", frozenset("1"), frozenset(), ""),)


NO_TIME = '{"id": "s", "now": "yesterday", "sessions": [], "queries": []}'


@pytest.mark.parametrize("line", ["not json", "{}", NO_TIME, NO_TIME.replace('"s"', "3"), "[1]"])
def test_load_names_the_line_that_is_no_scenario(tmp_path: Path, line: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"Line 2 of mine\.jsonl") as raised:
        load(path)
    assert not re.search(r"Error|isoformat|not subscriptable", str(raised.value))


@pytest.fixture(scope="module")
def conversations() -> Report:
    """What is found in made-up conversations by default."""
    return evaluate([make_scenario(seed) for seed in range(4)], IndexFinder, SystemClock())


def test_finding_on_made_up_conversations_stays_above_its_floors(conversations: Report) -> None:
    report = conversations
    assert report.means["evidence@500"] >= 0.9
    assert report.means["current_first@500"] >= 0.8
    assert report.means["conflict@500"] <= 0.2


def test_supersession_finds_changes_of_any_matter() -> None:
    scenarios = [make_updates(seed) for seed in range(4)]
    plain = evaluate(scenarios, lambda: IndexFinder(FindingConfig(supersede=False)), SystemClock())
    whole = evaluate(scenarios, IndexFinder, SystemClock())
    assert whole.means["current_first@500"] >= max(0.55, plain.means["current_first@500"] + 0.25)
    assert whole.means["conflict@500"] <= plain.means["conflict@500"] - 0.25
    assert whole.means["evidence@4000"] >= 0.92


def test_supersession_on_made_up_conversations_costs_no_evidence(conversations: Report) -> None:
    scenarios = [make_scenario(seed) for seed in range(4)]
    plain = evaluate(scenarios, lambda: IndexFinder(FindingConfig(supersede=False)), SystemClock())
    whole = conversations
    assert plain.means["conflict@500"] > whole.means["conflict@500"] + 0.3
    for budget in BUDGETS:
        assert whole.means[f"evidence@{budget}"] >= plain.means[f"evidence@{budget}"] - 0.01
