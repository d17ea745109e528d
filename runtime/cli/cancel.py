"""End a run, whichever process executes it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import click

from runtime.cli import options
from runtime.cli.failure import sentence
from runtime.cli.find import find_session
from runtime.cli.opening import with_record
from runtime.cli.plain import one_line, visible
from runtime.cli.streams import result_json, say
from runtime.facts import Partition
from runtime.record import ACTIVE, Record, RunLine

ANSWERS_S = 5.0
"""How long the ends of the runs are waited for. The process that executes one looks four times a second; what
is longer is a process that stands still."""
LOOK_S = 0.05


class Asked(NamedTuple):
    """What became of a run that was asked to end: its state before and after."""

    run_id: str
    was: str
    state: str


@click.command(
    epilog=options.examples(
        "farthing cancel monday",
        "farthing cancel 0198f2c4-5d1e-7a42-9c5b-1f0e6f4e7d21",
        "farthing cancel monday --user ada --flow support",
    )
)
@click.argument("session_or_run", metavar="SESSION|RUN")
@options.user
@options.flow
@options.rehearsal
@options.actor
@options.as_json
@options.database
def command(
    session_or_run: str,
    user_id: str | None,
    flow: str | None,
    partition: Partition,
    actor: str,
    as_json: bool,
    db: Path | None,
) -> None:
    """Ask a run, or every run of a session, to end, whichever process executes it.

    SESSION is a session's name or id, RUN the id of a run. A model request that is under way is ended within
    a second and what it used is counted; no later call starts. What has ended stays as it is.

    Exit codes: 0 nothing of it runs any more, 1 a run did not end in time, 2 there is none of that name.
    """
    options.refuse_empty(("SESSION|RUN", session_or_run))

    async def work(record: Record) -> list[Asked]:
        wanted = partition if partition == "rehearsal" else None
        return await _cancel(record, await _meant(record, session_or_run, wanted, user_id, flow), actor)

    asked = with_record(db, work)
    if as_json:
        result_json([each._asdict() for each in asked])
    else:
        _tell(session_or_run, asked)
    if any(each.state in ACTIVE for each in asked):
        sentence(
            f"No answer within {ANSWERS_S:g} seconds: the process that executes it stands still.",
            "It ends once that process goes on, or is found dead.",
        )
        raise click.exceptions.Exit(1)


def _tell(named: str, asked: list[Asked]) -> None:
    if not asked:
        say(visible(f"Nothing of {one_line(named)} is under way."))
    for each in asked:
        if each.was not in ACTIVE:
            say(f"The run {each.run_id} had ended: {each.state}.")
        elif each.state not in ACTIVE:
            say(f"The run {each.run_id} has ended: {each.state}.")


async def _cancel(record: Record, runs: list[RunLine], actor: str) -> list[Asked]:
    """Ask, and wait for the ends."""
    for run in runs:
        if run.state in ACTIVE:
            await record.ask_cancel(run.run_id, actor)
    loop = asyncio.get_running_loop()
    until = loop.time() + ANSWERS_S
    after = runs
    while any(run.state in ACTIVE for run in after) and loop.time() < until:
        await asyncio.sleep(LOOK_S)
        after = [await _again(record, run) for run in after]
    return [Asked(run.run_id, run.state, now.state) for run, now in zip(runs, after, strict=True)]


async def _meant(
    record: Record, named: str, partition: Partition | None, user_id: str | None, flow: str | None
) -> list[RunLine]:
    """The run of that id, or what is under way in the session of that name or id."""
    run = await record.run(named)
    if run is not None:
        return [run]
    session = await find_session(record, named, partition=partition, user_id=user_id, flow=flow)
    return [run for run in await record.runs(session.uid) if run.state in ACTIVE]


async def _again(record: Record, run: RunLine) -> RunLine:
    return await record.run(run.run_id) or run
