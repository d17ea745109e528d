"""Postings are kept in step, those of common terms too."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding.postings import Postings


@given(st.integers(0, 2**32))
def test_postings_after_removing_are_those_of_what_is_left(seed: int) -> None:
    chance = random.Random(seed)
    texts = {row: ["common", *chance.choices("abcdefgh", k=3)] for row in range(1, 200)}
    kept, anew = Postings(), Postings()
    for row, terms in texts.items():
        kept.add(row, terms)
    for row in chance.sample(sorted(texts), 120):
        kept.remove(row, texts.pop(row))
    for row in chance.sample(range(1, 200), 40):
        if row not in texts:
            texts[row] = ["common", *chance.choices("abcdefgh", k=3)]
            kept.add(row, texts[row])
    for row, terms in sorted(texts.items()):
        anew.add(row, terms)
    lengths = np.full(200, 4.0)
    query = ["common", "a", "b"]
    assert kept.rows_of("common") == sorted(texts)
    assert np.array_equal(kept.bm25(query, lengths, 1.2, 0.4), anew.bm25(query, lengths, 1.2, 0.4))


def test_a_term_whose_last_row_goes_is_no_more() -> None:
    postings = Postings()
    for row in range(1, 101):
        postings.add(row, ["one"])
    for row in range(100, 0, -1):
        postings.remove(row, ["one"])
    assert "one" not in postings
    assert len(postings) == postings.rows == postings.total_length == 0
