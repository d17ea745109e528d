"""What a session begins with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.payload import Payload, Piece
from runtime.memory.priming import Priming, primed, prior_turns
from tests.runtime.memory.test_cascade import payloads, refs


def test_priming_has_the_values_of_the_text_and_refuses_negative_ones() -> None:
    priming = Priming()
    assert (priming.token_budget, priming.top_entities, priming.max_known_facts) == (4000, 20, 20)
    assert (priming.max_insights, priming.max_summaries) == (10, 5)
    assert (priming.previous_sessions, priming.previous_session_turns) == (1, 3)
    with pytest.raises(BadConfig, match="max_insights"):
        Priming(max_insights=-1)


@pytest.mark.parametrize(
    ("sessions", "turns", "expected"),
    [(1, 3, "def"), (2, 2, "bcef"), (9, 9, "abcdef"), (0, 3, ""), (1, 0, "")],
)
def test_the_last_turns_of_the_last_sessions_come_along(sessions: int, turns: int, expected: str) -> None:
    priming = Priming(previous_sessions=sessions, previous_session_turns=turns)
    assert "".join(prior_turns(["abc", "def"], priming)) == expected


def test_nothing_comes_along_where_priming_is_off() -> None:
    off = Priming(enabled=False)
    assert prior_turns(["abc"], off) == ()
    assert primed(Payload(facts=(Piece("f", 1),)), off) == Payload()


def test_a_piece_that_does_not_fit_is_passed_over() -> None:
    found = Payload(facts=(Piece("f0", 60), Piece("f1", 60), Piece("f2", 40)), insights=(Piece("i0", 1),))
    kept = primed(found, Priming(token_budget=100))
    assert (refs(kept.facts), refs(kept.insights)) == (["f0", "f2"], [])


@given(payloads, st.integers(0, 3000), st.integers(0, 5))
def test_priming_never_exceeds_its_tokens_or_numbers(found: Payload, tokens: int, most: int) -> None:
    kept = primed(found, Priming(token_budget=tokens, max_insights=most, max_known_facts=most))
    assert kept.tokens <= tokens
    assert len(kept.insights) <= most and len(kept.facts) <= most
    assert kept.history == kept.prior == kept.passages == ()
