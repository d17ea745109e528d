"""What a query asks for: its terms, who it is about, whether it wants more than what holds now."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime.memory.finding import cues
from runtime.memory.finding.tokens import CALENDAR_WORDS, Tokens

# The first word of a sentence is capital anyway: there only a possessive gives a name away.
_CAPITAL = re.compile(r"(?<=[\w,;:] )[A-Z]\w+|\b[A-Z]\w+(?=['’]s\b)")


@dataclass(frozen=True, slots=True)
class Query:
    """`terms` in order without repeats; `names` are those written as names."""

    terms: tuple[str, ...]
    names: frozenset[str]
    first_person: bool
    wants_more: bool


def parse(text: str, tokens: Tokens) -> Query:
    """Take a query apart."""
    read = tokens.read(text)
    capitals = " ".join(word for word in _CAPITAL.findall(text) if word.lower() not in CALENDAR_WORDS)
    return Query(
        tuple(dict.fromkeys(read.terms)),
        frozenset(tokens.terms(capitals)),
        cues.is_first_person(text, read.marks),
        cues.wants_more(text),
    )
