"""Extractive summaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.models.extract import sentences, summary_of


@given(st.text(max_size=400), st.integers(1, 5))
def test_summary_is_made_of_sentences_of_the_text(text: str, count: int) -> None:
    summary = summary_of(text, count)
    assert len(summary) <= 600
    if not summary.endswith("…"):
        kept = [part for part in sentences(text) if part in summary]
        assert not summary or kept


def test_summary_keeps_the_order_of_the_text_and_repeats_nothing() -> None:
    text = "Tea is grown in hills. Tea hills need rain. Nobody came. Tea is grown in hills. Rain feeds tea."
    assert summary_of(text, 2) == "Tea is grown in hills. Tea hills need rain."


def test_summary_of_nothing_is_nothing() -> None:
    assert summary_of("") == "" and summary_of(" \n ") == ""


def test_summary_reads_chinese_sentences() -> None:
    assert summary_of("茶生长在山上。雨水很多。", 1) == "茶生长在山上。"
