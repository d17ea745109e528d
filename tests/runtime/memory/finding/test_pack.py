"""Filling a budget: order, what stays out and why."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding.pack import Candidate, Left, pack


def candidate(row: int, cost: int, *, words: int | None = None, replaced_by: int | None = None) -> Candidate:
    return (row, cost, row if words is None else words, float(row), replaced_by)


def test_pack_skips_what_does_not_fit_and_goes_on() -> None:
    packed = pack([candidate(1, 30), candidate(2, 80), candidate(3, 20)], 60)
    assert packed == ([0, 2], [Left(1, "too_large", None)], 50)


def test_pack_leaves_out_replaced_and_repeated_and_names_why() -> None:
    candidates = [candidate(1, 5, replaced_by=9), candidate(2, 5, words=7), candidate(3, 5, words=7)]
    assert pack(candidates, 60) == ([2], [Left(0, "superseded", 9), Left(1, "repeated", 3)], 5)


def test_pack_reports_nothing_once_the_budget_is_full() -> None:
    assert pack([candidate(1, 60), candidate(2, 60)], 60) == ([0], [], 60)


def test_pack_gives_up_after_many_misfits_in_a_row() -> None:
    packed = pack([candidate(1, 50), *(candidate(row, 90) for row in range(2, 100)), candidate(100, 1)], 60)
    assert packed.chosen == [0]
    assert len(packed.left) == 64


@given(st.lists(st.integers(1, 90), max_size=60), st.integers(0, 500))
def test_pack_never_exceeds_the_budget_nor_leaves_room_for_what_was_skipped(
    costs: list[int], budget: int
) -> None:
    packed = pack([candidate(row, cost) for row, cost in enumerate(costs, start=1)], budget)
    assert packed.used == sum(costs[place] for place in packed.chosen) <= budget
    assert packed.chosen == sorted(packed.chosen)
    assert all(costs[left.place] > budget - packed.used for left in packed.left)
