"""Text from models, tools and people made safe for a terminal, for one line of a table, and for a
spreadsheet. Nothing that was written by somebody else reaches a screen but through here."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and newline: escape sequences begin with them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks: they reorder what is read
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # hidden separators, annotations and tags
    "\ud800-\udfff]"  # halves of pairs: no encoding can write them
)
_SPACES = re.compile(r"\s+")
FORMULA_LEADS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""First characters by which a spreadsheet takes a cell for a formula; the last four are full-width."""


@cache
def _unsafe() -> re.Pattern[str]:
    """Made where a text needs it: compiling so wide a set costs a short command a millisecond."""
    return re.compile(_UNSAFE)


def _is_plain(text: str) -> bool:
    """Whether there is nothing to spell out: Python's printable characters are all safe."""
    return all(line.isprintable() for line in text.split("\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with every control and direction character spelled out; tabs and line ends stay."""
    if _is_plain(text):
        return text
    return _unsafe().sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text on one line: runs of white space become one space, the rest is spelled out."""
    return visible(_SPACES.sub(" ", text).strip())


def json_visible(text: str) -> str:
    """JSON text for a terminal: the same value, with what could act on the screen as JSON escapes."""
    if _is_plain(text):
        return text

    def escape(match: re.Match[str]) -> str:
        data = match.group().encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{data[i]:02x}{data[i + 1]:02x}" for i in range(0, len(data), 2))

    return _unsafe().sub(escape, text)


def cells(text: str) -> int:
    """How many columns of a terminal the text takes: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200b\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, width: int) -> str:
    """The text cut to so many columns, with `…` where something was cut."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    taken = 0
    for i, char in enumerate(text):
        taken += _cell(char)
        if taken > width - 1:
            return text[:i].rstrip() + "…"
    return text


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 step`, `2,000 steps`; `plural` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled with spaces to so many columns; `right` aligns it to the right."""
    fill = " " * max(0, width - cells(text))
    return fill + text if right else text + fill


def csv_cell(value: object) -> object:
    """A value for a CSV file: a text that a spreadsheet would compute gets an apostrophe before it."""
    if isinstance(value, str) and value[:1] in FORMULA_LEADS and value:
        return "'" + value
    return value
