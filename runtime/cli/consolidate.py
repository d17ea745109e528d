"""Consolidate a user's facts: preview first, with a model where it is wished for, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from runtime.cli import options
from runtime.cli.opening import looked_at, read_settings, with_record
from runtime.cli.plain import one_line
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.facts import Partition
from runtime.record import Record

if TYPE_CHECKING:
    from runtime.memory_service.consolidated import Undone
    from runtime.run.consolidation import Step, Wish
    from runtime.run.services import Services

T = TypeVar("T")
_USER = click.option(
    "--user", "user_id", required=True, metavar="ID", callback=options.filled, help="Whose facts."
)
KEYS_NAMED = 20
"""Keys of one line at most."""


@click.command(
    short_help="Retire, merge and mark facts; preview first.",
    epilog=options.examples(
        "farthing memory consolidate --user ada",
        "farthing memory consolidate --user ada --with-model --limit spend=0.05",
        "farthing memory consolidate --user ada --execute",
    ),
)
@_USER
@click.option("--execute", is_flag=True, help="Make the previewed changes; else they are only shown.")
@click.option("--with-model", is_flag=True, help="Ask a model about facts that are alike.")
@click.option("--model", metavar="PROVIDER:NAME", help="Which one; else the configured default.")
@click.option("--limit", "limits", multiple=True, metavar="METRIC=N", help="What asking may use; repeatable.")
@options.rehearsal
@options.actor
@options.as_json
@options.database
def consolidate(
    user_id: str,
    execute: bool,
    with_model: bool,
    model: str | None,
    limits: tuple[str, ...],
    partition: Partition,
    actor: str,
    as_json: bool,
    db: Path | None,
) -> None:
    """Retire facts whose time is over and derived facts that say what another says; list conflicts.

    With --with-model, pairs of facts that are alike are judged by a model in questions of a few pairs: it may
    find that they say the same, belong in one statement, or contradict each other. What a person wrote is
    never replaced by its guess, and contradictions are only marked. Without it the preview says what that
    would cost at most. An answer is kept: no pair is asked about twice.

    A preview is stored. --execute carries out just that, leaving out what was written since, or makes a new
    plan where there is none. It copies the database first, and refuses while a run of the user is active.
    Nothing is deleted: what is retired stays as a former version, and `farthing memory undo` takes it back.
    """
    from runtime.cli.consolidate_shown import executed_json, preview_json, show_executed, show_preview
    from runtime.run.consolidation import Wish
    from runtime.run.consolidation import execute as carry_out
    from runtime.run.consolidation import preview as look
    from runtime.run.limits import parse_limit

    if not with_model:
        options.refuse_unused("without --with-model", "limits", *(["model"] if execute else []))
    for each in limits:
        parse_limit(each)  # also where in the end nobody is asked
    wish = Wish(
        partition=partition, user_id=user_id, actor=actor, with_model=with_model, model=model, limits=limits
    )
    if execute:
        outcome = asyncio.run(_with_services(db, wish, carry_out))
        result_json(executed_json(outcome)) if as_json else show_executed(outcome)
        failed = outcome.preview is not None and outcome.preview.failed
    else:
        seen = asyncio.run(_with_services(db, wish, look))
        result_json(preview_json(seen)) if as_json else show_preview(seen, asked=with_model)
        failed = seen.failed
    if failed:
        raise click.exceptions.Exit(1)


async def _with_services(
    db: Path | None, wish: Wish, work: Callable[[Services, Wish, Step], Awaitable[T]]
) -> T:
    from runtime.cli.progress import Progress
    from runtime.run.services import Services

    settings, clock, progress = read_settings(db), SystemClock(), Progress()
    async with looked_at(settings, db, clock) as record:
        services = Services(record, settings, clock)
        try:
            return await work(services, wish, progress)
        finally:
            progress.clear()
            await services.rest()


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
    """Make current again what the last consolidation of a user's facts retired or rewrote; again, for the one
    before.

    A key that was written since stays as it is.
    """

    async def work(record: Record) -> Undone:
        from runtime.memory_service import consolidated

        return await consolidated.undo(record, partition, user_id, actor, SystemClock().now())

    done = with_record(db, work)
    if as_json:
        result_json({"batch": done.batch, "keys": list(done.keys), "left": list(done.left)})
        return
    say(f"As before: {_some(done.keys) or 'nothing'}.")
    if done.left:
        say(f"Written since, and left as they are: {_some(done.left)}.", "yellow")


def _some(keys: Sequence[str]) -> str:
    """The first keys by name, the rest as a number; --json has them all."""
    more = f" and {len(keys) - KEYS_NAMED:,} more" if len(keys) > KEYS_NAMED else ""
    return ", ".join(map(one_line, keys[:KEYS_NAMED])) + more
