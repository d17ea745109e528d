"""Made-up conversations with questions, the same for the same seed: people whose circumstances change, among
small talk that mentions the same things without stating them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

from runtime.memory.finding.scenarios import Conversation, Question, Scenario, Turn
from tests.runtime.memory.finding.build import START

PEOPLE = ("I", "Odile", "Bram", "Yusuf")


@dataclass(frozen=True)
class Attribute:
    """Values, first statements, later statements and questions; `{who}` and `{value}` are filled in."""

    values: tuple[str, ...]
    first: tuple[str, ...]
    later: tuple[str, ...]
    asked: tuple[str, ...]


ATTRIBUTES = {
    "school": Attribute(
        ("geology", "law", "dentistry", "botany", "acoustics"),
        ("{who} study {value} at university.", "{whose} degree will be in {value}."),
        ("{who} switched courses and enrolled in {value}.", "{whose} degree changed, {value} it is."),
        ("Which degree {do} {who} study for?", "What {do} {who} study at university?"),
    ),
    "email": Attribute(
        ("kite@mail.example", "oak@post.example", "mint@box.example", "flint@mx.example"),
        ("{whose} email is {value}.", "Mail for {who} goes to {value}."),
        ("{whose} email changed to {value}.", "From now on {whose} inbox is {value}."),
        ("What is {whose} email?", "To which email {do} {who} want messages?"),
    ),
    "gym": Attribute(
        ("Ironworks", "Velvet Barbell", "Dockside", "Summit Hall"),
        ("{who} train at the gym {value}.", "For exercise {who} visit {value}."),
        ("{who} left the old gym and switched to {value}.", "{whose} gym membership is with {value} now."),
        ("Which gym {do} {who} use for exercise?", "At which gym {do} {who} train?"),
    ),
    "home": Attribute(
        ("Delft", "Trieste", "Aarhus", "Coimbra", "Tartu"),
        ("{who} live in {value}.", "{whose} flat is in {value}, third floor."),
        ("{who} moved house, {value} it is.", "The lease ran out and {who} relocated to {value}."),
        ("Where {do} {who} live?", "In which city is {whose} home?"),
    ),
}
SMALL_TALK = (
    "A poster for {value} hung in the tram.",
    "If things were different I would try {value}.",
    "Somebody on the radio went on about {value}.",
    "The soup was too salty again.",
    "Could you suggest a film about lighthouses?",
    "My neighbour sings in the stairwell.",
    "We planted beans behind the shed.",
    "The bus broke down near the bridge.",
)
REPLIES = ("All right.", "Thank you, noted.", "Good to know.", "I see. Shall we go on?")


def make_scenario(seed: int, sessions: int = 24) -> Scenario:
    """One user's `sessions` conversations, with one question for each person and attribute."""
    chance = random.Random(seed)
    told: dict[tuple[str, str], list[Turn]] = {}
    conversations = []
    for number in range(sessions):
        turns: list[Turn] = []
        for place in range(8):
            at = START + timedelta(days=9 * number, minutes=2 * place)
            name = f"{number}.{place}"
            if chance.random() < 0.4:
                key = (chance.choice(PEOPLE), chance.choice(list(ATTRIBUTES)))
                turn = Turn(name, "user", "user", at, _statement(key, told.setdefault(key, []), chance))
                told[key].append(turn)
                turns.append(turn)
            elif chance.random() < 0.6:
                turns.append(
                    Turn(name, "user", "user", at, chance.choice(SMALL_TALK).format(value=_any(chance)))
                )
            else:
                turns.append(Turn(name, "assistant", "assistant", at, chance.choice(REPLIES)))
        conversations.append(Conversation(f"s{number}", tuple(turns)))
    now = START + timedelta(days=9 * sessions)
    questions = tuple(_question(key, turns, chance) for key, turns in told.items())
    return Scenario(f"made-{seed}", now, tuple(conversations), questions)


def _statement(key: tuple[str, str], before: list[Turn], chance: random.Random) -> str:
    attribute = ATTRIBUTES[key[1]]
    fresh = [value for value in attribute.values if not before or value not in before[-1].text]
    text = chance.choice(attribute.later if before else attribute.first)
    return _fill(text, key[0]).format(value=chance.choice(fresh))


def _question(key: tuple[str, str], turns: list[Turn], chance: random.Random) -> Question:
    stale = frozenset(turn.id for turn in turns[:-1])
    text = _fill(chance.choice(ATTRIBUTES[key[1]].asked), key[0])
    name = "/".join(key)
    return Question(name, text, "updated" if stale else "static", frozenset({turns[-1].id}), stale, "")


def _any(chance: random.Random) -> str:
    return chance.choice(ATTRIBUTES[chance.choice(list(ATTRIBUTES))].values)


def _fill(text: str, who: str) -> str:
    """Put the person in; the verbs stay as they are: memory has to bear worse grammar than that."""
    whose, do = ("my", "do") if who == "I" else (f"{who}'s", "does")
    for mark, word in (("{who}", who), ("{whose}", whose), ("{do}", do)):
        text = text.replace(mark, word)
    return text[0].upper() + text[1:]
