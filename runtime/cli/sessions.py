"""List sessions with their cost."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from runtime.cli import options
from runtime.cli.find import flow_id_of, unknown_user
from runtime.cli.opening import with_record
from runtime.cli.plain import counted, visible
from runtime.cli.run_result import cost_json, cost_text, usage_json
from runtime.cli.streams import result_csv, result_json, say
from runtime.cli.table import Column, show
from runtime.cli.when import When, stamp, zone
from runtime.facts import Partition
from runtime.record import Record, SessionFilter, SessionLine

STATES = ("queued", "running", "paused", "completed", "failed", "cancelled", "interrupted")
FIRST = '`farthing run example:support "Hello"` makes one.'
FITS_NONE = "Leave out what narrows it, and `farthing sessions` lists all."
CSV_HEADER = (
    "uid", "session", "flow_id", "flow", "user", "state", "runs", "events", "input_tokens", "output_tokens",
    "cost", "unknown_cost", "opened_at", "last_at",
)  # fmt: skip


@click.command(
    epilog=options.examples(
        "farthing sessions",
        "farthing sessions --user ada --state failed",
        "farthing sessions --text support --csv > sessions.csv",
    )
)
@options.user
@options.flow
@click.option("--state", type=click.Choice(STATES), help="Only those whose newest run is in this state.")
@click.option("--text", metavar="TEXT", help="Only those with this in a name or an id.")
@click.option("--before", type=When(), metavar="TIME", help="Only those last active before this time.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many at most."
)
@options.rehearsal
@options.as_json
@options.as_csv
@options.database
def command(
    user_id: str | None,
    flow: str | None,
    state: str | None,
    text: str | None,
    before: datetime | None,
    limit: int,
    partition: Partition,
    as_json: bool,
    as_csv: bool,
    db: Path | None,
) -> None:
    """List sessions, the latest active first."""

    async def work(record: Record) -> tuple[list[SessionLine], int, str | None]:
        flow_id = await flow_id_of(record, flow, partition) if flow is not None else None
        which = SessionFilter(partition, user_id, flow_id, None, state, text, before, limit)
        lines = await record.sessions(which)
        wrong = None if lines else await unknown_user(record, user_id)
        return lines, await record.hidden_rehearsals(), wrong

    narrowed = any(each is not None for each in (user_id, flow, state, text, before))
    lines, hidden, wrong = with_record(db, work)
    if as_json:
        result_json([line_json(line) for line in lines])
    elif as_csv:
        result_csv(CSV_HEADER, (_csv(line) for line in lines))
    else:
        _table(lines, wrong or (FITS_NONE if narrowed else FIRST))
    tell_hidden(hidden, partition, "session")


def tell_hidden(hidden: int, partition: Partition, noun: str) -> None:
    """Say that rehearsals are left out."""
    if hidden and partition == "real":
        them = "it" if hidden == 1 else "them"
        say(f"{counted(hidden, f'rehearsal {noun}')} hidden; --rehearsal shows {them}.", "dim")


def line_json(line: SessionLine) -> dict[str, Any]:
    """A session as JSON."""
    return {
        "uid": line.uid,
        "session": line.name,
        "flow_id": line.flow_id,
        "flow": line.flow_name,
        "user": line.user_id,
        "state": line.state,
        "runs": line.runs,
        "events": line.events,
        "usage": usage_json(line.usage),
        "cost": cost_json(line.cost, line.unknown),
        "unknown_cost": line.unknown,
        "opened_at": line.opened_at,
        "last_at": line.last_at,
    }


def _csv(line: SessionLine) -> tuple[object, ...]:
    return (
        line.uid, line.name, line.flow_id, line.flow_name, line.user_id, line.state, line.runs, line.events,
        line.usage.input, line.usage.output, cost_json(line.cost, line.unknown), line.unknown,
        line.opened_at.isoformat(), line.last_at.isoformat(),
    )  # fmt: skip


def _table(lines: list[SessionLine], otherwise: str) -> None:
    if not lines:
        say(visible(f"No sessions. {otherwise}"))
        return
    columns = (
        Column("session", flexible=True),
        Column("flow", flexible=True),
        Column("user", flexible=True, spare=True),
        Column("state"),
        Column("runs", right=True, spare=True),
        Column("tokens", right=True),
        Column("cost", right=True),
        Column(f"last ({zone()})"),
    )
    show(
        columns,
        [
            (
                line.name,
                line.flow_name,
                line.user_id or "",
                line.state,
                f"{line.runs:,}",
                f"{line.usage.tokens:,}",
                cost_text(line.cost, line.unknown),
                stamp(line.last_at),
            )
            for line in lines
        ],
    )
