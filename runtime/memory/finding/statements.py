"""Short statements by subject and attribute: which attribute a statement is about, learned from seed words
and from the company that other words keep in this user's own statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from runtime.memory.finding import cues
from runtime.memory.finding.items import Item
from runtime.memory.finding.tokens import Read, Tokens
from runtime.memory.finding.topics import SINGLE_VALUED

Votes = dict[str, float]
_NEAR_VOTE = 0.25
_TOPICS_OF_A_WORD = 3
_NONE: frozenset[str] = frozenset()


class Statement(NamedTuple):
    """One short plain statement: its terms; those it may be known by as a subject (with the speaker's
    name, when it is about the speaker); whether it is about the user; whether it tells of a change, and
    else the terms that stand beside a word of change."""

    terms: frozenset[str]
    subjects: frozenset[str]
    about_user: bool
    change: bool
    near_change: frozenset[str]


class Statements:
    """The statements among the items, by row, and what their words have come to stand for.

    A word that is no seed votes for a topic with the share of its statements that had that topic by their
    seeds, shrunk by one statement without (so a word met once votes at most half).
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._seeds: dict[str, Votes] = _seeds(tokens)
        self._mute = frozenset(tokens.terms(cues.MUTE_WORDS))
        self._nearby = frozenset(tokens.terms(cues.NEARBY_CHANGE))
        self._taught = self._mute.union(self._seeds)
        self._seen: dict[str, int] = {}
        self._company: dict[str, Votes] = {}
        self._rows: dict[int, Statement] = {}
        self._term_cache: dict[str, tuple[tuple[str, float], ...]] = {}

    def add(self, row: int, item: Item, read: Read) -> None:
        """Take the item in, where it is a short statement; `read` is its text."""
        if not cues.is_statement(item.text, read.marks):
            return
        terms = frozenset(read.terms)
        about_self = cues.is_about_self(item.text, read.marks)
        self._rows[row] = Statement(
            terms,
            terms.union(self._tokens.terms(item.speaker)) if about_self else terms,
            item.by_user and about_self,
            cues.tells_change(item.text, read.marks),
            self._beside_change(read.terms, terms),
        )
        self._count(terms, 1)

    def remove(self, row: int) -> None:
        """Take out what `add` put in, with all that its words had taught."""
        statement = self._rows.pop(row, None)
        if statement is not None:
            self._count(statement.terms, -1)

    def forget_words(self) -> None:
        """Drop the votes that are remembered only to be fast: they hold words of queries."""
        self._term_cache = {}

    def get(self, row: int) -> Statement | None:
        return self._rows.get(row)

    def votes(self, terms: Iterable[str]) -> Votes:
        """Topics of a set of terms with their votes; 1 is one unambiguous word."""
        votes: Votes = {}
        for term in terms:
            for topic, vote in self._term_votes(term):
                votes[topic] = votes.get(topic, 0.0) + vote
        return votes

    def _term_votes(self, term: str) -> tuple[tuple[str, float], ...]:
        known = self._term_cache.get(term)
        if known is None:
            votes = self._seeds.get(term)
            if votes is None:
                seen = self._seen.get(term, 0) + 1
                votes = {topic: share / seen for topic, share in self._company.get(term, {}).items()}
            strong = sorted(votes.items(), key=lambda entry: (-entry[1], entry[0]))[:_TOPICS_OF_A_WORD]
            known = self._term_cache[term] = tuple(strong)
        return known

    def changes(self, statement: Statement, topic: str) -> bool:
        """Whether the statement says that something about `topic` is not as before."""
        if statement.change:
            return True
        # A word met only here knows its topic from this statement alone: that proves nothing.
        known = [term for term in statement.near_change if term in self._seeds or self._seen.get(term, 0) > 1]
        return self.votes(known).get(topic, 0.0) >= _NEAR_VOTE

    def _beside_change(self, ordered: list[str], terms: frozenset[str]) -> frozenset[str]:
        if self._nearby.isdisjoint(terms):
            return _NONE
        beside: set[str] = set()
        for place, term in enumerate(ordered):
            if term in self._nearby:
                # A new thing is named right after the word; other changes may be told before or after theirs.
                first, last = (place + 1, place + 2) if term == "new" else (max(place - 1, 0), place + 3)
                beside.update(ordered[first:last])
        return frozenset(beside - self._mute)

    def _count(self, terms: frozenset[str], step: int) -> None:
        self._term_cache.clear()
        learning = terms - self._taught
        seen = self._seen
        for term in learning:
            seen[term] = seen.get(term, 0) + step
        own = self._seeded(terms)
        if own:
            total = sum(own.values())
            self._teach(learning, {topic: step * vote / total for topic, vote in own.items()})
        if step < 0:
            for term in learning:
                if not seen[term]:
                    del seen[term]
                    self._company.pop(term, None)

    def _teach(self, learning: frozenset[str], votes: Votes) -> None:
        for term in learning:
            company = self._company.setdefault(term, {})
            for topic, vote in votes.items():
                company[topic] = company.get(topic, 0.0) + vote

    def _seeded(self, terms: frozenset[str]) -> Votes:
        votes: Votes = {}
        for term in self._seeds.keys() & terms:
            for topic, vote in self._seeds[term].items():
                votes[topic] = votes.get(topic, 0.0) + vote
        return votes


def best(votes: Mapping[str, float], floor: float) -> str | None:
    """The topic with clearly the most votes: at least `floor`, the second at most two thirds of it."""
    ranked = sorted(votes.items(), key=lambda entry: (-entry[1], entry[0]))
    if not ranked or ranked[0][1] < floor:
        return None
    if len(ranked) > 1 and ranked[1][1] > ranked[0][1] * 2 / 3:
        return None
    return ranked[0][0]


def _seeds(tokens: Tokens) -> dict[str, Votes]:
    weights: dict[str, Votes] = {}
    for topic, words in SINGLE_VALUED.items():
        for word in words.split():
            for term in tokens.terms(word):
                weight = 0.5 if word.startswith("~") else 1.0
                votes = weights.setdefault(term, {})
                votes[topic] = max(votes.get(topic, 0.0), weight)
    return {
        term: {topic: vote / len(votes) for topic, vote in votes.items()} for term, votes in weights.items()
    }
