"""Reads the golden tables of `tests/data`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data"


def table(name: str) -> Any:
    """The content of `golden_<name>.json`."""
    return json.loads((DATA / f"golden_{name}.json").read_text(encoding="utf-8"))


def text_of(value: str | list[Any]) -> str:
    """A text of a table; a long run of one character stands there as [character, times] between pieces."""
    if isinstance(value, str):
        return value
    return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in value)
