"""Terms of texts: words, numbers, scripts without spaces, dates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding.irregular import BASES
from runtime.memory.finding.tokens import Tokens, date_words
from tests.runtime.memory.finding.build import day


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("Tomas's car", "the car of Tomas"),
        ("Málaga", "MALAGA"),
        ("4,000", "4000"),
        ("09:30", "9:30"),
        ("we don’t dance", "we don't dance"),
        ("ﬁnance", "finance"),
    ],
)
def test_terms_same_for_spellings_of_one_thing(one: str, other: str) -> None:
    tokens = Tokens()
    assert sorted(tokens.terms(one)) == sorted(tokens.terms(other)) != []


@pytest.mark.parametrize(("one", "other"), [("4.5", "45"), ("20", "200"), ("university", "car")])
def test_terms_differ_for_different_things(one: str, other: str) -> None:
    tokens = Tokens()
    assert not set(tokens.terms(one)) & set(tokens.terms(other))


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("我的上司喜欢玩电子游戏。", "游戏"),
        ("明日は東京で会議があります", "会議"),
        ("내일 서울에서 회의가 있습니다", "회의"),
        ("พรุ่งนี้มีประชุมที่กรุงเทพ", "ประชุม"),
    ],
)
def test_terms_of_a_word_are_inside_those_of_a_sentence_without_spaces(sentence: str, word: str) -> None:
    tokens = Tokens()
    assert set(tokens.terms(word)) <= set(tokens.terms(sentence))


def test_terms_mixed_scripts_are_split_at_the_border() -> None:
    assert "redmi" in Tokens().terms("我的手机是Redmi12很好用")


def test_terms_of_function_words_only_are_empty() -> None:
    assert Tokens().terms("What is it that you did to them?") == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("buy", "bought"),
        ("chosen", "chose"),
        ("writing", "wrote"),
        ("child", "children"),
        ("women", "woman's"),
    ],
)
def test_terms_of_irregular_forms_are_those_of_their_base(asked: str, said: str) -> None:
    tokens = Tokens()
    assert tokens.terms(asked) == tokens.terms(said)


def test_an_irregular_form_has_one_base_which_is_no_form_itself() -> None:
    assert not BASES.keys() & set(BASES.values())


def test_forget_leaves_no_word_behind() -> None:
    tokens = Tokens()
    tokens.terms("heron")
    tokens.forget()
    assert "heron" not in repr(vars(tokens))


def test_date_words_are_found_by_how_people_name_days() -> None:
    tokens = Tokens()
    assert set(tokens.terms("Wednesday 1 January 2025")) == set(tokens.terms(date_words(day(0))))


@given(st.text())
def test_terms_are_the_same_each_time_and_never_blank(text: str) -> None:
    tokens = Tokens()
    first = tokens.terms(text)
    assert tokens.terms(text) == first == Tokens().terms(text)
    assert all(term.strip() for term in first)
