"""What the wording of a statement gives away: that it will not hold for long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_PASSING = re.compile(
    r"\b(?:right now|just now|at the moment|at present|for (?:now|today|the moment|the time being)|"
    r"to(?:day|night|morrow)|yesterday|this (?:morning|afternoon|evening|week|weekend)|"
    r"in (?:a|\d+|an) (?:minutes?|moment|hours?|seconds?|few \w+)|temporarily|"
    r"until (?:later|tomorrow|tonight)|"
    r"(?:am|is|are|'m|'s|'re) (?:currently|just|still) (?:\w+ing|at|on|in|busy|away|out)|"
    r"(?:be|is|are|am|'ll be) right back)\b"
    r"|现在|目前|今天|今晚|明天|昨天|刚才|暂时|正在|今日|今夜|明日|지금|오늘|내일",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\b(?:from|as of|since|starting|beginning) (?:today|yesterday|tomorrow|this week)\b", re.IGNORECASE
)


def is_transient(value: Any) -> bool:
    """Whether a text, or any text in a value, speaks of now, today or a little while; what begins today and
    goes on does not."""
    return any(_PASSING.search(text) and not _DATED.search(text) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
