"""Show how derived facts have aged, and let the faded go; preview first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtime.cli import options
from runtime.cli.find import find_session
from runtime.cli.memory_flow import prepared_of, shelf_of
from runtime.cli.opening import looked_at, read_settings
from runtime.cli.plain import one_line
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.facts import Partition, Shelf
from runtime.record import SessionLine

if TYPE_CHECKING:
    from runtime.memory.ageing import Verdict
    from runtime.run.ageing import ShelfAgeing
    from runtime.run.maintaining import Job
    from runtime.run.prepare import Prepared


@click.command(
    short_help="Let faded facts go, keep used ones.",
    epilog=options.examples(
        "farthing memory lifecycle --session talk --user ada",
        "farthing memory lifecycle --session talk --user ada --execute",
    ),
)
@click.option(
    "--session", required=True, callback=options.filled, metavar="NAME", help="The session: its name or id."
)
@options.user
@options.flow
@click.option("--execute", is_flag=True, help="Make the changes; else they are only shown.")
@options.rehearsal
@options.actor
@options.as_json
@options.database
def lifecycle(
    session: str,
    user_id: str | None,
    flow: str | None,
    execute: bool,
    partition: Partition,
    actor: str,
    as_json: bool,
    db: Path | None,
) -> None:
    """Show what the derived facts that a session's agents may be given are worth now, which of them have
    faded and which have earned to stay, where their Memory has `lifecycle.enabled`.

    With --execute the faded become former versions, the others facts that do not fade, and
    `farthing memory undo` takes it back; of what faded `decayed_retention_days` ago the value is taken away.
    No model is asked. The same is done after turns, in the background.
    """
    found = asyncio.run(_look(session, user_id, flow, partition, actor, db, execute=execute))
    if as_json:
        result_json({"executed": execute, "shelves": [_json(each) for each in found]})
        return
    _show(found, execute=execute)


async def _look(
    session: str,
    user_id: str | None,
    flow: str | None,
    partition: Partition,
    actor: str,
    db: Path | None,
    *,
    execute: bool,
) -> list[ShelfAgeing]:
    from runtime.run.ageing import ShelfAgeing
    from runtime.run.maintaining import age
    from runtime.run.services import Services

    settings, clock = read_settings(db), SystemClock()
    async with looked_at(settings, db, clock) as record:
        line = await find_session(record, session, partition=partition, user_id=user_id, flow=flow)
        services = Services(record, settings, clock)
        try:
            prepared = await prepared_of(record, services, line, None, as_then=True)
            ages = [(job, ShelfAgeing(services, job.node, job.shelf)) for job in _jobs(prepared, line)]
            due = [(job, ageing) for job, ageing in ages if await ageing.look()]
            if execute:
                await age(prepared, services, due, actor)
            return [ageing for _, ageing in ages]
        finally:
            await services.rest()


def _jobs(prepared: Prepared, line: SessionLine) -> list[Job]:
    """One for each shelf whose Memory asks for it."""
    from runtime.run.maintaining import Job

    jobs: dict[Shelf, Job] = {}
    for node in prepared.plan.reasoners:
        if node.memory is not None and node.memory.config.lifecycle.enabled:
            shelf = shelf_of(node.memory, line, prepared.session.partition)
            jobs.setdefault(shelf, Job(node, shelf, line.uid))
    if not jobs:
        raise BadInput(
            "No agent of this flow has a Memory with `lifecycle.enabled`.",
            code="memory.no_lifecycle",
            remedy="Set it in the flow and run it once, or leave the session as it is.",
        )
    return list(jobs.values())


def _json(ageing: ShelfAgeing) -> dict[str, Any]:
    found = ageing.standing
    return {
        "namespace": ageing.shelf.namespace,
        "scope": ageing.shelf.scope,
        "owner": ageing.shelf.owner,
        "facts": [verdict._asdict() for verdict in found.verdicts],
        "emptied": sorted(found.over),
    }


def _show(found: list[ShelfAgeing], *, execute: bool) -> None:
    for ageing in found:
        shelf, standing = ageing.shelf, ageing.standing
        say(f"{shelf.scope} {one_line(shelf.owner)}, namespace {one_line(shelf.namespace)}")
        if not standing.verdicts and not standing.over:
            say("  no derived facts")
        for verdict in standing.verdicts:
            say(f"  {one_line(verdict.key)} {_words(verdict, execute=execute)}")
        for key in sorted(standing.over):
            say(f"  {one_line(key)} {'lost' if execute else 'would lose'} its value: it faded long ago")
    if not execute and any(ageing.due for ageing in found):
        say("Nothing was changed; --execute does it.", "dim")


def _words(verdict: Verdict, *, execute: bool) -> str:
    if verdict.action == "fade":
        return f"{'retired' if execute else 'would be retired'}: its score is {verdict.score:.2f}"
    if verdict.action == "promote":
        return f"{'stays' if execute else 'would stay'} for good: it has earned {verdict.promotion:.2f}"
    left = f", fades in {verdict.hours_left:,.0f} hours" if verdict.hours_left is not None else ""
    return f"is worth {verdict.score:.2f}{left}"
