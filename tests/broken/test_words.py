"""What a timeline says of a budget whose limit is not at hand, as after the death of a process."""

from __future__ import annotations

import pytest

from runtime.events import Gauge
from runtime.ledger import gauge_text


@pytest.mark.promise("LED-4")
@pytest.mark.parametrize(("limit", "words"), [(None, "$0.02 for"), (1_000_000_000, "$0.02 of $1.00 for")])
def test_a_limit_that_is_not_at_hand_is_not_called_unknown(limit: int | None, words: str) -> None:
    shown = Gauge(
        budget="b", pot="f/b", metric="spend", period="session", used=20_000_000, held=0, limit=limit
    )
    assert gauge_text(shown).startswith(words)
    assert "unknown" not in gauge_text(shown)
