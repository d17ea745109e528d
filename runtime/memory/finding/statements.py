"""Short statements by row: what each is about, and whether it tells that something is not as before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from runtime.memory.finding import cues
from runtime.memory.finding.company import Company
from runtime.memory.finding.items import Item
from runtime.memory.finding.tokens import CALENDAR_WORDS, Read, Tokens

_NONE: frozenset[str] = frozenset()


class Statement(NamedTuple):
    """One short plain statement.

    `heads`: what follows a possessive or an article, as in "my desk". `subjects`: terms it may be known by as
    a subject, with the speaker's name when it is about the speaker. `change`: it tells of a change outright.
    """

    heads: frozenset[str]
    subjects: frozenset[str]
    change: bool


class Statements:
    """The statements among the items, by row, and the company that their words keep."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.mute = frozenset(tokens.terms(cues.MUTE_WORDS))
        self._nearby = frozenset(tokens.terms(cues.NEARBY_CHANGE))
        self._kinds = _kinds(tokens)
        self._rows: dict[int, Statement] = {}
        self._of_user: set[int] = set()
        self.company = Company()

    def add(self, row: int, item: Item, read: Read) -> None:
        """Take the item in, where it is a short statement; `read` is its text."""
        if not cues.is_statement(item.text, read.marks):
            return
        terms = frozenset(read.terms)
        about_self = cues.is_about_self(item.text, read.marks)
        subjects = _NONE if cues.is_about_others(item.text, read.marks) else terms
        change = cues.tells_change(item.text, read.marks)
        self._rows[row] = Statement(
            frozenset(self._tokens.terms(cues.heads(item.text))) - self.mute,
            subjects.union(self._tokens.terms(item.speaker)) if about_self else subjects,
            change,
        )
        if item.by_user and about_self:
            self._of_user.add(row)
        beside = _NONE if change else self._beside_change(read.terms, terms)
        self.company.add(row, self.telling(terms), self.telling(beside))

    def remove(self, row: int) -> None:
        """Take out what `add` put in, with all that its words had taught."""
        if self._rows.pop(row, None) is not None:
            self._of_user.discard(row)
            self.company.remove(row)

    def about(self, rows: Iterable[int], names: frozenset[str]) -> list[list[int]]:
        """Those of the rows whose statement is about the same of the names, together; without names, those
        that are about the user."""
        if not names:
            return [[row for row in rows if row in self._of_user]]
        groups: dict[frozenset[str], list[int]] = {}
        for row in rows:
            statement = self._rows.get(row)
            subject = None if statement is None else names & statement.subjects
            if subject:
                groups.setdefault(subject, []).append(row)
        return list(groups.values())

    def all(self, rows: Iterable[int]) -> list[Statement]:
        """Those of rows that have one."""
        return [self._rows[row] for row in rows]

    def telling(self, terms: frozenset[str]) -> frozenset[str]:
        """Those of a text's terms that say what it is about, with the kinds of its words (a verb's, a
        number's, a weekday's)."""
        kinds = [self._kinds[term] for term in self._kinds.keys() & terms]
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
