"""The hard bound: nothing that is sent exceeds the window, or a clear error says what is too large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ContextTooLarge
from runtime.memory.bound import Part, fit
from runtime.memory.cascade import Cascade, overhead_of
from runtime.memory.payload import Payload, Piece
from tests.runtime.memory.test_cascade import payloads, refs


@given(payloads, st.lists(st.integers(0, 400), max_size=4), st.integers(0, 4000))
def test_what_is_sent_never_exceeds_the_limit(payload: Payload, sizes: list[int], limit: int) -> None:
    required = [Part(f"part {i}", size) for i, size in enumerate(sizes)]
    if sum(sizes) > limit:
        with pytest.raises(ContextTooLarge, match=f"{sum(sizes)} tokens"):
            fit(payload, required, limit)
        return
    pruned = fit(payload, required, limit)
    formatting = overhead_of(pruned.payload, Cascade()) if pruned.payload.pieces() else 0
    assert sum(sizes) + pruned.tokens + formatting <= limit
    assert pruned.fits
    kept = {(section, piece.ref) for section, piece in pruned.payload.pieces()}
    assert len(kept) + len(pruned.dropped) == len(payload.pieces())


def test_passages_go_before_turns_and_old_turns_before_new_ones() -> None:
    payload = Payload(
        history=tuple(Piece(f"t{i}", 200) for i in range(3)),
        passages=(Piece("p0", 50, 0.9, None, "short_term"), Piece("p1", 50, 0.8, None, "short_term")),
    )
    wide = fit(payload, [], 205 + 2 * 260 + 75)
    assert (refs(wide.payload.history), refs(wide.payload.passages)) == (["t1", "t2"], ["p0", "p1"])
    assert refs(fit(payload, [], 10 + 2 * 260 + 75).payload.passages) == ["p0"]
    assert refs(fit(payload, [], 530).payload.history) == ["t1", "t2"]
    assert refs(fit(payload, [], 529).payload.history) == ["t2"]
    assert fit(payload, [], 269).payload == Payload()


def test_the_error_names_what_is_too_large_and_what_to_do() -> None:
    required = [Part("the instructions", 900), Part("the newest message", 5000), Part("blocks", 0)]
    with pytest.raises(ContextTooLarge) as caught:
        fit(Payload(), required, 4000)
    assert caught.value.code == "context.too_large"
    assert "takes 5900 tokens and 4000 are available: the newest message 5000, the instructions 900" in str(
        caught.value
    )
    assert caught.value.remedy is not None and caught.value.remedy.startswith("Shorten the newest message")


@pytest.mark.parametrize("limit", [0, 100])
def test_what_must_be_sent_may_fill_the_window(limit: int) -> None:
    pruned = fit(Payload(facts=(Piece("f", 1),)), [Part("the instructions", limit)], limit)
    assert pruned.payload == Payload() and pruned.fits
