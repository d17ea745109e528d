"""Short statements by row: what each is about, and whether it tells that something is not as before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from runtime.memory.finding import cues
from runtime.memory.finding.company import Company
from runtime.memory.finding.items import Item
from runtime.memory.finding.tokens import CALENDAR_WORDS, Read, Tokens

_NONE: frozenset[str] = frozenset()


class Statement(NamedTuple):
    """One short plain statement.

    `terms`: those that say what it is about, with kinds (a verb's, a number's, a weekday's). `heads`: what
    follows a possessive or an article, as in "my desk". `subjects`: terms it may be known by as a subject,
    with the speaker's name when it is about the speaker. `change`: it tells of a change outright; else
    `near_change` has the terms beside a word of change.
    """

    terms: frozenset[str]
    heads: frozenset[str]
    subjects: frozenset[str]
    about_user: bool
    change: bool
    near_change: frozenset[str]


class Statements:
    """The statements among the items, by row, and the company that their words keep."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.mute = frozenset(tokens.terms(cues.MUTE_WORDS))
        self._nearby = frozenset(tokens.terms(cues.NEARBY_CHANGE))
        self._kinds = _kinds(tokens)
        self._rows: dict[int, Statement] = {}
        self.company = Company()

    def add(self, row: int, item: Item, read: Read) -> None:
        """Take the item in, where it is a short statement; `read` is its text."""
        if not cues.is_statement(item.text, read.marks):
            return
        terms = frozenset(read.terms)
        about_self = cues.is_about_self(item.text, read.marks)
        subjects = _NONE if cues.is_about_others(item.text, read.marks) else terms
        statement = Statement(
            self.telling(terms),
            frozenset(self._tokens.terms(cues.heads(item.text))) - self.mute,
            subjects.union(self._tokens.terms(item.speaker)) if about_self else subjects,
            item.by_user and about_self,
            cues.tells_change(item.text, read.marks),
            self._beside_change(read.terms, terms),
        )
        self._rows[row] = statement
        self.company.add(statement.terms)

    def remove(self, row: int) -> None:
        """Take out what `add` put in, with all that its words had taught."""
        statement = self._rows.pop(row, None)
        if statement is not None:
            self.company.remove(statement.terms)

    def get(self, row: int) -> Statement | None:
        return self._rows.get(row)

    def telling(self, terms: frozenset[str]) -> frozenset[str]:
        """Those of a text's terms that say what it is about, and the kinds of its words."""
        kinds = [kind for term, kind in self._kinds.items() if term in terms]
        kinds += [f"#{len(term)}" for term in terms if term[0].isdigit()]
        return (terms - self.mute).union(kinds)

    def _beside_change(self, ordered: list[str], terms: frozenset[str]) -> frozenset[str]:
        if self._nearby.isdisjoint(terms):
            return _NONE
        beside: set[str] = set()
        for place, term in enumerate(ordered):
            if term in self._nearby:
                # A new thing is named right after the word; other changes may be told before or after theirs.
                first, last = (place + 1, place + 2) if term == "new" else (max(place - 1, 0), place + 3)
                beside.update(ordered[first:last])
        return frozenset(beside - self.mute)


def _kinds(tokens: Tokens) -> Mapping[str, str]:
    """Terms that stand for a kind of thing, with the kind's mark."""
    kinds = dict.fromkeys(tokens.terms(" ".join(CALENDAR_WORDS)), "#day")
    for verbs in cues.CHANGES_OF_STATE:
        kinds.update(dict.fromkeys(tokens.terms(verbs), f"#{verbs.partition(' ')[0]}"))
    return kinds
