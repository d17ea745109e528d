"""Made-up facts about made-up people, some of which say the same as another one in other words, or the
contrary: what pairing is measured on."""

from __future__ import annotations

import random
from typing import NamedTuple

from runtime.facts import Fact
from tests.runtime.store.support import START

WAYS: dict[str, tuple[tuple[str, str, str], str]] = {
    "home": (
        ("{who} lives in {what}", "the flat of {who} is in {what}", "{what} is where {who} resides"),
        "Porto Ghent Bergen Turin Lviv Cork Graz Malmo Riga Bilbao Leipzig Tartu Nantes Brno Split",
    ),
    "trade": (
        ("{who} works as a {what}", "{who} earns a living as a {what}", "the profession of {who}: {what}"),
        "florist welder pilot midwife baker glazier translator surveyor beekeeper judge tailor chemist",
    ),
    "pet": (
        ("{who} keeps a {what}", "{who} has a {what} as a pet", "a {what} belongs to {who}"),
        "parrot tortoise ferret spaniel hamster gecko pony canary goat rabbit hedgehog axolotl",
    ),
    "dish": (
        (
            "{who} likes {what} best of all food",
            "the favourite dish of {who} is {what}",
            "{who} loves to eat {what}",
        ),
        "ramen risotto moussaka pierogi paella goulash tagine dumplings lasagne curry falafel ceviche",
    ),
    "sport": (
        ("{who} goes {what} every week", "{what} is the sport of {who}", "{who} trains for {what}"),
        "rowing climbing fencing swimming cycling archery skating judo sailing bowling diving wrestling",
    ),
    "music": (
        (
            "{who} plays the {what}",
            "the instrument of {who} is the {what}",
            "{who} practises the {what} daily",
        ),
        "cello flute oboe harp banjo trumpet accordion tuba violin clarinet mandolin organ",
    ),
    "allergy": (
        ("{who} is allergic to {what}", "{what} makes {who} ill", "{who} cannot bear {what}"),
        "peanuts pollen latex shellfish dust penicillin gluten wasps mustard sesame lupins celery",
    ),
    "vehicle": (
        ("{who} drives a {what}", "the car of {who} is a {what}", "{who} owns a {what} and takes it to work"),
        "Saab Tatra Wartburg Lancia Volvo Skoda Fiat Trabant Opel Renault Dacia Citroen",
    ),
    "language": (
        ("{who} speaks {what}", "{who} is fluent in {what}", "the mother tongue of {who} is {what}"),
        "Basque Finnish Welsh Latvian Maltese Frisian Catalan Slovene Irish Breton Estonian Sorbian",
    ),
    "meeting": (
        ("{who} is free on {what}", "meet {who} on a {what}", "{what} is the best day for {who}"),
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    ),
}
"""Attribute → three ways to say it, and what may be said."""


class Made(NamedTuple):
    """Facts, and the keys of those that belong together: by the same statement, or by another value of the
    same attribute of the same person."""

    facts: tuple[Fact, ...]
    same: frozenset[tuple[str, str]]
    contrary: frozenset[tuple[str, str]]


def make_facts(count: int, *, pairs: int, seed: int = 1) -> Made:
    """So many facts in all, of which so many pairs say the same and as many more the contrary."""
    chance = random.Random(seed)
    facts: list[Fact] = []
    same: set[tuple[str, str]] = set()
    contrary: set[tuple[str, str]] = set()
    people = _names(chance, count // len(WAYS) + 1)
    about = [(who, attribute) for who in people for attribute in WAYS]
    for number, (who, attribute) in enumerate(chance.sample(about, count - 2 * pairs)):
        ways, values = WAYS[attribute]
        said, again = chance.sample(ways, 2)
        what, other = chance.sample(values.split(), 2)
        first = _fact(f"{who.lower()}_{attribute}", said.format(who=who, what=what))
        facts.append(first)
        if number < 2 * pairs:
            kept = number < pairs
            text = again.format(who=who, what=what if kept else other)
            facts.append(_fact(f"note_{number}_{who.lower()}", text))
            one, other_key = sorted((first.key, facts[-1].key))
            (same if kept else contrary).add((one, other_key))
    return Made(tuple(facts), frozenset(same), frozenset(contrary))


def _fact(key: str, text: str) -> Fact:
    return Fact(key=key, value=text, origin="model", recorded_at=START)


def _names(chance: random.Random, count: int) -> list[str]:
    sounds = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    found: set[str] = set()
    while len(found) < count:
        found.add("".join(chance.choices(sounds, k=chance.randint(2, 3))).title())
    return sorted(found)
