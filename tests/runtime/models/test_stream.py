"""Server-sent events, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.stream import EventLines

STREAM = (
    b': hello\n\nevent: x\nid: 1\ndata: {"a": 1}\n\ndata:two\n\n'
    b"data: three\ndata: four\n\n\n\nretry: 5\n\ndata: [DONE]\n\n"
)
EVENTS = [b'{"a": 1}', b"two", b"three\nfour", b"[DONE]"]


def read(pieces: list[bytes]) -> list[bytes]:
    lines = EventLines()
    found = [event for piece in pieces for event in lines.feed(piece)]
    return found + list(lines.rest())


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@given(cuts=st.lists(st.integers(0, 140), max_size=8))
def test_stream_reads_the_same_events_however_it_is_cut(ending: bytes, cuts: list[int]) -> None:
    data = STREAM.replace(b"\n", ending)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    assert read([data[a:b] for a, b in pairwise(places)]) == EVENTS


def test_stream_reads_single_bytes() -> None:
    assert read([bytes([byte]) for byte in STREAM.replace(b"\n", b"\r\n")]) == EVENTS


def test_stream_reads_an_event_without_its_blank_line() -> None:
    assert read([b"data: one\n\ndata: two"]) == [b"one", b"two"]


def test_stream_gives_nothing_for_nothing() -> None:
    assert read([]) == [] and read([b"", b": comment\n", b"\n"]) == []
