"""What the wording of a text gives away: that it sets a rule, states one plain thing, or tells of a
change."""

from __future__ import annotations

import re

_STANDING = re.compile(
    r"(?:^|[.!?;:\n]\s*|\b(?:please|and|but|so) )(?:always|never|make sure|don'?t ever|from now on|"
    r"remember to|when(?:ever)? I (?:ask|say|talk|mention|want))\b|\b(?:I|we) (?:\w+ )?prefer\b|"
    r"\bplease (?:remember|use|keep|avoid)\b|总是|以后都|每次都|永远不要|请记住",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine)\b|我", re.IGNORECASE)
_OTHERS = re.compile(
    r"\bmy (?:\w+ )?(?:cousin|brother|sister|mother|father|mom|mum|dad|son|daughter|child|kids?|wife|husband|"
    r"girlfriend|boyfriend|partner|parents?|uncle|aunt|niece|nephew|grand\w+|friends?|boss|colleagues?|coworkers?|"
    r"neighbou?rs?|flatmates?|roommates?|clients?|customers?)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:was|were|did|had|before|previous(?:ly)?|used to|former(?:ly)?|histor\w+|original(?:ly)?|ever|"
    r"chang(?:e|ed|es)|over time|how (?:long|many|often)|since|earlier|past|last|ago|all|both|every|list)\b|"
    r"以前|之前|曾经|原来|过去|所有|全部",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:if|would|could|might|thinking (?:of|about)|thought about|consider(?:ed|ing)?|nearly|almost|"
    r"never did|changed (?:my|his|her|their) mind|wish(?:es|ed)?|maybe|perhaps|years ago)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:from now on|no longer|no more|any ?more|instead|as of|relocat\w+|switched|chang(?:ed|ing)|"
    r"replac(?:ed|ing)|resched\w+|postponed|updated|quit|resigned|g(?:a|i)ve(?:n)? (?:\w+ )?up|"
    r"start\w* over|t(?:oo|a)k(?:en)? up|adopted|abandoned|migrated|converted|went over|transferred|"
    r"retired|promoted)\b|改成|改为|换成|换了|搬到|不再",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)\.(?=\s+\S)|[?!？！\n]|。(?=\s*\S)"
)
_LONGEST_STATEMENT = 160
NEARBY_CHANGE = (
    "now nowadays currently new moved move went bought sold left turned became closed opened shut "
    "registered increased decreased reduced extended raised lowered"
)
"""Words that tell of a change only of what stands beside them: a new car, not new curtains in an old flat."""
MUTE_WORDS = NEARBY_CHANGE + " old one more change switch last week month day year still go up start over"
"""Words that go with anything, so they say nothing of what a statement is about."""


def is_standing(text: str) -> bool:
    """Whether the text sets a rule or preference for all that follows."""
    return _STANDING.search(text) is not None


def is_first_person(text: str) -> bool:
    """Whether the one who speaks speaks of themself."""
    return _FIRST_PERSON.search(text) is not None


def is_about_self(text: str) -> bool:
    """Whether a statement's subject is the speaker, and not the speaker's cousin or friend."""
    return is_first_person(text) and _OTHERS.search(text) is None


def is_statement(text: str) -> bool:
    """Whether the text is one short sentence that states something as true, not a question, wish or
    exclamation."""
    return len(text) <= _LONGEST_STATEMENT and _BREAK.search(text) is None and _UNREAL.search(text) is None


def tells_change(text: str) -> bool:
    """Whether the text says outright that something is different from before."""
    return _CHANGE.search(text) is not None


def wants_more(query: str) -> bool:
    """Whether the query wants more than what holds now: what was, or all there is."""
    return _MORE.search(query) is not None
