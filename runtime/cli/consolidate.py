"""Retire facts that are over or repeat others; preview first, and the way back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtime.cli import options
from runtime.cli.opening import opened, read_settings, with_record
from runtime.cli.plain import one_line
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.facts import Partition
from runtime.record import Record

if TYPE_CHECKING:
    from runtime.memory_service.consolidating import Plan, Undone

_USER = click.option("--user", "user_id", required=True, metavar="ID", help="Whose facts.")


@click.command(
    short_help="Retire facts that are over or repeated.",
    epilog=options.examples(
        "farthing memory consolidate --user ada", "farthing memory consolidate --user ada --execute"
    ),
)
@_USER
@click.option("--execute", is_flag=True, help="Make the changes; else they are only shown.")
@options.rehearsal
@options.actor
@options.as_json
@options.database
def consolidate(
    user_id: str, execute: bool, partition: Partition, actor: str, as_json: bool, db: Path | None
) -> None:
    """Retire facts whose time is over, and derived facts that say what another says; list conflicts.

    Nothing is deleted: what is retired stays as a former version, and `farthing memory undo` takes it back.
    No model is asked. With --execute the database is copied first, and no run of the user may be active.
    """
    plans = asyncio.run(_consolidate(user_id, partition, actor, db, execute=execute))
    if as_json:
        result_json({"executed": execute, "shelves": [_json(plan) for plan in plans]})
        return
    _show(plans, execute=execute)


async def _consolidate(
    user_id: str, partition: Partition, actor: str, db: Path | None, *, execute: bool
) -> list[Plan]:
    from runtime.memory_service.consolidating import carry_out, look, refuse_while_active
    from runtime.store.upkeep import back_up, exclusive

    path, clock = read_settings(db).db, SystemClock()
    async with opened(path, clock) as record:
        if not execute:
            return await look(record, partition, user_id, clock.now())
        with exclusive(path):
            await refuse_while_active(record, user_id)
            plans = await look(record, partition, user_id, clock.now())
            if any(plan.proposals for plan in plans):
                batch = clock.new_id()
                say(f"The database was copied to {back_up(path, batch)}.", "dim")
                count = len(plans)
                step = iter(range(1, count + 1))
                await carry_out(
                    record, plans, batch, actor, clock.now(),
                    lambda plan: say(f"{next(step)} of {count}: {_name(plan)}", "dim"),
                )  # fmt: skip
            return plans


@click.command(
    short_help="Take the last consolidation back.",
    epilog=options.examples("farthing memory undo --user ada"),
)
@_USER
@options.rehearsal
@options.actor
@options.as_json
@options.database
def undo(user_id: str, partition: Partition, actor: str, as_json: bool, db: Path | None) -> None:
    """Make current again what the last consolidation of a user's facts retired; again, for the one before.

    A key that was written since stays as it is.
    """

    async def work(record: Record) -> Undone:
        from runtime.memory_service import consolidating

        return await consolidating.undo(record, partition, user_id, actor, SystemClock().now())

    done = with_record(db, work)
    if as_json:
        result_json({"batch": done.batch, "keys": list(done.keys), "left": list(done.left)})
        return
    say(f"{len(done.keys)} facts are current again: {', '.join(map(one_line, done.keys)) or 'none'}.")
    if done.left:
        say(f"Written since, and left as they are: {', '.join(map(one_line, done.left))}.", "yellow")


def _name(plan: Plan) -> str:
    return f"{plan.shelf.scope} {one_line(plan.shelf.owner)}, namespace {one_line(plan.shelf.namespace)}"


def _json(plan: Plan) -> dict[str, Any]:
    return {
        "namespace": plan.shelf.namespace,
        "scope": plan.shelf.scope,
        "owner": plan.shelf.owner,
        "changes": [proposal._asdict() for proposal in plan.proposals],
        "conflicts": list(plan.conflicts),
    }


def _show(plans: list[Plan], *, execute: bool) -> None:
    if not plans:
        say("Nothing to consolidate.")
        return
    for plan in plans:
        say(_name(plan))
        for proposal in plan.proposals:
            verb = "retired" if execute else "would be retired"
            say(f"  {one_line(proposal.key)} {verb}: {one_line(proposal.why)}")
        for key in plan.conflicts:
            say(f"  {one_line(key)} has a conflict: farthing facts settle {one_line(key)}", "yellow")
    if not execute and any(plan.proposals for plan in plans):
        say("Nothing was changed; --execute does it.", "dim")
