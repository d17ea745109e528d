"""Read a session's timeline."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import click

from runtime.cli import options
from runtime.cli.events_chosen import Wanted, chosen, known_types, stored_of
from runtime.cli.events_files import print_csv, write_html
from runtime.cli.find import find_session, session_of_run, tell_kind
from runtime.cli.opening import with_record
from runtime.cli.plain import clip, counted, json_visible, one_line
from runtime.cli.streams import coloured, is_terminal, say, width_of, write
from runtime.cli.timeline import Timeline, fold
from runtime.cli.timeline_text import Paper, budget_lines, heading, live_lines, run_lines, tree_lines
from runtime.cli.when import When, stamp, zone
from runtime.errors import BadInput, NotFound
from runtime.events import decode
from runtime.facts import Partition
from runtime.record import ACTIVE, Record, SessionLine

FILTERS = ("session", "user_id", "flow", "run_id", "types", "node", "step", "since", "after")


@click.command(
    epilog=options.examples(
        "farthing events",
        "farthing events monday --user ada",
        "farthing events monday --json --type agent.usage",
        "farthing events monday --node helper --step 2 --since 2h",
        "farthing events monday --html monday.html",
        "farthing events --follow",
    )
)
@click.argument("session", required=False)
@options.user
@options.flow
@click.option("--run", "run_id", callback=options.filled, metavar="ID", help="Only this run's.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type; repeatable. `agent` takes all of agent.*.",
)
@click.option(
    "--node", callback=options.filled, metavar="ID", help="Only this node's, and those inside its body."
)
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Only those of this step of an agent.")
@click.option("--since", type=When(), metavar="TIME", help="Only from this time on: 2026-03-01, today, 2h.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only those after this number."
)
@click.option("--follow", is_flag=True, help="Go on with what happens now; with --run until that run ends.")
@click.option("--schema", is_flag=True, help="Print every type with its fields and an example.")
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the timeline as one page to FILE."
)
@options.as_json
@options.as_csv
@click.option("--rehearsal", is_flag=True, help="Look among rehearsals (runs on the scripted model) only.")
@options.database
def command(
    session: str | None,
    user_id: str | None,
    flow: str | None,
    run_id: str | None,
    types: tuple[str, ...],
    node: str | None,
    step: int | None,
    since: datetime | None,
    after: int,
    follow: bool,
    schema: bool,
    html: Path | None,
    as_json: bool,
    as_csv: bool,
    rehearsal: bool,
    db: Path | None,
) -> None:
    """Show what happened in SESSION, a name or an id; without one, in the latest.

    A row each for run, node, step and tool, with tokens, cost and what is left of the tightest budget
    after it. With --json an event a line, exactly as stored; with --csv a row a line. A page of --html has
    everything in it and asks nobody for anything.
    """
    if schema:
        options.refuse_unused("with --schema", *FILTERS, "follow", "html", "as_csv", "rehearsal")
        from runtime.cli.event_schema import print_schema

        print_schema(as_json=as_json)
        return
    wanted = Wanted(run_id, known_types(types), node, step, since, after)
    partition: Partition | None = "rehearsal" if rehearsal else None
    if follow and (html is not None or as_csv):
        raise BadInput("What goes on has no end to write.", remedy="Leave --follow or the file out.")
    if html is not None:
        options.refuse_unused("with --html", "as_json", "as_csv")

    async def work(record: Record) -> None:
        line = await _session(record, session, wanted, partition, user_id, flow)
        if not rehearsal:
            latest = session is None and run_id is None
            await tell_kind(record, line, latest=latest, user_id=user_id, flow=flow)
        if follow:
            await _follow(record, line, wanted, _paper(db), as_json=as_json)
        elif html is not None:
            write_html(html, line, fold(chosen(await _read(record, line, wanted), wanted)))
        elif as_csv:
            print_csv(fold(chosen(await _read(record, line, wanted), wanted)))
        elif as_json:
            _print_json(await _read(record, line, wanted), wanted)
        else:
            _print_tree(line, await _read(record, line, wanted), wanted, _paper(db))

    with_record(db, work)


async def _session(
    record: Record,
    session: str | None,
    wanted: Wanted,
    partition: Partition | None,
    user_id: str | None,
    flow: str | None,
) -> SessionLine:
    """The session meant; a run id alone names its session."""
    if wanted.run_id is None:
        return await find_session(record, session, partition=partition, user_id=user_id, flow=flow)
    owner = await session_of_run(record, wanted.run_id)
    line = await find_session(record, session or owner, partition=partition, user_id=user_id, flow=flow)
    if line.uid != owner:
        raise NotFound(f"The run is of another session, {owner}.", remedy="Leave the session out, or --run.")
    return line


async def _read(record: Record, line: SessionLine, wanted: Wanted) -> list[bytes]:
    return await record.events_json(line.uid, after=wanted.after, run_id=wanted.run_id)


def _print_json(bodies: list[bytes], wanted: Wanted) -> None:
    """An event a line; bytes go out as they are stored, unless a person looks."""
    chosen = bodies if wanted.whole else [body for body in bodies if wanted.has(body)]
    if is_terminal(sys.stdout):
        for body in chosen:
            write(json_visible(body.decode("utf-8", "replace")))
        return
    if chosen:
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\n".join(chosen) + b"\n")
        sys.stdout.buffer.flush()


def _print_tree(line: SessionLine, bodies: list[bytes], wanted: Wanted, paper: Paper) -> None:
    for each in head_lines(line, paper):
        write(each)
    lines = tree_lines(fold(chosen(bodies, wanted)), paper)
    for each in lines:
        write(each)
    if not lines and line.events:
        say("Nothing of this session is what was asked for. Leave out what narrows it.")


def _paper(db: Path | None) -> Paper:
    return Paper(width_of(sys.stdout), coloured(sys.stdout), db=db)


def head_lines(line: SessionLine, paper: Paper) -> list[str]:
    """Whose session it is, and which."""
    user = "no user" if line.user_id is None else f"user {line.user_id}"
    runs, events = counted(line.runs, "run"), counted(line.events, "event")
    kind = "rehearsal · " if line.partition == "rehearsal" else ""
    lines = [
        f"session {line.name} · flow {line.flow_name}",
        f"{user} · {kind}{runs}, {events} · {stamp(line.opened_at)} {zone()}",
        f"id {line.uid}",
    ]
    clipped = [clip(one_line(each), paper.width) for each in lines]
    return [paper.ink(clipped[0], "bold"), *(paper.ink(each, "dim") for each in clipped[1:]), ""]


async def _follow(record: Record, line: SessionLine, wanted: Wanted, paper: Paper, *, as_json: bool) -> None:
    """Print what was and what comes, until cancelled or, with a run, until it ends."""
    if not as_json:
        for each in head_lines(line, paper):
            write(each)
    timeline = Timeline()
    runs: dict[str | None, int] = {}
    bodies = _until_end(record, line, wanted)
    async for body in bodies:
        if as_json:
            if wanted.has(body):
                _print_json([body], wanted._replace(after=0))
            continue
        for each in _news(timeline, body, wanted, runs, paper):
            write(each)
        sys.stdout.flush()


async def _until_end(record: Record, line: SessionLine, wanted: Wanted) -> AsyncIterator[bytes]:
    """Events as they come. A run that has ended, or ends, ends them."""
    if wanted.run_id is not None:
        run = await record.run(wanted.run_id)
        if run is not None and run.state not in ACTIVE:
            for body in await _read(record, line, wanted):
                yield body
            return
    async for body in record.follow(line.uid, after=wanted.after):
        yield body
        if wanted.run_id is not None:
            stored = stored_of(body)
            if stored.type == "run.finished" and stored.run_id == wanted.run_id:
                return


def _news(
    timeline: Timeline, body: bytes, wanted: Wanted, runs: dict[str | None, int], paper: Paper
) -> list[str]:
    """The lines that an event brings, when lines can only be added."""
    if not wanted.has(body):
        return []
    lines: list[str] = []
    for row in timeline.add(stored_of(body).seq, decode(body)):
        if row.kind == "run":
            below = timeline.rows(row.run_id)
            lines += [*run_lines(runs.get(row.run_id, 1), row, paper), *budget_lines(below, paper), ""]
            continue
        if row.run_id is not None and row.run_id not in runs:
            runs[row.run_id] = len(runs) + 1
            lines.append(heading(paper))
        lines += live_lines(row, paper)
    return lines
