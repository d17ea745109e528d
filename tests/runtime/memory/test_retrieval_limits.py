"""How many items are fetched for a token limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.priming import Priming
from runtime.memory.retrieval_limits import RetrievalLimits, Shares, retrieval_limits
from tests.runtime.memory.golden import table


@pytest.mark.golden
@pytest.mark.parametrize(("limit", "turns", "prior", "priming", "result"), table("limits")["limits"])
def test_limits_divide_the_tokens_by_shares(
    limit: int, turns: int, prior: bool, priming: dict[str, Any], result: dict[str, Any]
) -> None:
    assert retrieval_limits(limit, turns, Priming(**priming), include_prior=prior) == RetrievalLimits(
        **result
    )


@given(st.integers(0, 300_000), st.integers(0, 100), st.booleans())
def test_limits_never_pass_what_priming_allows(limit: int, turns: int, prior: bool) -> None:
    priming = Priming()
    result = retrieval_limits(limit, turns, priming, include_prior=prior)
    assert result.history <= turns and result.insights <= priming.max_insights
    assert result.summaries <= priming.max_summaries and result.relationships <= priming.max_known_facts
    assert result.prior_turns == 0 or prior
    assert min(result) >= 0


def test_the_parts_make_a_whole() -> None:
    shares = Shares()
    parts = (shares.history, shares.insights, shares.summaries, shares.entities, shares.prior)
    assert sum(share.part for share in parts) == pytest.approx(1)
