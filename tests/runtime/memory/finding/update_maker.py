"""Made-up conversations in which people's circumstances change, the same for the same seed: fifteen matters
of daily life, each told and asked in several ways, among talk that mentions the same values and settles
nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from runtime.memory.finding.scenarios import Conversation, Question, Scenario, Turn
from tests.runtime.memory.finding.build import START

PEOPLE = ("I", "Odile", "Bram")


@dataclass(frozen=True)
class Matter:
    """Values with commas between them; how the matter is first told, told anew, and asked, a line each.
    {W} and {w} stand for the person, {P} and {p} for the possessive, {o} for the object, {s} for the verb's
    s, {q}, {do} for the person asked about, {v} for the value."""

    values: str
    first: str
    later: str
    asked: str


MATTERS = {
    "tea": Matter(
        "oolong,assam,rooibos,sencha,darjeeling,peppermint,matcha,lapsang,fennel,jasmine",
        """{P} favourite tea is {v}.
        {W} drink{s} {v} in the afternoon.
        A cup of {v} is what {w} like{s} best.""",
        """{W} drink{s} {v} now instead.
        {P} favourite tea is {v} these days.
        {W} went off it, a cup of {v} is what {w} like{s} now.""",
        "What is {p} favourite tea?\nWhich tea {do} {q} like best?\nWhat {do} {q} drink in the afternoon?",
    ),
    "waking": Matter(
        "5:40,6:10,6:25,6:45,7:05,7:20,7:50,8:15,8:30,9:00",
        "{W} get{s} up at {v}.\n{P} alarm rings at {v}.\nThe alarm wakes {o} at {v} every morning.",
        """{P} alarm is set to {v} from now on.
        {W} now get{s} up at {v}.
        With the new hours {w} wake{s} up at {v}.""",
        "When {do} {q} get up?\nAt what time does {p} alarm ring?\nWhen does {p} alarm go off?",
    ),
    "pet": Matter(
        "spaniel,parrot,hamster,tortoise,greyhound,rabbit,canary,ferret,poodle,gecko",
        "{P} pet is a {v}.\n{W} keep{s} a {v} as a pet.\nThere is a {v} at home that {w} look{s} after.",
        """{P} pet died last year, now {w} keep{s} a {v}.
        {W} gave it away and got a {v} instead.
        {P} new pet is a {v}.""",
        "What pet {do} {q} have?\nWhich animal {do} {q} keep as a pet?\nWhat is {p} pet?",
    ),
    "paper": Matter(
        "Herald,Courier,Gazette,Observer,Tribune,Sentinel,Chronicle,Mercury,Argus,Echo",
        """{W} read{s} the {v} at breakfast.
        {P} newspaper is the {v}.
        {W} subscribe{s} to the {v}.""",
        """{W} cancelled it and now read{s} the {v}.
        {W} switched {p} subscription to the {v}.
        {P} newspaper has changed, it is the {v} now.""",
        "Which newspaper {do} {q} read?\nWhat {do} {q} read at breakfast?\nWhich paper {do} {q} get?",
    ),
    "seat": Matter(
        "aisle seat,window seat,exit row,front row,middle seat,back row,bulkhead,top deck,left side,last row",
        """On flights {w} prefer{s} the {v}.
        {P} usual place on a plane is the {v}.
        When flying {w} always take{s} the {v}.""",
        """{W} no longer mind{s} the noise, on flights book the {v}.
        On flights {w} now prefer{s} the {v}.
        {P} usual place on a plane changed to the {v}.""",
        """Where {do} {q} prefer to sit on flights?
        What is {p} usual place on a plane?
        Which seat {do} {q} take when flying?""",
    ),
    "dose": Matter(
        "5 mg,10 mg,15 mg,20 mg,25 mg,40 mg,50 mg,75 mg,80 mg,100 mg",
        "{W} take{s} {v} of the pills.\n{P} dose is {v} a day.\nThe prescription for {o} says {v}.",
        """{P} dose was raised to {v}.
        {W} now take{s} {v} of the pills.
        The prescription for {o} changed to {v}.""",
        "What dose {do} {q} take?\nHow much of the pills {do} {q} take?\nWhat does {p} prescription say?",
    ),
    "parking": Matter(
        "bay 12,bay 31,bay 44,level 2,level 5,bay 7,bay 63,level 3,bay 20,bay 58",
        """{P} parking space is {v}.
        {W} park{s} in {v}.
        In the basement {v} is reserved for {o}.""",
        """{P} parking space moved to {v}.
        {W} park{s} in {v} from now on.
        They repainted the basement, {v} is reserved for {o} now.""",
        "Where {do} {q} park?\nWhich parking space is {p} own?\nWhat is reserved for {o} in the basement?",
    ),
    "hair": Matter(
        "auburn,blonde,copper,silver,raven,chestnut,platinum,ginger,brunette,violet",
        "{P} hair is {v}.\n{W} dye{s} {p} hair {v}.\n{W} wear{s} {p} hair {v} and short.",
        """{W} dyed it again, {p} hair is {v} now.
        {P} hair turned {v}.
        The hairdresser talked {o} into {v} instead.""",
        "What colour is {p} hair?\nWhich colour {do} {q} dye {p} hair?\nHow {do} {q} wear {p} hair?",
    ),
    "power": Matter(
        "Voltora,Brightgrid,Amperia,Sunline,Kilowave,Nordlys,Edenergy,Luxor,Greenpole,Wattson",
        """{P} electricity comes from {v}.
        {W} buy{s} electricity from {v}.
        {W} pay{s} the power bill to {v}.""",
        """{P} electricity contract ended, {v} supplies it now.
        {W} switched from the old supplier to {v}.
        From now on {w} pay{s} the power bill to {v}.""",
        """Who supplies {p} electricity?
        Where does {p} electricity come from?
        To whom {do} {q} pay the power bill?""",
    ),
    "team": Matter(
        "Rovers,Albion,Wanderers,Harriers,Athletic,Corinthians,Rangers,Dynamo,Thistle,Orient",
        """{W} support{s} {v}.
        {P} team is {v}.
        {W} go{es} to every match of {v}.""",
        """{W} no longer follow{s} them, {w} support{s} {v}.
        {P} team is {v} now.
        {W} changed sides and cheer{s} for {v}.""",
        "Which team {do} {q} support?\nWhat is {p} team?\nWhose matches {do} {q} go to?",
    ),
    "commute": Matter(
        "bus 14,tram 6,bus 92,line U3,ferry,tram 11,bus 27,line S8,tram 4,bus 55",
        """{W} take{s} the {v} to the office.
        {P} commute is by {v}.
        {W} ride{s} the {v} in the mornings.""",
        """They closed the stop, so {w} take{s} the {v} to the office now.
        {P} commute changed, it is by {v}.
        Instead of the usual one {w} ride{s} the {v}.""",
        "How {do} {q} get to the office?\nWhat {do} {q} ride in the mornings?\nWhat is {p} commute?",
    ),
    "book": Matter(
        "Middlemarch,Walden,Ulysses,Emma,Dracula,Rebecca,Utopia,Candide,Persuasion,Kim",
        """{W} read{s} {v} at bedtime.
        {P} book at the moment is {v}.
        The novel on {p} night table is {v}.""",
        """{W} finished it and started {v}.
        {P} book at the moment is {v} now.
        The novel on {p} night table was replaced by {v}.""",
        """Which book {do} {q} have at the moment?
        What is the novel on {p} night table?
        What {do} {q} read at bedtime?""",
    ),
    "room": Matter(
        "B12,C304,A7,D110,E21,F8,G215,H40,K3,L19",
        """{P} desk is in room {v}.
        {W} sit{s} in room {v}.
        Deliveries for {o} go to room {v}.""",
        """{P} desk was moved to room {v}.
        {W} now sit{s} in room {v}.
        Send deliveries for {o} to room {v} from now on.""",
        """In which room is {p} desk?
        Where {do} {q} sit?
        To which room do deliveries for {o} go?""",
    ),
    "watering": Matter(
        "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
        """{W} water{s} the orchids on {v}.
        {P} orchids get water each {v}.
        {v} is when {w} care{s} for the orchids.""",
        """{W} now water{s} the orchids on {v}.
        {P} orchids get water each {v} instead.
        {W} changed the day for the orchids to {v}.""",
        """When {do} {q} water the orchids?
        On which day do {p} orchids get water?
        Which day is for {p} orchids?""",
    ),
    "heating": Matter(
        "17 degrees,18 degrees,19 degrees,20 degrees,21 degrees,22 degrees,23 degrees,24 degrees",
        """{W} keep{s} the bedroom at {v}.
        {P} thermostat is set to {v}.
        {W} sleep{s} best at {v}.""",
        """{P} thermostat is lowered to {v}.
        {W} now keep{s} the bedroom at {v}.
        {W} turned the heating to {v}, it is better for the bills.""",
        """What is {p} thermostat set to?
        How warm {do} {q} keep the bedroom?
        To what {do} {q} set the heating?""",
    ),
}
TALK = (
    "My cousin swears by {v}, it is not for me.",
    "If things were different {w} would try {v}.",
    "Somebody on the radio went on about {v}.",
    "Perhaps {v} would suit the neighbours.",
    "A poster about {v} hung in the hall now.",
    "The soup was too salty again.",
    "Could you suggest a film about lighthouses?",
    "We planted new beans behind the shed.",
    "The bridge is closed, no bus came anymore.",
    "{W} told a long story about the harbour.",
    "{W} went to the market and bought apples.",
    "{P} cousin moved to Antwerp and has a new dog.",
)
REPLIES = ("All right.", "Thank you, noted.", "Good to know.", "I see. Shall we go on?")


def make_updates(seed: int, matters: Sequence[str] = tuple(MATTERS), sessions: int = 30) -> Scenario:
    """One user's `sessions` conversations, over which each person's matters are told one to four times, with
    a question for each. A value comes again, of the same matter, only when all others were told."""
    chance = random.Random(f"updates {seed}")
    plan: list[list[tuple[str, str]]] = [[] for _ in range(sessions)]
    for key in ((who, name) for who in PEOPLE for name in matters):
        if chance.random() < 0.8:
            for place in chance.sample(range(sessions), chance.choice((1, 2, 2, 3, 4))):
                plan[place].append(key)
    fresh: dict[str, list[str]] = {}
    told: dict[tuple[str, str], list[str]] = {}
    conversations = []
    for number, due in enumerate(plan):
        parts: list[tuple[str, str] | None] = [*due, *[None] * chance.randint(4, 8)]
        chance.shuffle(parts)
        turns: list[Turn] = []
        for place, part in enumerate(parts):
            name, at = f"{number}.{place}", START + timedelta(days=9 * number, minutes=2 * place)
            if part is None:
                text = _talk(chance, matters)
            else:
                before = told.setdefault(part, [])
                text = _statement(chance, part, bool(before), fresh)
                before.append(name)
            turns.append(Turn(name, "user", "user", at, text))
            if chance.random() < 0.7:
                reply = chance.choice(REPLIES)
                turns.append(Turn(f"{name}r", "assistant", "assistant", at + timedelta(seconds=20), reply))
        conversations.append(Conversation(f"s{number}", tuple(turns)))
    questions = tuple(_question(chance, key, names) for key, names in told.items())
    return Scenario(f"updates-{seed}", START + timedelta(days=9 * sessions), tuple(conversations), questions)


def _statement(chance: random.Random, key: tuple[str, str], again: bool, fresh: dict[str, list[str]]) -> str:
    who, name = key
    matter = MATTERS[name]
    if not fresh.get(name):
        values = matter.values.split(",")
        fresh[name] = chance.sample(values, len(values))
    wordings = matter.later if again else matter.first
    return _fill(chance.choice(wordings.splitlines()), who, fresh[name].pop())


def _question(chance: random.Random, key: tuple[str, str], names: list[str]) -> Question:
    text = _fill(chance.choice(MATTERS[key[1]].asked.splitlines()), key[0], "")
    stale = frozenset(names[:-1])
    return Question("/".join(key), text, "updated" if stale else "static", frozenset(names[-1:]), stale, "")


def _talk(chance: random.Random, matters: Sequence[str]) -> str:
    value = chance.choice(MATTERS[chance.choice(matters)].values.split(","))
    return _fill(chance.choice(TALK), chance.choice(PEOPLE), value)


def _fill(text: str, who: str, value: str) -> str:
    me = who == "I"
    words = {
        "W": who,
        "w": who,
        "q": who,
        "v": value,
        "P": "My",
        "p": "my",
        "o": "me",
        "do": "do",
        "s": "",
        "es": "",
    }
    if not me:
        words.update(P=f"{who}'s", p=f"{who}'s", o=who, do="does", s="s", es="es")
    filled = text.strip().format_map(words)
    return filled[0].upper() + filled[1:]
