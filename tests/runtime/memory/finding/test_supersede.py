"""What a later statement replaces, and what it must leave alone."""

from __future__ import annotations

from datetime import datetime

import pytest

from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.items import Item
from tests.runtime.memory.finding.build import LATER, day, ids, index_of, item


def told(*texts: str) -> list[Item]:
    return [item(str(number), text, 10 * number) for number, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["Marta lives in Oslo.", "Marta moved to Ghent in spring."], "Where does Marta live?"),
        (["I work as a florist.", "I quit and now work as a pilot."], "What is my job?"),
        (
            ["Marta's email is m@old.example.", "Use another email for Marta from now on: m@new.example"],
            "Marta's email?",
        ),
        (
            ["My desk phone is extension 41.", "My phone changed, dial 77."],
            "On which phone can you reach me?",
        ),
        (["I support the Rovers.", "I no longer follow them, I support Albion."], "Which team do I support?"),
        (["My alarm rings at 6:10.", "My alarm is set to 7:05 from now on."], "When does my alarm ring?"),
        (["我的电话是12345。", "我的电话换成67890。"], "我的电话是多少？"),
        (["我住在广州。", "我搬到上海了。"], "我住在哪里？"),
        (
            ["I live in Oslo.", "I moved to Ghent.", "I relocated to Porto for good."],
            "In which city do I live?",
        ),
    ],
)
def test_recall_shows_only_the_last_word_on_a_thing(texts: list[str], query: str) -> None:
    index = index_of(*told(*texts))
    recalled = index.recall(query, 500, LATER, explain=True)
    last = str(len(texts) - 1)
    assert ids(recalled) == [last]
    assert {(one.reason, one.by) for one in recalled.skipped} == {("superseded", last)}


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["Marta lives in Oslo.", "Pavel moved to Ghent in spring."], "Where does Marta live?"),
        (["Marta lives in Oslo.", "Marta's cousin moved to Ghent in spring."], "Where does Marta live?"),
        (["My desk is in room 12.", "My bike was moved to level 2."], "In which room is my desk?"),
        (["I live in Oslo.", "My cousin moved to Ghent in spring."], "Where do I live?"),
        (["I live in Oslo.", "If I could, I would have moved to Ghent."], "Where do I live?"),
        (["I live in Oslo.", "Should I have moved to Ghent instead?"], "Where do I live?"),
        (["I live in a flat in Oslo.", "My flat has new curtains now."], "Where do I live?"),
        (["Marta lives in Oslo.", "Marta likes living rooms with a view."], "Where does Marta live?"),
        (["Marta works on Payments.", "Marta switched to a vegan diet."], "What does Marta work on?"),
        (["Marta drives a Saab.", "Marta drives on Sundays."], "Which car does Marta drive?"),
        (["Marta plays chess.", "Marta took up fencing."], "What does Marta do in her free time?"),
        (["Marta lives in Oslo.", "Marta moved to Ghent in spring."], "Where did Marta live before?"),
        (["Marta lives in Oslo.", "Marta moved to Ghent in spring."], "Who lives in Scandinavia?"),
        (["My meeting is on Monday.", "My meeting moved to Friday."], "List all my meetings."),
        (["My meeting with Ines is on Monday.", "My meeting moved to Friday."], "When do I meet Ines?"),
    ],
)
def test_recall_leaves_what_is_not_replaced(texts: list[str], query: str) -> None:
    assert set(ids(index_of(*told(*texts)).recall(query, 500, LATER))) == {"0", "1"}


def test_recall_learns_what_a_value_is_from_other_statements() -> None:
    index = index_of(
        *told(
            "Pavel drives a Tatra.",
            "Ines drives a Tatra and likes it.",
            "Ines drives a Wartburg.",
            "Marta drives a Wartburg.",
            "Marta sold it and bought a Tatra.",
        )
    )
    assert ids(index.recall("Which car does Marta drive?", 500, LATER))[0] == "4"
    assert "3" not in ids(index.recall("Which car does Marta drive?", 500, LATER))


def test_recall_gives_the_current_statement_the_place_of_the_old_one() -> None:
    fillers = [
        item(f"f{number}", f"Marta told story {number} about the harbour", number) for number in range(30)
    ]
    index = index_of(*fillers, *told("Marta lives in Oslo.", "Packed and gone: Marta relocated to Ghent."))
    assert ids(index.recall("Where does Marta live?", 60, LATER))[0] == "1"


def test_recall_moves_back_what_is_probably_outdated_and_still_shows_it() -> None:
    index = index_of(
        *told(
            "My kayak is red, with a seat.", "I planted a tree.", "I now keep a kayak with sails at the lake."
        ),
        config=FindingConfig(replace_floor=9.0),
    )
    assert ids(index.recall("What kayak do I have?", 500, LATER)) == ["2", "1", "0"]


def test_the_later_of_two_alike_goes_first_where_nothing_tells_of_a_change() -> None:
    index = index_of(*told("Marta plays chess at the club.", "Marta plays go at the club."))
    assert ids(index.recall("What does Marta play at the club?", 500, LATER)) == ["1", "0"]


def test_recall_without_supersession_shows_both() -> None:
    index = index_of(
        *told("Marta lives in Oslo.", "Marta moved to Ghent in spring."),
        config=FindingConfig(supersede=False),
    )
    assert set(ids(index.recall("Where does Marta live?", 500, LATER))) == {"0", "1"}


def test_erasing_the_statement_that_taught_a_value_unteaches_it() -> None:
    index = index_of(*told("Pavel drives a Tatra.", "Marta drives a Saab.", "Marta bought a Tatra."))
    index.add([item("t", "Ines drives a Tatra.", 1)])
    assert "1" not in ids(index.recall("Which car does Marta drive?", 500, LATER))
    index.remove(["0", "t"])
    assert "1" in ids(index.recall("Which car does Marta drive?", 500, LATER))


def state(
    item_id: str, text: str, on: int, ended: datetime | None = None, attribute: str = "works on"
) -> Item:
    return item(item_id, text, on, subject="Ada", attribute=attribute, ended=ended)


def seen(items: list[Item], on: int) -> set[str]:
    return set(ids(index_of(*items).recall("What does Ada work on? Payments?", 500, day(on))))


def test_states_of_one_attribute_are_current_in_turn_whatever_the_order_they_come_in() -> None:
    states = [
        state("payments", "Ada works on Payments", 0, ended=day(90)),
        state("payments again", "Ada works on Payments, too", 150),
        state("search", "Ada works on Search", 200),
    ]
    for order in (states, states[::-1], [states[1], states[2], states[0]]):
        assert seen(order, 30) == {"payments"}
        assert seen(order, 100) == set()
        assert seen(order, 160) == {"payments again"}
        assert seen(order, 210) == {"search"}


def test_states_retire_nothing_of_other_subjects_or_attributes() -> None:
    others = [
        item(f"o{number}", f"Ada works on hobby {number} in Payments street", number) for number in range(10)
    ]
    place = state("place", "Ada works on the third floor", 10, attribute="works at")
    assert seen([*others, place, state("new", "Ada works on Search", 20)], 30) >= {
        "place",
        *(o.id for o in others),
    }


def test_retired_items_take_no_place_of_current_ones() -> None:
    stale = [state(f"s{number:03}", f"Ada works on Payments {number}", number) for number in range(200)]
    recalled = index_of(*stale).recall("What does Ada work on? Payments?", 4000, LATER, explain=True)
    assert ids(recalled) == ["s199"]
    assert recalled.skipped == ()


def test_erasing_the_current_state_does_not_bring_back_the_old() -> None:
    index = index_of(state("old", "Ada works on Payments", 0), state("new", "Ada works on Search", 20))
    index.remove(["new"])
    assert ids(index.recall("What does Ada work on?", 500, LATER)) == []
    assert ids(index.recall("What does Ada work on?", 500, day(10))) == ["old"]
