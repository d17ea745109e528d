"""Measure what memory finds on your own conversations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtime.cli import options
from runtime.cli.plain import one_line
from runtime.cli.streams import is_terminal, result_csv, result_json, say
from runtime.cli.table import Column, show
from runtime.clock import SystemClock
from runtime.errors import BadInput

if TYPE_CHECKING:
    from runtime.memory.evaluation import Finder, Report
    from runtime.memory.finding.scenarios import Scenario

COLUMNS = (
    ("evidence@500", "ev@500"),
    ("evidence@1500", "ev@1500"),
    ("evidence@4000", "ev@4000"),
    ("hit@1500", "hit@1500"),
    ("used@1500", "used@1500"),
    ("current_first@500", "new 1st@500"),
    ("conflict@500", "conflict@500"),
)
"""The measures of the table and their short titles; JSON has all."""


@click.group(
    "eval",
    epilog=options.examples("farthing eval memory --data conversations/"),
)
def command() -> None:
    """Measure parts of Farthing on your own data, without a model."""


@command.command(
    short_help="Measure what memory finds.",
    epilog=options.examples(
        "farthing eval memory --data conversations/",
        "farthing eval memory --data conversations/ --datasets support,chat --embed",
        "farthing eval memory --data conversations/ --by-category --csv",
    ),
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    metavar="FOLDER",
    help="Where the datasets lie: files NAME.jsonl, a scenario a line.",
)
@click.option("--datasets", metavar="NAMES", help="Only these, with commas; else every one there.")
@click.option("--embed", is_flag=True, help="Also by meaning: needs `pip install 'farthing[embed]'`.")
@click.option("--by-category", is_flag=True, help="A row for each category of questions.")
@options.as_json
@options.as_csv
def memory(
    data: Path, datasets: str | None, embed: bool, by_category: bool, as_json: bool, as_csv: bool
) -> None:
    """Put conversations into memory, ask its index each question, and measure how much of the evidence comes
    within 500, 1,500 and 4,000 tokens.

    A line of a dataset: {"id", "now", "sessions": [{"id", "ts", "turns": [{"id", "speaker", "role", "ts",
    "text"}]}], "queries": [{"id", "text", "category", "evidence", "stale", "answer"}]}, where evidence and
    stale are lists of turn ids.

    `conflict` is the share of questions for which an outdated statement came along with the current one.
    """
    found = [(name, _measure(name, data / f"{name}.jsonl", embed=embed)) for name in _names(data, datasets)]
    if as_json:
        result_json({name: _json(report) for name, report in found})
        return
    rows = [row for name, report in found for row in _rows(name, report, by_category=by_category)]
    titles = ["dataset", *(["category"] if by_category else []), "questions", *(t for _, t in COLUMNS)]
    titles += ["p50 ms", "p95 ms"]
    if as_csv:
        result_csv(titles, rows)
    else:
        words = 2 if by_category else 1
        show([Column(t, right=i >= words, flexible=i < words) for i, t in enumerate(titles)], rows)


def _names(data: Path, given: str | None) -> list[str]:
    there = sorted(path.stem for path in data.glob("*.jsonl"))
    if given is None:
        if not there:
            raise BadInput(f"There is no dataset in {str(data)!r}.", remedy="Put files NAME.jsonl there.")
        return there
    names = list(dict.fromkeys(part.strip() for part in given.split(",") if part.strip()))
    missing = [name for name in names if name not in there]
    if missing or not names:
        raise BadInput(
            f"There is no dataset {missing[0] if missing else given!r} in {data}.",
            remedy=f"There are: {', '.join(there)}." if there else "Put files NAME.jsonl there.",
        )
    return names


def _measure(name: str, path: Path, *, embed: bool) -> Report:
    from runtime.memory.evaluation import evaluate
    from runtime.memory.finding.scenarios import load

    scenarios = load(path)
    report = evaluate(_told(name, scenarios), _maker(embed=embed), SystemClock())
    if is_terminal(sys.stderr):
        sys.stderr.write("\r\x1b[K")
    return report


def _maker(*, embed: bool) -> Callable[[], Finder]:
    """What makes a fresh index for each scenario; the embedder is loaded once. Raises BadConfig."""
    from runtime.memory.finding.finder import IndexFinder

    if not embed:
        return IndexFinder
    from runtime.memory.finding.embed import StaticEmbedder

    embedder = StaticEmbedder()
    return lambda: IndexFinder(embedder=embedder)


def _told(name: str, scenarios: Sequence[Scenario]) -> Iterator[Scenario]:
    """The scenarios, with word of how far it is: on a terminal on one line."""
    questions = sum(len(scenario.questions) for scenario in scenarios)
    live = is_terminal(sys.stderr)
    if not live:
        say(f"{one_line(name)}: {len(scenarios):,} scenarios, {questions:,} questions", "dim")
    for number, scenario in enumerate(scenarios, 1):
        if live:
            text = f"{one_line(name)}: scenario {number:,} of {len(scenarios):,}"
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        yield scenario


def _json(report: Report) -> dict[str, Any]:
    return {
        "questions": report.questions,
        "means": report.means,
        "by_category": report.by_category,
        "latency_ms": {"p50": report.latency_p50, "p95": report.latency_p95},
    }


def _rows(name: str, report: Report, *, by_category: bool) -> list[list[str]]:
    def cells(means: dict[str, float]) -> list[str]:
        return [_number(measure, means.get(measure)) for measure, _ in COLUMNS]

    times = [f"{report.latency_p50:.2f}", f"{report.latency_p95:.2f}"]
    count = f"{report.questions:,}"
    if not by_category:
        return [[name, count, *cells(report.means), *times]]
    rows = [[name, category, "", *cells(means), "", ""] for category, means in report.by_category.items()]
    return [[name, "all", count, *cells(report.means), *times], *rows]


def _number(measure: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if measure.startswith("used") else f"{value:.3f}"
