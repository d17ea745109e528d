"""What statements are about is the same, however they came to be there and whatever was asked meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding.company import Company
from runtime.memory.finding.profiles import Joined, Profile

WORDS = [f"w{number}" for number in range(14)]
common = st.sampled_from([frozenset(["w0"]), frozenset(["w13"])])
texts = common | st.frozensets(st.sampled_from(WORDS), max_size=5)
writes = st.lists(st.tuples(st.integers(0, 60), texts, st.booleans()), min_size=1, max_size=8)
# About 32, from where terms have no company, and about steps of counts, which are rounded.
sizes = st.sampled_from([0, 1, 3, 5, 31, 32, 33, 37, 38, 39, 53, 54])


def filled(statements: dict[int, frozenset[str]]) -> Company:
    company = Company()
    for row, terms in statements.items():
        company.add(row, terms, changed(terms))
    return company


def changed(terms: frozenset[str]) -> frozenset[str]:
    return terms & {"w1", "w2"}


def told(company: Company, rows: list[int], without: frozenset[str]) -> list[np.ndarray]:
    """All that comparing statements goes by."""
    known = company.known(rows, without)
    says = [one.changed for one in known if one.changed]
    joined = Joined.join([one.about for one in known])
    alike = joined.alike(says)
    np.fill_diagonal(alike[:, : len(rows)], 0)
    wanted = joined.like(company.wanted(frozenset(["w1", "w5", "strange"]), without))
    return [alike, wanted, np.array([one.changed is not None for one in known])]


@given(sizes, writes, st.sampled_from([frozenset[str](), frozenset(["w3"])]))
def test_what_is_remembered_is_what_would_be_made_anew(
    many: int, written: list[tuple[int, frozenset[str], bool]], without: frozenset[str]
) -> None:
    statements = {
        row: frozenset(["w0", "w13", WORDS[row % 12], WORDS[row * row % 11]]) for row in range(many)
    }
    kept = filled(statements)
    for row, terms, only_taken_out in written:
        if statements.pop(row, None) is not None:
            kept.remove(row)
        if not only_taken_out:
            statements[row] = terms
            kept.add(row, terms, changed(terms))
        if statements:
            kept.known(list(statements), without)
            kept.known(list(statements)[:3], frozenset(["w4"]))
    rows = sorted(statements)
    if rows:
        fresh = filled({row: statements[row] for row in rows})
        for one, other in zip(told(kept, rows, without), told(fresh, rows, without), strict=True):
            assert one == pytest.approx(other, abs=1e-5)


def test_words_in_like_company_are_alike() -> None:
    towns = ["oslo", "ghent", "porto", "turin"]
    statements = {row: frozenset(["live", town]) for row, town in enumerate(towns)}
    statements |= {row + 10: frozenset(["reside", town]) for row, town in enumerate(towns)}
    statements |= {20: frozenset(["live", "hilly"]), 21: frozenset(["reside", "flat"])}
    statements |= {22: frozenset(["eat", "plums"]), 23: frozenset(["eat", "figs"])}
    joined = Joined.join([one.about for one in filled(statements).known([20, 21, 22], frozenset())])
    alike = joined.alike([])
    assert alike[0, 1] > 0.1
    assert alike[0, 2] == 0


def test_terms_of_many_statements_have_no_company() -> None:
    company = filled({row: frozenset(["w0", f"x{row}"]) for row in range(33)})
    assert [len(company.company([number])[number].terms) for number in range(2)] == [0, 1]
    company.remove(32)
    assert len(company.company([0])[0].terms) == 32


def test_a_term_that_no_statement_has_any_more_leaves_its_number_to_another() -> None:
    company = filled({1: frozenset(["oslo"]), 2: frozenset(["ghent"])})
    company.remove(1)
    company.add(3, frozenset(["porto"]), frozenset())
    assert company.limit == 64
    assert not company.wanted(frozenset(["oslo"]), frozenset()).any()
    assert company.wanted(frozenset(["porto"]), frozenset()).any()


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.floats(0.1, 1)), max_size=6), min_size=1, max_size=8)
)
def test_likeness_of_each_two_is_the_sum_over_what_they_share(some: list[list[tuple[int, float]]]) -> None:

    profiles = [dict(one) for one in some]
    joined = Joined.join(
        [Profile(np.array(list(one), np.intp), np.array(list(one.values()), np.float32)) for one in profiles]
    )
    found = joined.alike([])
    for at, one in enumerate(profiles):
        for other_at, other in enumerate(profiles):
            if at != other_at:
                shared = sum(weight * other[term] for term, weight in one.items() if term in other)
                assert found[at, other_at] == pytest.approx(shared, abs=1e-5)


def test_a_statement_in_the_place_of_another_is_about_its_own_terms() -> None:
    company = filled({row: frozenset(["oslo", "porto"]) for row in range(40)})
    company.add(50, frozenset(["oslo"]), frozenset())
    assert company.known([50], frozenset())
    company.remove(50)
    company.add(50, frozenset(["porto"]), frozenset())
    about = Joined.join([company.known([50], frozenset())[0].about])
    assert about.like(company.wanted(frozenset(["porto"]), frozenset()))[0] == pytest.approx(1, abs=1e-6)
