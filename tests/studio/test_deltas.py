"""Text of calls in flight: joined for a moment, and never a piece of a secret."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from runtime.secrets.redact import Redactor
from studio.deltas import Live

SECRET = "sk-Zq9XvB7wLm3KdTr8"


def texts(frames: list[bytes]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(frame.removeprefix(b"event: delta\ndata: ")) for frame in frames]


@given(st.text(max_size=30), st.text(max_size=30), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_secret_never_streams_in_pieces(before: str, after: str, sizes: list[int]) -> None:
    """However a reply is cut into pieces, what was streamed joins to the redacted text, or a part of it."""
    whole = before + SECRET + after
    frames: list[bytes] = []
    redactor = Redactor({"api": SECRET})

    async def speak() -> None:
        live = Live(redactor, frames.append)
        live.opened("r", "n", "c")
        at = 0
        for size in (sizes * len(whole))[: len(whole)]:
            live.heard("n", whole[at : at + size])
            at += size
            live.flush()

    asyncio.run(speak())
    sent = ""
    for delta in texts(frames):
        assert delta["offset"] == len(sent)
        sent += delta["text"]
    assert redactor.text(whole).startswith(sent)
    assert SECRET[:6] not in sent.replace(before, "", 1)


def test_pieces_are_joined_and_a_new_call_begins_at_0() -> None:
    frames: list[bytes] = []

    async def speak() -> list[bytes]:
        live = Live(None, frames.append)
        live.heard("n", "nobody speaks")
        live.opened("r", "n", "c1")
        for word in ("a", "b", "c"):
            live.heard("n", word)
        await asyncio.sleep(0.05)
        live.heard("n", "d")
        live.closed("n")
        live.opened("r", "n", "c2")
        live.heard("n", "e")
        live.flush()
        return live.so_far()

    so_far = asyncio.run(speak())
    found = [(d["call"], d["offset"], d["text"]) for d in texts(frames)]
    assert found == [("c1", 0, "abc"), ("c1", 3, "d"), ("c2", 0, "e")]
    assert [(d["call"], d["text"]) for d in texts(so_far)] == [("c2", "e")]
