"""Words of a text as index terms: Unicode words, stemmed and without stop words in English, bigrams for scripts
that are written without spaces, and the words of a date."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module

# Scripts written without spaces between words (Han, kana, Thai, Lao, Khmer, Burmese), and Hangul, whose particles
# stick to the word: whole runs never match, overlapping bigrams do.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = re.compile(
    rf"[{_UNSPACED}]+|\d+(?:[.,]\d+)*|(?:(?![{_UNSPACED}\d])[^\W_])+(?:['’](?![{_UNSPACED}])[^\W\d_]+)*"
)
_CJK = re.compile(rf"[{_UNSPACED}]")
_NUMBER = re.compile(r"\d")

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being below between both but by
    can cannot could couldn did didn do does doesn doing don down during each either else ever every few for from
    further get gets getting go goes going got had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just let lets ll may me might mine more most much must my
    myself neither no nor not of off on once only onto or other our ours ourselves out over own perhaps quite rather
    re really same shall she should shouldn so some such than that the their theirs them themselves then there these
    they this those though through thus to too under until unless up upon us ve very was wasn we were weren what
    when where whether which while who whom whose why will with within without won would wouldn yet you your yours
    yourself yourselves
    """.split()
)
"""English function words: they carry grammar, not the subject. Words of time and change (now, new, first, last,
never, still, always) stay in."""

_HAN_STOP = frozenset("的了是在我有和就不也都与及吗呢吧啊呀哪么什几个这那谁么是多少请问您你它")
_MONTHS = "january february march april may june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


class Tokens:
    """Turns texts into terms. Keeps the stems of the words it has met; `forget` drops them."""

    def __init__(self) -> None:
        self._stem_word: Callable[[str], str] | None = None
        self._known: dict[str, str] = {}

    def forget(self) -> None:
        """Drop every remembered word, so that no word of an erased text stays in memory."""
        self._known = {}

    def terms(self, text: str) -> list[str]:
        """Index terms of `text` in order, with repeats. Empty for a text of stop words only."""
        found: list[str] = []
        for piece in pieces(text):
            if _CJK.match(piece):
                found.extend(_bigrams(piece))
            elif _NUMBER.match(piece):
                found.append(_number(piece))
            elif piece not in STOP_WORDS:
                found.append(self._stem(piece))
        return found

    def _stem(self, word: str) -> str:
        known = self._known.get(word)
        if known is None:
            if self._stem_word is None:
                self._stem_word = import_module("snowballstemmer").stemmer("english").stemWord
            known = self._known[word] = self._stem_word(word)
        return known


def pieces(text: str) -> Iterator[str]:
    """Lower-case words, numbers and unspaced runs of `text`; accents of Latin letters and possessives are dropped."""
    for match in _PIECE.finditer(_fold(text)):
        piece = match.group()
        if "'" in piece or "’" in piece:
            head, _, tail = piece.replace("’", "'").partition("'")
            yield head
            if len(tail) > 2:
                yield tail.replace("'", "")
        else:
            yield piece


def date_words(at: datetime) -> list[str]:
    """Words people use for a day: year, month name, day number, weekday (lower case, not stemmed)."""
    return [str(at.year), _MONTHS[at.month - 1], str(at.day), _DAYS[at.weekday()]]


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    spread = unicodedata.normalize("NFD", folded)
    bare = "".join(mark for mark in spread if not "\u0300" <= mark <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _number(piece: str) -> str:
    # 4,000 and 4000 are one number; 4.5 is not 45.
    head, comma, tail = piece.rpartition(",")
    if comma and len(tail.partition(".")[0]) == 3:
        return _number(head) + tail
    return piece.replace(",", ".").lstrip("0") or "0"


def _bigrams(run: str) -> Iterator[str]:
    for mark in run:
        if mark not in _HAN_STOP:
            yield mark
    for left, right in zip(run, run[1:], strict=False):
        yield left + right
