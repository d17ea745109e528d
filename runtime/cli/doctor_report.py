"""What a doctor's report is made of."""

from __future__ import annotations

from typing import Any, NamedTuple


class Section(NamedTuple):
    """A part of the report: lines for people, `data` for programs."""

    name: str
    lines: list[str]
    data: Any


class Problem(NamedTuple):
    """Something to mend; a `note` need not be."""

    message: str
    remedy: str
    note: bool = False
