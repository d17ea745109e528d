"""Sum up old turns; retire, merge and mark facts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from runtime.cli import options
from runtime.cli.consolidate import consolidate, undo
from runtime.cli.find import find_session
from runtime.cli.lifecycle import lifecycle
from runtime.cli.memory_flow import prepared_of, shelf_of
from runtime.cli.opening import looked_at, read_settings
from runtime.cli.plain import counted
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.facts import Partition
from runtime.record import SessionLine

if TYPE_CHECKING:
    from runtime.memory.compaction import Outcome
    from runtime.run.prepare import Prepared
    from runtime.run.services import Services


class Done(NamedTuple):
    """What came of one agent's history; null: there was nothing to sum up."""

    node_id: str
    outcome: Outcome | None


@click.group(
    epilog=options.examples(
        "farthing memory compact --session talk --user ada", "farthing memory consolidate --user ada"
    )
)
def command() -> None:
    """Care for what is remembered."""


@command.command(
    short_help="Sum up a session's old turns.",
    epilog=options.examples(
        "farthing memory compact --session talk",
        "farthing memory compact --session talk --user ada --flow example:support --json",
    ),
)
@click.option(
    "--session", required=True, callback=options.filled, metavar="NAME", help="The session: its name or id."
)
@options.user
@options.flow
@click.option(
    "--model",
    callback=options.filled,
    metavar="PROVIDER:NAME",
    help="Who writes the summaries; else the agents' models.",
)
@options.rehearsal
@options.as_json
@options.database
def compact(
    session: str,
    user_id: str | None,
    flow: str | None,
    model: str | None,
    partition: Partition,
    as_json: bool,
    db: Path | None,
) -> None:
    """Replace a session's old turns by summaries now, however full its prompts are.

    It is done by the flow's own agents, under their budgets, where their Memory has `compaction.enabled`.
    """
    done = asyncio.run(_compact(session, user_id, flow, model, partition, db))
    if as_json:
        result_json([_json(each) for each in done])
    else:
        _show(done)
    if any(each.outcome is not None and each.outcome.errors for each in done):
        raise click.exceptions.Exit(1)


async def _compact(
    session: str,
    user_id: str | None,
    flow: str | None,
    model: str | None,
    partition: Partition,
    db: Path | None,
) -> list[Done]:
    from runtime.run.services import Services

    settings, clock = read_settings(db), SystemClock()
    async with looked_at(settings, db, clock) as record:
        line = await find_session(record, session, partition=partition, user_id=user_id, flow=flow)
        services = Services(record, settings, clock)
        try:
            return await _carried_out(await prepared_of(record, services, line, model), services, line)
        finally:
            await services.rest()


async def _carried_out(prepared: Prepared, services: Services, line: SessionLine) -> list[Done]:
    from runtime.run.compacting import sums_up
    from runtime.run.maintaining import Care, Job

    jobs = []
    for node in prepared.plan.reasoners:
        memory = node.memory
        if memory is None or not memory.config.compaction.enabled or not sums_up(node):
            continue
        jobs.append(Job(node, shelf_of(memory, line, prepared.session.partition), line.uid, by_hand=True))
    if not jobs:
        raise BadInput(
            "No agent of this flow has a Memory with `compaction.enabled`, and `full` or `buffer` context.",
            code="memory.no_compaction",
            remedy="Set it in the flow and run it once, or leave the session as it is.",
        )
    works = await Care(prepared, services, jobs).carry_out()
    return [Done(job.node.id, work.outcome) for job, work in zip(jobs, works, strict=True)]


def _json(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = {"node_id": done.node_id, "turns": 0}
    if done.outcome is not None:
        found |= {
            "turns": done.outcome.turns_summarised,
            "tokens_saved": done.outcome.tokens_saved,
            "calls": done.outcome.calls,
            "out_of_time": done.outcome.out_of_time,
            "errors": list(done.outcome.errors),
        }
    return found


def _show(found: list[Done]) -> None:
    for done in found:
        outcome = done.outcome
        if outcome is None:
            say(f"{done.node_id}: nothing to sum up.")
            continue
        turns, saved = outcome.turns_summarised, outcome.tokens_saved
        say(
            f"{done.node_id}: {counted(turns, 'turn')} summed up,"
            f" about {counted(saved, 'token')} less in each prompt."
        )
        for error in outcome.errors:
            say(f"{done.node_id}: {error}", "red")
        if outcome.out_of_time:
            say(f"{done.node_id}: the time budget was used up before all was done.", "yellow")


command.add_command(consolidate)
command.add_command(undo)
command.add_command(lifecycle)
