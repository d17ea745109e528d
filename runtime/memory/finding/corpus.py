"""The items of one user in all the forms that a recall reads, kept in step row by row."""

from __future__ import annotations

from bisect import insort
from datetime import date, datetime
from itertools import pairwise
from math import inf
from zlib import crc32

from runtime.memory.finding import cues
from runtime.memory.finding.codes import Codes
from runtime.memory.finding.columns import Columns
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.items import Item
from runtime.memory.finding.postings import Postings
from runtime.memory.finding.statements import Statements
from runtime.memory.finding.tokens import Tokens, date_words
from runtime.memory.finding.vectors import Vectors


class Corpus:
    """Items by row in columns, postings, vectors and statements. None keeps a trace of an erased one."""

    def __init__(self, config: FindingConfig) -> None:
        self.config = config
        self.tokens = Tokens()
        self.columns = Columns()
        self.postings = Postings()
        self.vectors = Vectors(config.exact_vectors)
        self.statements = Statements(self.tokens)
        self.speakers = Codes()
        self.sessions = Codes()
        self.items: dict[int, Item] = {}
        self.rows: dict[str, int] = {}
        self._tails: dict[int, int] = {}
        self._states: dict[tuple[str, str], list[tuple[float, int]]] = {}
        self._names: dict[str, list[str]] = {}
        self._days: dict[date, list[str]] = {}

    def put(self, item: Item) -> int:
        """Index an item, in place of one with the same id; returns its row."""
        row = self.rows.get(item.id)
        if row is not None and self.items[row].session != item.session:
            self.erase(item.id)
            row = None
        if row is None:
            row = self.rows[item.id] = self.columns.take()
            self._append(row, item.session)
        else:
            self._clear(row)
        self._fill(row, item)
        return row

    def retire(self, item_id: str, at: datetime) -> None:
        """End the interval in which an item is current, unless it ended before. Unknown ids are ignored."""
        row = self.rows.get(item_id)
        if row is not None:
            self.columns.set(row, end=min(float(self.columns["end"][row]), at.timestamp()))

    def erase(self, item_id: str) -> None:
        """Take an item out of everything. What it superseded stays superseded. Unknown ids are ignored."""
        row = self.rows.pop(item_id, None)
        if row is None:
            return
        session, session_code = self.items[row].session, int(self.columns["session"][row])
        self._clear(row)
        before, after = int(self.columns["before"][row]), int(self.columns["after"][row])
        self.columns.link(before, after)
        if self._tails.get(session_code) == row:
            self._tails[session_code] = before
        self.sessions.release(session)
        if not self.sessions.get(session):
            self._tails.pop(session_code, None)
        self.columns.give(row)

    def forget_words(self) -> None:
        """Drop what is remembered of words only to be fast; to be called once after erasing."""
        self._names, self._days = {}, {}
        self.tokens.forget()
        self.statements.company.forget()

    def name(self, speaker: str) -> list[str]:
        """The terms of a speaker's name."""
        if speaker not in self._names:
            self._names[speaker] = self.tokens.terms(speaker)
        return self._names[speaker]

    def _around(self, item: Item) -> list[str]:
        """What else than its text an item is found by: subject, attribute, speaker, date."""
        terms: list[str] = []
        if item.subject or item.attribute:
            terms += self.tokens.terms(f"{item.subject} {item.attribute}")
        if self.config.speaker_words:
            terms += self.name(item.speaker)
        if self.config.date_words:
            terms += self._day(item.at)
        return terms

    def _day(self, at: datetime) -> list[str]:
        day = at.date()
        if day not in self._days:
            self._days[day] = self.tokens.terms(date_words(at))
        return self._days[day]

    def _append(self, row: int, session: str) -> None:
        code = self.sessions.take(session)
        if code:
            self.columns.link(self._tails.get(code, 0), row)
            self._tails[code] = row
        self.columns.set(row, session=code)

    def _fill(self, row: int, item: Item) -> None:
        self.items[row] = item
        read = self.tokens.read(item.text)
        self.columns.set(
            row,
            alive=True,
            start=item.at.timestamp(),
            end=inf if item.ended is None else item.ended.timestamp(),
            tokens=max(item.tokens, 1),
            factor=min(1.0, self.config.short_tokens / max(item.tokens, 1)) ** self.config.length_power,
            length=self.postings.add(row, self._around(item) + read.terms),
            speaker=self.speakers.take(item.speaker),
            digest=crc32(f"{item.speaker}\0{item.text}".encode()),
            by_user=item.by_user,
            standing=item.by_user and cues.is_standing(item.text, read.marks),
        )
        self.statements.add(row, item, read)
        if item.subject and item.attribute:
            self._close_intervals(row, item)

    def _clear(self, row: int) -> None:
        """Undo `_fill`."""
        item = self.items.pop(row)
        self.postings.remove(row, self._around(item) + self.tokens.terms(item.text))
        self.statements.remove(row)
        self.vectors.drop(row)
        self.speakers.release(item.speaker)
        states = self._states.get((item.subject, item.attribute), [])
        states[:] = [state for state in states if state[1] != row]
        if not states:
            self._states.pop((item.subject, item.attribute), None)
        self.columns.set(row, alive=False)

    def _close_intervals(self, row: int, item: Item) -> None:
        """Each item of a (subject, attribute) ends at the latest where the next one starts."""
        states = self._states.setdefault((item.subject, item.attribute), [])
        insort(states, (item.at.timestamp(), row))
        for (start, earlier), (following, _) in pairwise(states):
            if following > start:
                self.columns.set(earlier, end=min(float(self.columns["end"][earlier]), following))
