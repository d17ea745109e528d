"""Compaction runs against the golden table: what is condensed, when it stops, what it reports."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.compaction import CompactionRun, Turn, batches, plan, to_free
from runtime.memory.compaction_rules import Compaction
from runtime.memory.estimate import by_length_padded as count
from tests.runtime.memory.golden import table

RUNS: list[dict[str, Any]] = table("compaction")["runs"]


def turns(number: int, chars: int) -> list[Turn]:
    return [Turn(f"t{i}", "u" * chars, "a" * chars) for i in range(number)]


def drive(run: CompactionRun, summary: str, failing: list[int]) -> CompactionRun:
    while run.request() is not None:
        run = run.failed("no answer") if run.calls in failing else run.summarised(summary, count)
    return run


@pytest.mark.golden
@pytest.mark.parametrize("case", RUNS, ids=lambda case: case["id"])
def test_a_run_condenses_what_the_table_says(case: dict[str, Any]) -> None:
    rules = Compaction(enabled=True, target_utilization=case["target"], **case["rules"])
    run = plan(
        turns(case["turns"], case["chars"]),
        current_tokens=case["current"],
        available_tokens=case["available"],
        time_budget_ms=rules.max_duration_ms,
        rules=rules,
        count=count,
    )
    outcome = drive(run, "s" * case["summary"], case["failing"]).outcome()
    assert outcome.tokens_target == case["to_free"]
    assert outcome.calls == case["calls"]
    assert list(drive(run, "s" * case["summary"], case["failing"]).done) == case["done"]
    assert outcome.target_met is case["target_met"]
    assert len(outcome.errors) == case["errors"]


@pytest.mark.parametrize(
    ("current", "available", "target", "free"),
    [(9000, 10000, 0.7, 2000), (7000, 10000, 0.7, 0), (7001, 10000, 0.7, 1), (5, 0, 0.7, 5), (0, 0, 0.7, 0)],
)
def test_to_free_is_what_lies_above_the_target(
    current: int, available: int, target: float, free: int
) -> None:
    assert to_free(current, available, target) == free


def test_a_run_stops_once_enough_is_free() -> None:
    run = plan(
        turns(30, 300),
        current_tokens=7100,
        available_tokens=10000,
        time_budget_ms=1000,
        rules=Compaction(),
        count=count,
    )
    ended = drive(run, "short", [])
    assert ended.outcome().calls == 1 and ended.outcome().target_met and len(ended.waiting) == 3


def test_a_failed_call_ends_the_run_and_leaves_its_turns() -> None:
    run = CompactionRun(0, batches(turns(30, 300), Compaction(), count), 1000)
    ended = drive(run, "short", [1])
    assert ended.done == tuple(f"t{i}" for i in range(8))
    assert ended.outcome().errors == ("no answer",) and ended.outcome().calls == 2


def test_an_empty_summary_is_a_failure() -> None:
    run = CompactionRun(0, batches(turns(30, 300), Compaction(), count), 1000).summarised(" \n", count)
    assert run.done == () and run.errors and run.request() is None


@pytest.mark.parametrize(("elapsed", "over"), [(999, False), (1000, True), (5000, True)])
def test_no_call_begins_once_the_time_is_up(elapsed: float, over: bool) -> None:
    run = CompactionRun(0, batches(turns(30, 300), Compaction(), count), 1000).at(elapsed)
    assert run.outcome().out_of_time is over
    assert (run.request() is None) is over


def test_a_finished_run_is_not_out_of_time() -> None:
    assert not CompactionRun(0, (), 1000).at(9999).outcome().out_of_time


def test_messages_are_clipped_and_empty_ones_left_out() -> None:
    many = [Turn(f"t{i}", "z" * 5000, "") for i in range(9)]
    (batch,) = batches(many, Compaction(), count)
    assert batch.text.count("z") == 5 * 500 and "Assistant" not in batch.text


@given(st.integers(0, 60), st.integers(2, 12), st.integers(2, 10), st.integers(2, 8))
def test_batches_cover_an_unbroken_beginning_and_spare_the_newest(
    number: int, size: int, window: int, least: int
) -> None:
    rules = Compaction(
        max_turns_per_summary=size, compaction_recency_window=window, min_turns_to_summarize=least
    )
    refs = [ref for batch in batches(turns(number, 10), rules, count) for ref in batch.refs]
    assert refs == [f"t{i}" for i in range(len(refs))]
    assert len(refs) <= max(0, number - window)
    assert not refs or number - window >= least
    left = max(0, number - window) - len(refs)
    assert left in (0, 1) or not refs
