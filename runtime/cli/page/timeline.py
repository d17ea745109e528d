"""A timeline's page: one file with everything in it, that asks nobody for anything."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files

from runtime.cli.page.parts import esc, facts_of, figures, meter, waterfall
from runtime.cli.plain import counted
from runtime.cli.run_result import cost_text
from runtime.cli.timeline import Row
from runtime.cli.timeline_numbers import left
from runtime.cli.when import duration, stamp_utc
from runtime.events import Gauge
from runtime.record import SessionLine

GROUPS = {
    "node": "Nodes", "call": "Model calls", "tool": "Tools", "memory": "Memory",
    "message": "Warnings and stops", "note": "Notes",
}  # fmt: skip
GROUP_OF = {"warning": "message", "stop": "message", "error": "message", "admin": "note"}
DEEPEST = 6
TITLES = ("time", "what", "when", "in → out", "cached", "cost", "left")


def page(line: SessionLine, rows: Sequence[Row]) -> Iterator[str]:
    """The page, piece by piece."""
    style, script = _asset("timeline.css"), _asset("timeline.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{esc(line.name)} · Farthing</title><style>{style}</style></head><body><main>"
    )
    yield _head(line, rows)
    yield _filters(rows)
    for number, (head, below) in enumerate(_runs(rows), 1):
        yield from _run(number, head, below)
    yield (
        f"<footer>{counted(line.events, 'event')} of session {esc(line.uid)}, by Farthing.</footer></main>"
        f"<script>{script}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return (files("runtime.cli.page") / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


def _head(line: SessionLine, rows: Sequence[Row]) -> str:
    user = "no user" if line.user_id is None else f"user {esc(line.user_id)}"
    kind = " · rehearsal" if line.partition == "rehearsal" else ""
    calls = sum(row.kind == "call" for row in rows)
    tiles = [
        (f"{line.runs:,}", "run" if line.runs == 1 else "runs"),
        (f"{calls:,}", "model call" if calls == 1 else "model calls"),
        (f"{line.usage.input:,}", "tokens in"),
        (f"{line.usage.output:,}", "tokens out"),
        (esc(cost_text(line.cost, line.unknown)), "cost"),
    ]
    shown = "".join(f"<li><b>{number}</b><span>{word}</span></li>" for number, word in tiles)
    return (
        f'<h1>{esc(line.name)}</h1><p class="about">flow {esc(line.flow_name)} · {user}{kind} · '
        f'{stamp_utc(line.opened_at)} UTC · <span class="id">{esc(line.uid)}</span></p>'
        f'<ul class="tiles">{shown}</ul>'
    )


def _filters(rows: Sequence[Row]) -> str:
    there = {_group(row) for row in rows}
    buttons = "".join(
        f'<button type="button" data-kind="{group}" aria-pressed="false">{words}</button>'
        for group, words in GROUPS.items()
        if group in there
    )
    return (
        '<div class="bar"><input id="text" type="search" placeholder="Filter by text" '
        f'aria-label="Filter by text">{buttons}</div>'
    )


def _group(row: Row) -> str:
    return GROUP_OF.get(row.kind, row.kind)


def _runs(rows: Sequence[Row]) -> Iterator[tuple[Row | None, list[Row]]]:
    """Each run with its rows; rows that belong to none stand together where they come."""
    head: Row | None = None
    below: list[Row] = []
    for row in rows:
        if row.depth == 0 and (row.kind == "run" or head is not None):
            if head is not None or below:
                yield head, below
            head, below = (row, []) if row.kind == "run" else (None, [row])
        else:
            below.append(row)
    if head is not None or below:
        yield head, below


def _run(number: int, head: Row | None, below: Sequence[Row]) -> Iterator[str]:
    whole = max((row.offset_ms + (row.ms or 0) for row in below), default=0)
    whole = max(whole, head.ms or 0) if head is not None else whole
    yield "<section>"
    yield (
        '<div class="head"><h2>Outside of runs</h2></div>' if head is None else _run_head(number, head, below)
    )
    titles = "".join(_title(place, title) for place, title in enumerate(TITLES))
    yield f'<div class="grid titles">{titles}</div>'
    for row in below:
        yield _row(row, whole)
    yield f'<p class="none"{" hidden" if below else ""}>Nothing here fits.</p></section>'


def _title(place: int, title: str) -> str:
    classes = ["num"] if place > 2 or not place else []
    classes += ["wide"] if place in (2, 4, 6) else []
    return f'<span class="{" ".join(classes)}">{title}</span>'


def _run_head(number: int, head: Row, below: Sequence[Row]) -> str:
    sums = [head.model or "", duration(head.ms)]
    if head.usage is not None:
        sums += [f"{head.usage.tokens:,} tokens", cost_text(head.cost, head.unknown)]
    told = f"<p>{esc(head.text)}</p>" if head.text else ""
    told += f"<p>{esc(head.remedy)}</p>" if head.remedy else ""
    pots: dict[tuple[str, str, str], Gauge] = {
        (gauge.pot, gauge.metric, gauge.period): gauge for row in below for gauge in row.gauges
    }
    meters = "".join(meter(gauge) for gauge in pots.values())
    return (
        f'<div class="head"><h2>Run {number} <span class="state {esc(head.state)}">{esc(head.state)}</span>'
        f'<span class="sum">{esc(" · ".join(part for part in sums if part))}</span></h2>{told}'
        + (f'<div class="pots">{meters}</div>' if meters else "")
        + "</div>"
    )


def _row(row: Row, whole_ms: int) -> str:
    depth = min(DEEPEST, max(1, row.depth))
    seconds = f"{row.offset_ms / 1000:,.2f} s"
    known = "".join(f"<dt>{esc(name)}</dt><dd>{esc(words)}</dd>" for name, words in facts_of(row))
    text = f"<pre>{esc(row.text)}</pre>" if row.text else ""
    remedy = f'<p class="do">What to do: {esc(row.remedy)}</p>' if row.remedy else ""
    rest = f'<span class="wide">{waterfall(row, whole_ms)}</span>{figures(row, left(row.gauges))}'
    if _group(row) == "message":  # all of its words, across the whole width
        rest = f'<span class="what d{depth} does">{esc(row.remedy)}</span>' if row.remedy else ""
        remedy = ""
    return (
        f'<details class="k-{row.kind} s-{esc(row.state)}" data-depth="{row.depth}" '
        f'data-group="{_group(row)}">'
        f'<summary class="grid"><span class="num time">{seconds}</span>'
        f'<span class="what d{depth}"><b>{esc(_label(row))}</b><span>{esc(row.text[:300])}</span></span>'
        f"{rest}</summary>"
        f'<div class="more">{text}{remedy}<dl>{known}</dl></div></details>'
    )


def _label(row: Row) -> str:
    if row.kind != "call":
        state = "" if row.state in ("done", "running") else f" {row.state}"
        return row.what + state
    words = [f"step {row.step}" if row.step is not None else "call"]
    words += [row.purpose] if row.purpose not in (None, "main") else []
    words += [f"try {row.attempt}"] if row.attempt > 1 else []
    words += [row.state] if row.state != "done" else []
    return " ".join(words)
