"""Tables for people: aligned numbers, one flexible column, nothing that wraps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from runtime.cli.plain import cells, clip, one_line, pad
from runtime.cli.streams import coloured, is_terminal, paint, width_of, write

GAP = "  "
NARROWEST = 12
"""Columns that a flexible column keeps at least."""


class Column(NamedTuple):
    """A column: numbers are aligned to the right; `flexible` columns give way on a narrow terminal."""

    title: str
    right: bool = False
    flexible: bool = False
    style: str = ""


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, room: int | None) -> list[int]:
    """The width of each column. `room` null: as wide as the longest cell."""
    widths = [
        max([cells(column.title), *(cells(row[i]) for row in rows)]) for i, column in enumerate(columns)
    ]
    if room is None:
        return widths
    over = sum(widths) + len(GAP) * (len(widths) - 1) - room
    while over > 0:
        flexible = [i for i, c in enumerate(columns) if c.flexible and widths[i] > NARROWEST]
        if not flexible:
            break
        widest = max(flexible, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, total: Sequence[str] = ()) -> None:
    """Print a table to stdout. Cells may hold anything; `total` is a last row apart from the others."""
    clean = [[one_line(cell) for cell in row] for row in rows]
    last = [one_line(cell) for cell in total]
    room = width_of(sys.stdout) if is_terminal(sys.stdout) else None
    widths = lay_out(columns, [*clean, *([last] if last else [])], room=room)
    on = coloured(sys.stdout)
    write(paint(_line(columns, widths, [c.title for c in columns]), "dim", on=on))
    for row in clean:
        write(_line(columns, widths, row, on=on))
    if last:
        write(paint(_line(columns, widths, last), "bold", on=on))


def _line(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str], *, on: bool = False) -> str:
    parts = []
    for column, width, cell in zip(columns, widths, row, strict=True):
        text = pad(clip(cell, width), width, right=column.right)
        parts.append(paint(text, column.style, on=on) if column.style else text)
    return GAP.join(parts).rstrip()
