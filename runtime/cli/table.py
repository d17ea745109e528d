"""Tables for people: aligned numbers, one flexible column, nothing that wraps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from runtime.cli.plain import cells, clip, one_line, pad
from runtime.cli.streams import coloured, is_terminal, paint, width_of, write

GAP = "  "
NARROWEST = 9
"""Columns of the terminal that a flexible column keeps at least."""


class Column(NamedTuple):
    """A column: numbers are aligned to the right; on a narrow terminal `flexible` ones give way, and where
    that is not enough `spare` ones are left out."""

    title: str
    right: bool = False
    flexible: bool = False
    style: str = ""
    spare: bool = False


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, room: int | None) -> list[int]:
    """The width of each column, 0 for one that is left out. `room` null: as wide as the longest cell."""
    widths = [
        max([cells(column.title), *(cells(row[i]) for row in rows)]) for i, column in enumerate(columns)
    ]
    if room is None:
        return widths
    while (over := _taken(widths) - room) > 0:
        flexible = [i for i, c in enumerate(columns) if c.flexible and widths[i] > NARROWEST]
        spare = [i for i, c in enumerate(columns) if c.spare and widths[i]]
        if sum(widths[i] - NARROWEST for i in flexible) < over and spare:
            widths[spare[-1]] = 0
        elif flexible:
            widths[max(flexible, key=lambda i: widths[i])] -= 1
        else:
            break
    return widths


def _taken(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(GAP) * (len(shown) - 1)


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
        if not width:
            continue
        text = pad(clip(cell, width), width, right=column.right)
        parts.append(paint(text, column.style, on=on) if column.style else text)
    return GAP.join(parts).rstrip()
