"""The hard bound: nothing that is sent exceeds the window, or a clear error says what is too large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.errors import ContextTooLarge
from runtime.memory.bound import BOUND_STAGE, Part, bounded, fit
from runtime.memory.cascade_stages import STAGES, Cascade, overhead_of
from runtime.memory.payload import Payload, Piece, gone
from tests.runtime.memory.test_cascade import payloads, refs


@given(payloads, st.lists(st.integers(0, 400), max_size=4), st.integers(0, 4000))
def test_what_is_sent_never_exceeds_the_limit(payload: Payload, sizes: list[int], limit: int) -> None:
    required = [Part(f"part {i}", size) for i, size in enumerate(sizes)]
    if sum(sizes) > limit:
        with pytest.raises(ContextTooLarge, match=f"{sum(sizes):,} tokens"):
            fit(payload, required, limit)
        return
    pruned = fit(payload, required, limit)
    formatting = overhead_of(pruned.payload, Cascade()) if pruned.payload.pieces() else 0
    assert sum(sizes) + pruned.tokens + formatting <= limit
    assert pruned.fits
    kept = {(section, piece.ref) for section, piece in pruned.payload.pieces()}
    assert len(kept) + len(pruned.dropped) == len(payload.pieces())


NEEDED = Cascade(take="needed", redundant_from=0)


@given(payloads, st.integers(0, 6000))
def test_no_more_goes_than_is_needed_and_no_stage_before_the_one_before_it(
    payload: Payload, limit: int
) -> None:
    def sizing(left: Payload) -> int:
        return left.tokens + 7 * len(left.pieces())

    pruned = bounded(payload, limit, NEEDED, sizing)
    left = pruned.payload
    assert bounded(payload, limit, NEEDED, sizing) == pruned, "deterministic"
    assert sizing(left) == pruned.tokens + pruned.overhead
    assert sizing(left) <= limit or not left.pieces()
    assert len(left.pieces()) + len(pruned.dropped) == len(payload.pieces())
    last = max((drop.stage for drop in pruned.dropped), default=0)
    for name, rule in STAGES[: max(0, last - 1)]:
        assert not gone(left, rule(left, NEEDED), ""), f"{name} was to go before stage {last}"
    assert [gave.pieces for gave in pruned.gave] == [
        sum(drop.stage == gave.stage for drop in pruned.dropped) for gave in pruned.gave
    ]
    assert all(gave.before > limit for gave in pruned.gave), "a stage begins only where it must"
    if last and sizing(left) <= limit:
        pieces = dict(
            zip(((section, piece.ref) for section, piece in payload.pieces()), payload.pieces(), strict=True)
        )
        went = [pieces[drop.section, drop.ref] for drop in pruned.dropped if drop.stage == last]
        assert any(sizing(with_one(left, *each)) > limit for each in went), "something went in vain"


def with_one(payload: Payload, section: str, piece: Piece) -> Payload:
    """The payload with one more piece; its place does not matter for the size."""
    return replace(payload, **{section: (*getattr(payload, section), piece)})


def test_results_of_tools_and_the_plan_are_the_last_to_go() -> None:
    payload = Payload(
        history=(Piece("t0", 50),), facts=(Piece("f0", 50),), tools=(Piece("hint", 5),),
        results=(Piece("r0", 50), Piece("r1", 50)), state=(Piece("plan", 20),),
    )  # fmt: skip
    left = [
        bounded(payload, limit, NEEDED, lambda some: some.tokens) for limit in (224, 219, 169, 119, 69, 19)
    ]
    assert [[piece.ref for _, piece in each.payload.pieces()] for each in left] == [
        ["t0", "f0", "r0", "r1", "plan"],
        ["t0", "r0", "r1", "plan"],
        ["r0", "r1", "plan"],
        ["r1", "plan"],
        ["plan"],
        [],
    ]
    assert [each.gave[-1].stage for each in left] == [9, 9, *[BOUND_STAGE] * 4]


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
    assert (
        "takes 5,900 tokens and 4,000 are available: the newest message 5,000, the instructions 900"
        in str(caught.value)
    )
    assert caught.value.remedy is not None and caught.value.remedy.startswith("Shorten the newest message")


@pytest.mark.parametrize("limit", [0, 100])
def test_what_must_be_sent_may_fill_the_window(limit: int) -> None:
    pruned = fit(Payload(facts=(Piece("f", 1),)), [Part("the instructions", limit)], limit)
    assert pruned.payload == Payload() and pruned.fits
