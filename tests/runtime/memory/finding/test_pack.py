"""Filling a budget: order, what stays out and why."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding.pack import pack, repeats


def test_pack_skips_what_does_not_fit_and_goes_on() -> None:
    assert pack([30, 80, 20], (), 60) == ([0, 2], [1], 50)


def test_pack_leaves_out_what_it_is_told_to() -> None:
    assert pack([5, 5, 5], {0, 1}, 60) == ([2], [0, 1], 5)


def test_pack_reports_nothing_once_the_budget_is_full() -> None:
    assert pack([60, 60], (), 60) == ([0], [], 60)


def test_pack_gives_up_after_many_misfits_in_a_row() -> None:
    packed = pack([50, *[90] * 98, 1], (), 60)
    assert packed.chosen == [0]
    assert len(packed.left) == 64


@given(st.lists(st.integers(1, 90), max_size=60), st.sets(st.integers(0, 59)), st.integers(0, 500))
def test_pack_never_exceeds_the_budget_nor_leaves_room_for_what_was_skipped(
    costs: list[int], out: set[int], budget: int
) -> None:
    packed = pack(costs, out, budget)
    assert packed.used == sum(costs[place] for place in packed.chosen) <= budget
    assert packed.chosen == sorted(packed.chosen)
    assert not out.intersection(packed.chosen)
    assert all(place in out or costs[place] > budget - packed.used for place in packed.left)


def test_repeats_names_the_last_said_and_of_one_time_the_first_given() -> None:
    assert repeats(np.array([7, 8, 7, 9, 7]), np.array([1.0, 1.0, 3.0, 1.0, 3.0])) == {0: 2, 4: 2}


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 5)), max_size=30))
def test_repeats_leaves_one_of_each(said: list[tuple[int, float]]) -> None:
    same = repeats(np.array([digest for digest, _ in said]), np.array([at for _, at in said]))
    shown = set(range(len(said))) - same.keys()
    assert sorted(said[place][0] for place in shown) == sorted({digest for digest, _ in said})
    assert all(by in shown and said[by][1] >= said[place][1] for place, by in same.items())
