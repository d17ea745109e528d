"""Where words go: results to stdout, all else to stderr; colour where a person looks, or asked for it."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import msgspec

from runtime.cli.display import display
from runtime.cli.plain import csv_cell, json_visible, visible

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
PIPE_WIDTH = 100
"""Columns used where nobody's terminal says how many there are."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream."""
    return stream is not None and not stream.closed and stream.isatty()


def coloured(stream: TextIO | None) -> bool:
    """Whether the stream is given colours: as `[display]` says, by itself a terminal that can; never where
    NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    colour = display().colour
    if colour == "auto":
        return is_terminal(stream) and os.environ.get("TERM") != "dumb"
    return colour == "always"


def paint(text: str, *styles: str, on: bool) -> str:
    """The text in a style, where colours are on."""
    if not on or not text or not styles:
        return text
    return f"\x1b[{';'.join(CODES[s] for s in styles)}m{text}\x1b[0m"


def width_of(stream: TextIO | None) -> int:
    """Columns to use: the terminal's, else those that COLUMNS says, else 100; never fewer than 40."""
    if not is_terminal(stream) and not os.environ.get("COLUMNS", "").isdigit():
        return PIPE_WIDTH
    return max(40, shutil.get_terminal_size((PIPE_WIDTH, 24)).columns)


def say(text: str = "", *styles: str) -> None:
    """A line for a person, on stderr. `text` is ours or already made visible."""
    print(paint(text, *styles, on=coloured(sys.stderr)), file=sys.stderr, flush=True)  # noqa: T201


def write(text: str) -> None:
    """A line of our own making (a table's row, maybe coloured) to stdout."""
    sys.stdout.write(text + "\n")


def result(text: str) -> None:
    """A result on stdout: exactly as it is in a pipe, made visible on a terminal; one line end at its end."""
    shown = visible(text) if is_terminal(sys.stdout) else text
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
    sys.stdout.flush()


def json_text(value: Any, *, pretty: bool = False) -> str:
    """JSON of a value, safe for the stream that stdout is."""
    data = msgspec.json.encode(value)
    text = (msgspec.json.format(data, indent=2) if pretty else data).decode("utf-8", "replace")
    return json_visible(text) if is_terminal(sys.stdout) else text


def result_json(value: Any) -> None:
    """A JSON document on stdout; laid out for reading on a terminal, on one line in a pipe."""
    sys.stdout.write(json_text(value, pretty=is_terminal(sys.stdout)) + "\n")
    sys.stdout.flush()


def result_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """CSV on stdout; cells that a spreadsheet would take for formulas are quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([csv_cell(cell) for cell in row])
    text = buffer.getvalue()
    sys.stdout.write(visible(text) if is_terminal(sys.stdout) else text)
    sys.stdout.flush()


def prepare() -> None:
    """Let no letter that a stream's encoding lacks end a command, nor a stream that is closed."""
    if sys.stdin is None:  # closed by whoever started us: `<&-`
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:  # `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
