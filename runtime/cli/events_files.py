"""A timeline for other programs: its rows as CSV, and as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.cli.run_result import cost_json
from runtime.cli.streams import result_csv
from runtime.cli.timeline import Row
from runtime.errors import BadInput
from runtime.record import SessionLine

HEADER = (
    "seq", "at", "kind", "depth", "run_id", "node", "step", "what", "text", "state", "offset_ms", "ms",
    "waited_ms", "model", "purpose", "input", "cached", "cache_write", "output", "reasoning", "cost",
    "estimated", "code",
)  # fmt: skip


def print_csv(rows: Sequence[Row]) -> None:
    """A line a row of the timeline; the cost is empty where nothing was used or nobody knows it."""
    result_csv(HEADER, (_cells(row) for row in rows))


def _cells(row: Row) -> tuple[object, ...]:
    used = row.usage
    numbers = (
        ("",) * 5
        if used is None
        else (used.input, used.cached, used.cache_write, used.output, used.reasoning)
    )
    cost = None if row.cost is None else cost_json(row.cost, 0)
    return (
        row.seq, row.at.isoformat(), row.kind, row.depth, row.run_id, row.node_id, row.step, row.what,
        row.text, row.state, row.offset_ms, row.ms, row.waited_ms, row.model, row.purpose, *numbers, cost,
        row.estimated, row.code,
    )  # fmt: skip


PAGE_BEGINS = b"<!doctype html>"


def write_html(path: Path, line: SessionLine, rows: Sequence[Row]) -> None:
    """Write the timeline's page, in place of an earlier one. Raises BadInput where it cannot be written, or
    where something else stands there."""
    from runtime.cli.page.timeline import page

    try:
        if path.is_file() and path.stat().st_size and not _is_page(path):
            raise BadInput(
                f"{path} is there already and is no page of a timeline.",
                remedy="Name another file, or move it away.",
            )
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(page(line, rows))
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", remedy="Name another file.") from error


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PAGE_BEGINS)).lower() == PAGE_BEGINS
