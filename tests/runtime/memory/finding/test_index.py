"""The index: finding, keeping in step, erasing, answering as of a time."""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from types import FunctionType, ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.index import MemoryIndex
from runtime.memory.finding.items import Item
from tests.runtime.memory.finding.build import LATER, day, ids, index_of, item

NOTES = (
    item("bike", "My bicycle is a green Brompton with a leather saddle", 1),
    item("tea", "Earl Grey with a slice of lemon is what I drink in the afternoon", 2),
    item("boat", "We rented a small boat on the lake near Annecy", 3),
    item("shelf", "The bookshelf in the hall needs a third bracket", 4),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which bicycles do I have?", "bike"),
        ("something to drink with lemons", "tea"),
        ("renting boats", "boat"),
        ("What happened on Saturday 4 January?", "boat"),
    ],
)
def test_recall_ranks_what_answers_first(query: str, first: str) -> None:
    assert ids(index_of(*NOTES).recall(query, 500, LATER))[0] == first


def test_recall_finds_a_chinese_word_inside_a_sentence() -> None:
    index = index_of(*NOTES, item("zh", "我的上司喜欢玩电子游戏。", 5), item("zh2", "我妹妹在广州学医。", 6))
    assert ids(index.recall("游戏", 500, LATER))[0] == "zh"


def test_recall_of_an_empty_index_or_budget_is_empty() -> None:
    assert ids(MemoryIndex().recall("anything", 500, LATER)) == []
    assert ids(index_of(*NOTES).recall("tea", 0, LATER)) == []


def test_recall_parts_add_up_to_the_score() -> None:
    index = index_of(*NOTES, item("long", "lemon " * 300, 7))
    recalled = index.recall("Do I take lemon in my tea?", 900, LATER, explain=True)
    explained = recalled.explained()
    assert set(explained[0]) == {"lexical", "self", "standing", "length", "topic"}
    for hit, parts in zip(recalled.hits, explained, strict=True):
        assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-4)


def test_recall_reports_what_was_too_large_and_packs_the_smaller() -> None:
    index = index_of(*NOTES, item("essay", "lemon tea " * 200, 8, tokens=400))
    recalled = index.recall("lemon tea", 100, LATER, explain=True)
    assert "tea" in ids(recalled)
    assert [(one.id, one.reason) for one in recalled.skipped if one.id == "essay"] == [("essay", "too_large")]


def test_recall_shows_the_same_words_once_as_said_last() -> None:
    index = index_of(
        item("a", "Lemon in the tea, please", 1), item("b", "Lemon in the tea, please", 2), *NOTES
    )
    recalled = index.recall("lemon tea", 500, LATER, explain=True)
    assert {"a", "b"} & set(ids(recalled)) == {"b"}
    assert {one.reason for one in recalled.skipped} == {"repeated"}


def test_recall_boosts_the_named_speaker() -> None:
    turns = [
        item("1", "The concert was loud and wonderful", 1, speaker="Noor", session="s"),
        item("2", "The concert was loud and wonderful too", 1, speaker="Piet", session="s"),
        *NOTES,
    ]
    assert ids(index_of(*turns).recall("How did Piet find the concert?", 500, LATER))[0] == "2"


def test_recall_takes_an_answer_along_with_its_question() -> None:
    turns = [
        item("q", "Where should the anniversary dinner be?", 1, session="s"),
        item("a", "Chez Odette, on the terrace", 1, session="s", speaker="assistant", by_user=False),
        *(item(f"n{number}", f"Note {number} about painting fences", 2, session="t") for number in range(20)),
    ]
    assert set(ids(index_of(*turns).recall("anniversary dinner", 500, LATER))[:2]) == {"q", "a"}


def test_turns_pass_on_less_the_further_they_are_and_nothing_beyond_their_reach() -> None:
    texts = ["a heron stood there", *(f"a {word} stood there" for word in WORDS[1:6])]
    turns = [item(str(number), text, 1, session="s", tokens=10) for number, text in enumerate(texts)]
    config = FindingConfig(session_share=0, standing_boost=0)
    scores = _scores(index_of(*turns, config=config), "heron")
    assert scores["0"] > scores["1"] > scores["2"] > scores["3"] > scores["4"] == scores["5"]
    steps = [scores[str(number)] - scores["5"] for number in (1, 2, 3)]
    assert steps[1] == pytest.approx(steps[0] / 2, rel=1e-3)
    assert steps[2] == pytest.approx(steps[0] / 4, rel=1e-3)


def test_recall_leaves_the_current_session_out() -> None:
    index = index_of(*(replace(note, session="old") for note in NOTES[:2]), replace(NOTES[2], session="now"))
    assert "boat" not in ids(index.recall("boat on the lake", 500, LATER, without_session="now"))


def test_recall_keeps_standing_instructions_near() -> None:
    rule = item("rule", "Always answer in metric units", 1)
    others = [item(f"n{number}", f"Page {number} of the atlas shows rivers", 2) for number in range(40)]
    assert "rule" in ids(index_of(rule, *others).recall("How far is it to Ghent?", 100, LATER))


def test_recall_as_of_a_time_sees_only_what_was_current_then() -> None:
    index = index_of(*NOTES)
    index.retire("tea", day(10))
    assert "tea" in ids(index.recall("tea with lemon", 500, day(9)))
    assert "tea" not in ids(index.recall("tea with lemon", 500, day(11)))
    assert "boat" not in ids(index.recall("boat", 500, day(2)))


def test_add_with_a_known_id_replaces_and_keeps_the_neighbours() -> None:
    turns = [
        item(str(number), f"a {word} stood there", 1, session="s") for number, word in enumerate(WORDS[3:7])
    ]
    index = index_of(*turns)
    index.add([replace(turns[1], text="a heron stood there")])
    assert len(index) == 4
    assert ids(index.recall("heron", 500, LATER))[:2] == ["1", "2"]
    assert set(_scores(index, WORDS[4]).values()) == {0}


def test_decay_is_off_by_default_and_prefers_the_new_when_set() -> None:
    old, new = (
        item("old", "the ferry to Calais was late", 1),
        item("new", "the ferry to Dover was late", 3000),
    )
    words = "ferry late Calais"
    assert ids(index_of(old, new, *NOTES).recall(words, 500, LATER))[0] == "old"
    config = FindingConfig(half_life_days=30)
    assert ids(index_of(old, new, *NOTES, config=config).recall(words, 500, LATER))[0] == "new"


def test_remove_leaves_no_trace_of_a_word_in_memory() -> None:
    index = index_of(*NOTES)
    index.add(
        [item("secret", "The password hint is quixotical-heronry, told by Xanthippe", 5, speaker="Xanthippe")]
    )
    index.add(
        [
            item(
                "secret2",
                "Xanthippe quixotical",
                6,
                session="heronry-session",
                subject="heronry",
                attribute="x",
            )
        ]
    )
    index.add([item("secret3", "Who is Xanthippe? What is heronry!", 7)])
    index.recall("quixotical heronry", 500, LATER)
    index.remove(["secret", "secret2"])
    index.recall("heronry of Xanthippe", 500, LATER)
    index.remove(["secret3", "unknown"])
    assert len(index) == len(NOTES)
    held = _strings(index)
    assert held and not [
        text for text in held for word in ("quixot", "heronry", "xanthipp") if word in text.lower()
    ]


def _strings(root: object) -> set[str]:
    """Every string reachable from an object of ours through containers and instances."""
    seen: set[int] = set()
    found: set[str] = set()
    open_ends: list[object] = [root]
    while open_ends:
        thing = open_ends.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType | FunctionType):
            continue
        seen.add(id(thing))
        if isinstance(thing, str):
            found.add(thing)
        else:
            open_ends.extend(gc.get_referents(thing))
    return found


WORDS = [
    "heron",
    "lake",
    "tea",
    "lemon",
    "boat",
    "bicycle",
    "shelf",
    "concert",
    "ferry",
    "atlas",
    "river",
    "dinner",
]


@given(st.integers(0, 2**32), st.integers(0, 400))
def test_recall_never_exceeds_the_budget_and_shows_nothing_twice(seed: int, budget: int) -> None:
    chance = random.Random(seed)
    index = index_of(*(_random_item(chance, str(number)) for number in range(30)))
    recalled = index.recall(" ".join(chance.choices(WORDS, k=3)), budget, LATER)
    assert recalled.used == sum(hit.tokens for hit in recalled.hits) <= budget
    assert len(set(ids(recalled))) == len(recalled.hits)


@settings(max_examples=30)  # each takes forty steps
@given(st.integers(0, 2**32))
def test_index_kept_in_step_answers_like_one_built_anew(seed: int) -> None:
    chance = random.Random(seed)
    grown, kept = MemoryIndex(), dict[str, Item]()
    for number in range(40):
        name = str(chance.randrange(15))
        one = _random_item(chance, name, session=f"s{int(name) % 4}")
        start = chance.choice(["", "I like the ", "My desk moved to "])
        # Of statements of one moment the order decides, which is another where a place was given again.
        one = replace(one, text=start + one.text, at=day(number))
        grown.add([one])
        kept[one.id] = one
        if number % 3 == 0:
            gone = chance.choice(list(kept))
            grown.remove([gone])
            del kept[gone]
        # What is remembered only to be fast is there when the next is written.
        grown.recall("What is my " + chance.choice(WORDS), 100, LATER)
    anew = index_of(*kept.values())
    query = "What is my " + " ".join(chance.choices(WORDS, k=3))
    assert _scores(grown, query) == pytest.approx(_scores(anew, query), abs=1e-4)


def _scores(index: MemoryIndex, query: str) -> dict[str, float]:
    return {hit.id: hit.score for hit in index.recall(query, 10_000, LATER).hits}


def _random_item(chance: random.Random, item_id: str, session: str | None = None) -> Item:
    text = f"{item_id} " + " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))
    place = chance.choice(["", "s", "t"]) if session is None else session
    return item(item_id, text, chance.randrange(50), tokens=chance.randint(1, 60), session=place)
