"""Words of a text as index terms: Unicode words, stemmed and without stop words in English, bigrams for
scripts that are written without spaces, and the words of a date."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple

from runtime.memory.finding import cues
from runtime.memory.finding.irregular import BASES

# Scripts written without spaces between words (Han, kana, Thai, Lao, Khmer, Burmese), and Hangul, whose
# particles stick to the word: whole runs never match, overlapping bigrams do.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = re.compile(
    rf"[{_UNSPACED}]+|\d+(?:[.,]\d+)*|(?:(?![{_UNSPACED}\d])[^\W_])+(?:['’](?![{_UNSPACED}])[^\W\d_]+)*"
)
_UNSPACED_START = re.compile(f"[{_UNSPACED}]")
_UNSPACED_MARK = frozenset([cues.UNSPACED])
_ASCII_PIECE = re.compile(r"\d+(?:[.,]\d+)*|[a-z]+(?:'[a-z]+)*")

_FUNCTION_WORDS = """
a about after again all also am an and any are aren as at be because been before being below between both but
by can cannot could couldn did didn do does doesn doing don down during each either else ever every few for
from further get gets getting go goes going got had hadn has hasn have haven having he her here hers herself
him himself his how i if in into is isn it its itself just let lets ll may me might mine more most much must
my myself neither no nor not of off on once only onto or other our ours ourselves out over perhaps quite
rather re really same shall she should shouldn so some such than that the their theirs them themselves then
there these they this those though through thus to too under until unless up upon us ve very was wasn we were
weren what when where whether which while who whom whose why will with within without won would wouldn yet you
your yours yourself yourselves
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words: they carry grammar, not the subject. Words of time and change (now, new, first,
last, never, still, always) stay in."""

_HAN_STOP = frozenset("的了是在我有和就不也都与及吗呢吧啊呀哪么什几个这那谁多少请问您你它")
_MONTH_WORDS = "january february march april may june july august september october november december"
_MONTHS = _MONTH_WORDS.split()
_DAY_WORDS = "monday tuesday wednesday thursday friday saturday sunday"
_DAYS = _DAY_WORDS.split()
CALENDAR_WORDS = frozenset(_MONTHS + _DAYS)


class Read(NamedTuple):
    """The index terms of a text in order, with repeats, and its marks (`cues`)."""

    terms: list[str]
    marks: frozenset[str]


class Tokens:
    """Turns texts into terms. Remembers the terms of the words it has met; `forget` drops them."""

    def __init__(self) -> None:
        self._stem: Callable[[str], str] | None = None
        self._known: dict[str, tuple[str, ...]] = {}
        self._marked: dict[str, frozenset[str]] = {}

    def forget(self) -> None:
        """Drop every remembered word, so that no word of an erased text stays in memory."""
        self._known, self._marked = {}, {}
        # The stemmer keeps the last word it worked on.
        self._stem = None

    def terms(self, text: str) -> list[str]:
        """Index terms of `text` in order, with repeats. Empty for a text of stop words only."""
        return self._read(pieces(text))

    def read(self, text: str) -> Read:
        """Index terms of `text` and what its words let expect of it."""
        found = pieces(text)
        terms = self._read(found)
        marks = [self._marked[piece] for piece in self._marked.keys() & found]
        if found and not text.isascii() and any(map(_is_unspaced, found)):
            marks.append(_UNSPACED_MARK)
        return Read(terms, frozenset().union(*marks))

    def _read(self, found: list[str]) -> list[str]:
        terms: list[str] = []
        known = self._known
        for piece in found:
            of_piece = known.get(piece)
            if of_piece is None:
                of_piece = self._met(piece)
            terms += of_piece
        return terms

    def _met(self, piece: str) -> tuple[str, ...]:
        terms = self._terms(piece)
        # Runs of unspaced script rarely come again: remembering them would only fill memory.
        if not _is_unspaced(piece):
            self._known[piece] = terms
            if marks := cues.marks_of(piece):
                self._marked[piece] = marks
        return terms

    def _terms(self, piece: str) -> tuple[str, ...]:
        if _is_unspaced(piece):
            return _bigrams(piece)
        if piece[0].isdigit():
            return (_number(piece),)
        words = piece.replace("’", "'").split("'")
        # Possessives and contractions go: Tomas's is Tomas, don't is a stop word.
        kept = [word for word in words[:1] + words[1:] * (len(words[-1]) > 2) if word not in STOP_WORDS]
        return tuple(self._stemmed(BASES.get(word, word)) for word in kept)

    def _stemmed(self, word: str) -> str:
        if self._stem is None:
            # Without a cache of its own, which would hold words.
            self._stem = import_module("Stemmer").Stemmer("english", 0).stemWord
        return self._stem(word)


def pieces(text: str) -> list[str]:
    """Lower-case words, numbers and unspaced runs of `text`, without the accents of Latin letters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return _ASCII_PIECE.findall(folded)
    spread = unicodedata.normalize("NFD", folded)
    bare = "".join(mark for mark in spread if not "\u0300" <= mark <= "\u036f")
    return _PIECE.findall(unicodedata.normalize("NFC", bare))


def date_words(at: datetime) -> str:
    """Words people use for a day: year, month name, day number, weekday."""
    return f"{at.year} {_MONTHS[at.month - 1]} {at.day} {_DAYS[at.weekday()]}"


def _is_unspaced(piece: str) -> bool:
    return piece[0] >= "\u0e00" and _UNSPACED_START.match(piece) is not None


def _number(piece: str) -> str:
    # 4,000 and 4000 are one number; 4,5 and 4.5 are one; 007 and 7 are one.
    head, comma, tail = piece.rpartition(",")
    if comma and len(tail.partition(".")[0]) == 3:
        return _number(head) + tail
    return piece.replace(",", ".").lstrip("0") or "0"


def _bigrams(run: str) -> tuple[str, ...]:
    single = [mark for mark in run if mark not in _HAN_STOP]
    return (*single, *(left + right for left, right in pairwise(run)))
