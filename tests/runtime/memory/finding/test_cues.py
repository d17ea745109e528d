"""Wordings, and that looking for them only where a word lets expect them misses none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.finding import cues
from runtime.memory.finding.cues import Marks
from runtime.memory.finding.tokens import Tokens

ANYTHING = frozenset(["standing", "first person", "others", "unreal", "change"])
READINGS: tuple[Callable[[str, Marks], bool], ...] = (
    cues.is_standing,
    cues.is_first_person,
    cues.is_about_self,
    cues.is_about_others,
    cues.is_statement,
    cues.tells_change,
)
WORDS = """
from now on no longer more any anymore instead as of relocated switched gave it up took starts over
went always never make sure don't ever remember to whenever I when ask we usually prefer please use my dear
cousin Ivo's if would grandmother thinking about changed her mind wishes years ago I'm Porto tea . , ; ! ?
2031 Dr. 不再 我 游戏 Zoë
"""


def marks(text: str) -> Marks:
    return Tokens().read(text).marks


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join))
def test_a_wording_is_found_as_if_it_were_looked_for_everywhere(text: str) -> None:
    for reading in READINGS:
        assert reading(text, marks(text)) == reading(text, ANYTHING)


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        (cues.is_standing, "Thanks. Don't ever call before noon"),
        (cues.is_standing, "When I ask for prices, give them in kroner"),
        (cues.is_standing, "请记住我的名字"),
        (cues.is_first_person, "I'm off to Porto"),
        (cues.is_about_self, "My dear old house is sold"),
        (cues.is_about_others, "Ivo's older cousin is from Porto"),
        (cues.is_statement, "Dr. Vos sees patients on Mondays."),
        (cues.tells_change, "We don't meet there ANYMORE"),
        (cues.tells_change, "She gave sugar up"),
        (cues.tells_change, "我不再喝茶"),
    ],
)
def test_a_wording_is_found(reading: Callable[[str, Marks], bool], text: str) -> None:
    assert reading(text, marks(text))


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        (cues.is_standing, "It always rains in Bergen"),
        (cues.is_first_person, "Ivo has a mineral water"),
        (cues.is_about_self, "My dear grandmother is from Porto"),
        (cues.is_about_others, "Ivo's bike is from Porto"),
        (cues.is_statement, "Perhaps we meet in Porto"),
        (cues.is_statement, "We met. It rained"),
        (cues.tells_change, "They longed for more"),
    ],
)
def test_other_words_are_no_such_wording(reading: Callable[[str, Marks], bool], text: str) -> None:
    assert not reading(text, marks(text))
