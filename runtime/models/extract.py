"""An extractive summary: the sentences that hold most of what a text is about, in their order."""

from __future__ import annotations

import re
from collections import Counter

SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+|$|\n)")
WORD = re.compile(r"[^\W\d_]{3,}")
COMMON = frozenset(
    """
    the and for that with this from have has had was were are but not you your they their them its his her our
    can will would should could been into than then there here what when where which who how all any one out
    about also just more most some such only over very
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Words that say nothing of what a text is about."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the white space around them."""
    found = (part.strip() for part in SENTENCE.findall(text))
    return [part for part in found if WORD.search(part) or len(part) > 3]


def summary_of(text: str, count: int = 3, longest: int = 600) -> str:
    """The `count` weightiest sentences in the order of the text, at most `longest` characters.

    A sentence weighs the mean frequency of its words in the whole text; the first one a half more, since
    texts tend to begin with what they are about.
    """
    parts = list(dict.fromkeys(sentences(text)))
    words = [_words(part) for part in parts]
    often = Counter(word for found in words for word in found)
    weights = [sum(often[w] for w in found) / (len(found) + 3) for found in words]
    if weights:
        weights[0] *= 1.5
    best = sorted(range(len(parts)), key=lambda i: (-weights[i], i))[:count]
    summary = " ".join(parts[i] for i in sorted(best))
    return summary if len(summary) <= longest else summary[: longest - 1].rstrip() + "…"


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if word not in COMMON]
