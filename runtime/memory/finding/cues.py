"""What the wording of a text gives away: a standing instruction or preference, a question in the first person."""

from __future__ import annotations

import re

_STANDING = re.compile(
    r"\b(?:always|never|prefer|from now on|whenever|make sure|please (?:remember|use|keep|avoid)|don'?t ever)\b"
    r"|总是|以后都|每次都|永远不要|请记住|我(?:更)?喜欢",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|i'm|i've|i'd|i'll)\b|我", re.IGNORECASE)


def is_standing(text: str) -> bool:
    """Whether the text sets a rule or preference for all that follows."""
    return _STANDING.search(text) is not None


def is_first_person(text: str) -> bool:
    """Whether the one who asks speaks of themself."""
    return _FIRST_PERSON.search(text) is not None
