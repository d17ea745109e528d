"""What the wording of a text gives away: that it sets a rule, states one plain thing, or tells of a
change."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import NamedTuple

_LONGEST_STATEMENT = 160
UNSPACED = "unspaced"
"""Mark of a text with words in a script without spaces: there no word says which wording may be in it."""


class Cue(NamedTuple):
    """A wording: what matches it in a text, and the words with one of which it begins. Looking for it takes
    long, so it is looked for only in texts that have such a word."""

    found: re.Pattern[str]
    first: re.Pattern[str]

    @classmethod
    def of(cls, wordings: str, unspaced: str = "", *, at_start: str = "") -> Cue:
        """A cue of wordings with ` / ` between them, words after the first without a slash of their own; the
        `unspaced` ones stand anywhere, those `at_start` at the start of a clause."""
        anywhere, starting = wordings.split(" / "), at_start.split(" / ") if at_start else []
        parts = [rf"\b(?:{'|'.join(anywhere)})\b"]
        if starting:
            parts.insert(0, rf"{_CLAUSE}(?:{'|'.join(starting)})\b")
        if unspaced:
            parts.append(unspaced)
        first = "|".join(wording.partition(" ")[0] for wording in anywhere + starting)
        return cls(re.compile("|".join(parts), re.IGNORECASE), re.compile(first))


_HEAD = re.compile(r"(?:\b(?:my|our|his|her|their|the)|['’]s) (\w+)(?: (\w+))?", re.IGNORECASE)
_CLAUSE = r"(?:^|[.!?;:\n]\s*|\b(?:please|and|but|so) )"
_STANDING = Cue.of(
    r"i (?:\w+ )?prefer / we (?:\w+ )?prefer / please (?:remember|use|keep|avoid)",
    "总是|以后都|每次都|永远不要|请记住",
    at_start=r"always / never / make sure / don'?t ever / from now on / remember to / "
    r"when(?:ever)? I (?:ask|say|talk|mention|want)",
)
_FIRST_PERSON = Cue.of("i / me / my / mine", "我")
_OTHERS = Cue.of(
    r"(?:my|\w+['’]s) (?:\w+ )?(?:cousin|brother|sister|mother|father|mom|mum|dad|son|daughter|child|kids?|"
    r"wife|husband|girlfriend|boyfriend|partner|parents?|uncle|aunt|niece|nephew|grand\w+|friends?|boss|colleagues?|"
    r"coworkers?|neighbou?rs?|flatmates?|roommates?|clients?|customers?)"
)
_MORE = re.compile(
    r"\b(?:was|were|did|had|before|previous(?:ly)?|used to|former(?:ly)?|histor\w+|original(?:ly)?|ever|"
    r"chang(?:e|ed|es)|over time|how (?:long|many|often)|since|earlier|past|last|ago|all|both|every|list)\b|"
    r"以前|之前|曾经|原来|过去|所有|全部",
    re.IGNORECASE,
)
_UNREAL = Cue.of(
    r"if / would / could / might / thinking (?:of|about) / thought about / consider(?:ed|ing)? / nearly / "
    r"almost / never did / changed (?:my|his|her|their) mind / wish(?:es|ed)? / maybe / perhaps / years ago"
)
_CHANGE = Cue.of(
    r"from now on / no longer / no more / any more / anymore / instead / as of / relocat\w+ / switched / "
    r"chang(?:ed|ing) / replac(?:ed|ing) / resched\w+ / postponed / updated / quit / resigned / "
    r"g(?:a|i)ve(?:n)? (?:\w+ )?up / start\w* over / t(?:oo|a)k(?:en)? up / adopted / "
    r"abandoned / migrated / converted / went over / transferred / retired / promoted",
    "改成|改为|换成|换了|搬到|不再",
)
_CUES: Mapping[str, Cue] = {
    "standing": _STANDING,
    "first person": _FIRST_PERSON,
    "others": _OTHERS,
    "unreal": _UNREAL,
    "change": _CHANGE,
}
_STOP = re.compile(r"[.?!？！\n。]")
_BREAK = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)\.(?=\s+\S)|[?!？！\n]|。(?=\s*\S)"
)
NEARBY_CHANGE = (
    "now nowadays currently new moved move went bought sold left turned became closed opened shut "
    "registered increased decreased reduced extended raised lowered"
)
"""Words that tell of a change only of what stands beside them: a new car, not new curtains in an old flat."""
MUTE_WORDS = (
    "now nowadays currently new old one more last this week month year still up longer anymore instead usual "
    "previous change changed changing switch replace replaced update updated these from on start started go "
    "went"
)
"""Words of time and change that go with anything, so they say nothing of what a statement is about."""
CHANGES_OF_STATE = (
    "live reside stay settle settled based move moved relocate relocated 住 搬",
    "work employ employed hire hired promote promoted quit resign resigned retire retired",
    "own keep acquire buy bought sell sold",
    "use adopt adopted abandon abandoned migrate migrated",
    "attend enrol enrolled join joined register registered",
)
"""Verbs of change with those of the states that they begin and end: who moved lives elsewhere."""

Marks = Container[str]
"""What the words of a text let expect of it (`marks_of` of each)."""


def marks_of(word: str) -> frozenset[str]:
    """Names of the cues that a lower-case word may begin."""
    whole = word.replace("’", "'")
    head = whole.partition("'")[0]
    return frozenset(
        name for name, cue in _CUES.items() if cue.first.fullmatch(whole) or cue.first.fullmatch(head)
    )


def is_standing(text: str, marks: Marks) -> bool:
    """Whether the text sets a rule or preference for all that follows."""
    return _has("standing", text, marks)


def is_first_person(text: str, marks: Marks) -> bool:
    """Whether the one who speaks speaks of themself."""
    return _has("first person", text, marks)


def is_about_self(text: str, marks: Marks) -> bool:
    """Whether a statement's subject is the speaker, and not the speaker's cousin or friend."""
    return is_first_person(text, marks) and not _has("others", text, marks)


def is_about_others(text: str, marks: Marks) -> bool:
    """Whether a statement's subject is somebody's cousin or friend."""
    return _has("others", text, marks)


def heads(text: str) -> str:
    """The words after possessives and articles: what is said to be somebody's, or known."""
    return " ".join(" ".join(pair) for pair in _HEAD.findall(text))


def is_statement(text: str, marks: Marks) -> bool:
    """Whether the text is one short sentence that states something as true, not a question, wish or
    exclamation."""
    return len(text) <= _LONGEST_STATEMENT and not _breaks(text) and not _has("unreal", text, marks)


def tells_change(text: str, marks: Marks) -> bool:
    """Whether the text says outright that something is different from before."""
    return _has("change", text, marks)


def wants_more(query: str) -> bool:
    """Whether the query wants more than what holds now: what was, or all there is."""
    return _MORE.search(query) is not None


def _has(name: str, text: str, marks: Marks) -> bool:
    return (name in marks or UNSPACED in marks) and _CUES[name].found.search(text) is not None


def _breaks(text: str) -> bool:
    return _STOP.search(text) is not None and _BREAK.search(text) is not None
