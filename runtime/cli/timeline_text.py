"""A timeline's rows as lines for a terminal: aligned numbers, an indented tree, stops nobody can miss."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from runtime.cli.plain import cells, clip, one_line, pad, visible
from runtime.cli.run_result import at_database, cost_text, left_text
from runtime.cli.streams import paint
from runtime.cli.timeline import Row
from runtime.cli.timeline_numbers import COST, LEFT, count, left, money
from runtime.cli.when import duration
from runtime.events import Gauge
from runtime.ledger import amount_text, gauge_text

TIME, IN, OUT, CACHED, TOOK = 8, 7, 6, 7, 10
ROOMY = 104
"""From this many columns on there is room for the cached tokens and for how long things took."""
NARROWEST = 16
MARKS = {"warning": "▲", "stop": "■", "error": "■", "memory": "·", "tool": "→", "admin": "·", "note": "·"}
COLOURS = {"warning": "yellow", "stop": "red", "error": "red"}


class Paper(NamedTuple):
    """What is drawn on: its columns, whether in colour, whether rows quote what a model said, whether
    anything was read from a provider's cache, and which database `--db` named."""

    width: int
    colour: bool
    quotes: bool = True
    caches: bool = False
    db: Path | None = None

    @property
    def roomy(self) -> bool:
        return self.width >= ROOMY

    @property
    def cached(self) -> bool:
        return self.caches or self.roomy

    @property
    def words(self) -> int:
        """Columns left for words beside the numbers."""
        numbers = TIME + 1 + 1 + IN + 1 + OUT + 1 + COST + 1 + LEFT
        numbers += CACHED + 1 if self.cached else 0
        numbers += TOOK + 1 if self.roomy else 0
        return max(NARROWEST, self.width - numbers)

    def ink(self, text: str, *styles: str) -> str:
        return paint(text, *styles, on=self.colour)


def heading(paper: Paper) -> str:
    """The titles of the columns."""
    text = f"{'time':>{TIME}} {pad('what', paper.words)} {'in':>{IN}}→{'out':<{OUT}}"
    text += f" {'cached':>{CACHED}}" if paper.cached else ""
    text += f" {'cost':>{COST}} {'left':>{LEFT}}"
    text += f" {'took':>{TOOK}}" if paper.roomy else ""
    return paper.ink(text, "dim")


def row_lines(row: Row, paper: Paper) -> list[str]:
    """A row of the tree."""
    if row.kind in COLOURS:
        return message_lines(row, paper)
    return [_numbers_line(row, _words(row), paper, indent=max(0, row.depth - 1) * 2)]


def live_lines(row: Row, paper: Paper) -> list[str]:
    """A row as it happens, for somebody who waits: steps, tools, writes, and whatever went wrong."""
    if row.kind in COLOURS:
        return message_lines(row, paper)
    if row.kind == "run" or (row.kind == "node" and row.state not in {"failed", "skipped"}):
        return []
    if row.what == "memory read" or (row.what == "memory write" and row.step is not None):
        return []  # the tool's own row tells it
    if row.kind == "node" and not row.text:
        return []
    words = _words(row, quotes=paper.quotes)
    if row.node_id and row.kind != "node":
        words = words._replace(label=f"{row.node_id} {words.label}")
    return [_numbers_line(row, words, paper, indent=0)]


def message_lines(row: Row, paper: Paper) -> list[str]:
    """A warning or a stop: all of its words, its numbers and what to do, across the whole width."""
    colour = COLOURS[row.kind]
    word = {"warning": "warning", "stop": "STOPPED", "error": "error"}[row.kind]
    where = f" {one_line(row.node_id)}:" if row.node_id else ""
    text = row.text
    if row.gauge is not None and amount_text(row.gauge.metric, row.gauge.used) not in text:
        text = f"{text.rstrip('.')}: {row.gauge.budget} {gauge_text(row.gauge)}."
    lines = _wrapped(f"{MARKS[row.kind]} {word}{where} {text}", paper)
    shown = [f"{_time(row)} {paper.ink(lines[0], 'bold', colour)}"]
    shown += [f"{' ' * TIME} {paper.ink(line, colour)}" for line in lines[1:]]
    if row.remedy:
        shown += [f"{' ' * TIME} {line}" for line in _remedy_lines(row.remedy, paper)]
    return shown


def _remedy_lines(remedy: str, paper: Paper) -> list[str]:
    """What to do. A command in it is left on one line, so that it can be copied whole."""
    text = f"  do: {at_database(remedy, paper.db)}"
    return [visible(text)] if "`farthing " in text else _wrapped(text, paper)


def run_lines(number: int, row: Row, paper: Paper) -> list[str]:
    """The head of a run: how it ended, and what it used."""
    colour = {"completed": "green", "failed": "red", "running": "cyan"}.get(row.state, "yellow")
    parts = [f"run {number}", paper.ink(row.state, colour)]
    if row.text and row.state not in {"failed", "cancelled", "interrupted"}:
        parts.append(one_line(row.text))
    if row.ms is not None:
        parts.append(duration(row.ms))
    if row.rehearsal:
        parts.append(paper.ink("rehearsal", "yellow"))
    elif row.model:
        parts.append(one_line(row.model))
    if row.usage is not None:
        parts += [f"{row.usage.tokens:,} tokens", cost_text(row.cost, row.unknown)]
    return [paper.ink(parts[0], "bold") + " · " + " · ".join(parts[1:])]


def budget_lines(rows: Iterable[Row], paper: Paper) -> list[str]:
    """Each budget as the last of the rows shows it."""
    last: dict[tuple[str, str, str], Gauge] = {}
    for row in rows:
        for gauge in row.gauges:
            last[(gauge.pot, gauge.metric, gauge.period)] = gauge
    return [paper.ink(line, "dim") for gauge in last.values() for line in budget_words(gauge, paper)]


def budget_words(gauge: Gauge, paper: Paper) -> list[str]:
    """A budget in words: what is left, of what, and when it starts anew."""
    left = "" if gauge.limit is None else f"{left_text(gauge)}, "
    text = f"  {gauge.budget}: {left}used {gauge_text(gauge)}"
    return textwrap.wrap(visible(text), paper.width, subsequent_indent="    ", break_on_hyphens=False)


def tree_lines(rows: Sequence[Row], paper: Paper) -> list[str]:
    """A whole timeline: each run with its head, its rows and its budgets."""
    paper = paper._replace(caches=any(_from_cache(row) for row in rows))
    lines: list[str] = []
    number = 0
    at = 0
    while at < len(rows):
        end = at + 1
        while end < len(rows) and rows[end].depth > 0:
            end += 1
        head, below = rows[at], rows[at + 1 : end]
        if head.kind == "run":
            number += 1
            lines += [*([""] if lines else []), *run_lines(number, head, paper)]
            lines += [heading(paper)] if below else []
            lines += [line for row in below for line in row_lines(row, paper)]
            lines += _why(head, below, paper) + budget_lines(below, paper)
        else:
            lines += row_lines(head, paper)
        at = end
    return lines


def _from_cache(row: Row) -> bool:
    return row.kind == "call" and row.usage is not None and row.usage.cached > 0


def _why(head: Row, below: Sequence[Row], paper: Paper) -> list[str]:
    """The error of a run in full, where none of its rows has told it so."""
    if head.code is None or any(row.code == head.code and row.kind in COLOURS for row in below):
        return []
    at_end = msgspec.structs.replace(head, kind="error", offset_ms=head.ms or 0)
    return message_lines(at_end, paper)


class Words(NamedTuple):
    """What a row is, and what was said or done there."""

    label: str
    text: str = ""


def _words(row: Row, *, quotes: bool = True) -> Words:
    if row.kind == "call":
        told = quotes or row.state == "failed" or row.text.startswith("asks for ")
        return Words(_call_label(row), row.text if told else "")
    if row.kind == "node":
        return Words(row.what + ("" if row.state in {"done", "running"} else f" {row.state}"), row.text)
    state = f" {row.state}:" if row.state in {"failed", "running", "cancelled"} else ""
    return Words(f"{MARKS[row.kind]} {row.what}{state}", row.text)


def _call_label(row: Row) -> str:
    words = [f"step {row.step}" if row.step is not None else "call"]
    if row.purpose not in {None, "main"}:
        words.append(str(row.purpose))
    if row.attempt > 1:
        words.append(f"try {row.attempt}")
    if row.state != "done":
        words.append("waits for a budget" if row.state == "waiting" else row.state)
    elif row.waited_ms:
        words.append(f"waited {duration(row.waited_ms)}")
    if row.estimated:
        words.append("estimated")
    return " ".join(words)


def _numbers_line(row: Row, words: Words, paper: Paper, *, indent: int) -> str:
    bare = row.usage is None and not row.gauges and not (paper.roomy and row.ms)
    columns = paper.width - TIME - 1 if bare else paper.words
    label = clip(" " * indent + one_line(words.label), columns)
    room = columns - cells(label) - 2
    text = clip(one_line(words.text), room) if words.text and room > 3 else ""
    fill = " " * (columns - cells(label) - (cells(text) + 2 if text else 0))
    shown = f"{_inked(row, label, paper)}{'  ' + paper.ink(text, *_quoted(row)) if text else ''}{fill}"
    line = f"{_time(row)} {shown}"
    if row.usage is not None or row.gauges:
        line += _figures(row, paper)
    elif paper.roomy and row.ms:
        line += " " * (1 + IN + 1 + OUT + 1 + CACHED + 1 + COST + 1 + LEFT)
    if paper.roomy and row.ms:
        line += paper.ink(f" {clip(duration(row.ms), TOOK):>{TOOK}}", "dim")
    return line.rstrip()


def _quoted(row: Row) -> tuple[str, ...]:
    return ("red",) if row.state == "failed" else ("dim",) if row.kind != "call" else ()


def _figures(row: Row, paper: Paper) -> str:
    usage = row.usage
    if usage is None:
        tokens = " " * (1 + IN + 1 + OUT) + (" " * (CACHED + 1) if paper.cached else "")
        cost = ""
    else:
        tokens = f" {count(usage.input, IN):>{IN}}→{count(usage.output, OUT):<{OUT}}"
        cached = count(usage.cached, CACHED) if usage.cached else ""
        tokens += paper.ink(f" {cached:>{CACHED}}", "dim") if paper.cached else ""
        cost = "unknown" if row.cost is None else money(row.cost)
    shown = f" {cost:>{COST}}"
    rest = f" {left(row.gauges):>{LEFT}}"
    return tokens + (paper.ink(shown, "yellow") if cost == "unknown" else shown) + paper.ink(rest, "cyan")


def _inked(row: Row, text: str, paper: Paper) -> str:
    if row.state == "failed":
        return paper.ink(text, "red")
    if row.state == "waiting":
        return paper.ink(text, "yellow")
    if row.kind in {"memory", "note"} or row.state == "skipped":
        return paper.ink(text, "dim")
    return paper.ink(text, "bold") if row.kind == "node" else text


def _time(row: Row) -> str:
    seconds = row.offset_ms / 1000
    if seconds < 1000:
        return f"{seconds:>{TIME - 1}.2f}s"
    minutes = row.offset_ms // 60_000
    text = f"{minutes} m" if minutes < 6000 else f"{minutes // 1440} d"
    return text.rjust(TIME)


def _wrapped(text: str, paper: Paper) -> list[str]:
    """A text over several lines; what is indented at its beginning stays so."""
    room = max(NARROWEST, paper.width - TIME - 1)
    lines: list[str] = []
    for part in visible(text).split("\n"):
        lead = " " * (len(part) - len(part.lstrip()))
        wide = 2 if cells(part) > len(part) * 1.2 else 1
        lines += textwrap.wrap(part, room // wide, subsequent_indent=lead + "  ", break_on_hyphens=False)
    return lines or [""]
