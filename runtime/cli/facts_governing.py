"""Facts governed by people: undo, settle, move."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from runtime.cli import options
from runtime.cli.fact_events import moved_by, written_by
from runtime.cli.fact_options import where_options
from runtime.cli.facts_shown import value_text
from runtime.cli.opening import with_record
from runtime.cli.plain import one_line
from runtime.cli.shelves import Where, check_shelf, one
from runtime.cli.streams import say
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.facts import Scope, Shelf, Written
from runtime.record import Record


async def shelf_of(record: Record, where: Where) -> Shelf:
    """The shelf meant; without a user the one of this machine."""
    return await one(record, where, user=where.user_id or options.LOCAL_USER)


@click.command(
    short_help="Go back to the version before.",
    epilog=options.examples("farthing facts undo bicycle --user ada --flow example:support"),
)
@click.argument("key")
@where_options
@options.actor
def undo(key: str, where: Where, db: Path | None, actor: str) -> None:
    """Put back what KEY was before its last change, as a new version; again, to go further back.

    It lifts a forgetting. What was erased is not to be had back.
    """

    async def work(record: Record, at: datetime) -> Written:
        shelf = await shelf_of(record, where)
        written, _ = await record.undo_fact(shelf, key, actor, at, written_by(shelf, actor, at))
        return written

    _tell(key, in_record(db, work))


@click.command(
    short_help="Decide between what is in conflict.",
    epilog=options.examples(
        "farthing facts history city --user ada",
        "farthing facts settle city --keep 2 --user ada",
        "farthing facts settle pet --over dog --user ada",
        "farthing facts settle pet --beside dog --user ada",
    ),
)
@click.argument("key")
@click.option("--keep", type=click.IntRange(min=1), metavar="VERSION", help="Which version of KEY is right.")
@click.option(
    "--over",
    callback=options.filled,
    metavar="OTHER",
    help="KEY is right, and the key OTHER that contradicts it is not.",
)
@click.option(
    "--beside",
    callback=options.filled,
    metavar="OTHER",
    help="Both are right: they do not contradict each other.",
)
@where_options
@options.actor
def settle(
    key: str,
    keep: int | None,
    over: str | None,
    beside: str | None,
    where: Where,
    db: Path | None,
    actor: str,
) -> None:
    """Say which version of KEY is right where one that came from a tool's output stands beside another, or
    which of two keys is where consolidation marked that they contradict each other.

    `history` and `list` show them. What is not right is kept as a former version; `farthing memory undo`
    takes back what was said about two keys.
    """
    if sum(each is not None for each in (keep, over, beside)) != 1:
        raise BadInput("It is open what is right.", remedy="Give one of --keep, --over and --beside.")

    async def between(record: Record, at: datetime) -> None:
        from runtime.memory_service.marks import Settling
        from runtime.memory_service.marks import settle as settle_mark

        wish = Settling(key, over or beside or "", beside is not None, actor)
        await settle_mark(record, await shelf_of(record, where), wish, SystemClock().new_id(), at)

    async def among(record: Record, at: datetime) -> Written:
        shelf = await shelf_of(record, where)
        build = written_by(shelf, actor, at)
        written, _ = await record.settle_fact(shelf, key, keep or 0, "user", actor, at, build)
        return written

    if keep is not None:
        _tell(key, in_record(db, among))
        return
    in_record(db, between)
    other = one_line(over or beside or "")
    say(
        f"{one_line(key)} stays"
        + (f", {other} is retired." if over is not None else f", and so does {other}.")
    )


@click.command(
    short_help="Move facts to another user, session or namespace.",
    epilog=options.examples(
        "farthing facts move name --user ada --flow example:support --to-namespace shop",
        "farthing facts move --all --session monday --flow example:support --to-user ada",
    ),
)
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@where_options
@click.option("--all", "everything", is_flag=True, help="All facts there.")
@click.option("--to-user", callback=options.filled, metavar="ID", help="Make them facts of this user.")
@click.option(
    "--to-session",
    callback=options.filled,
    metavar="NAME",
    help="Make them facts of this session: its name or id.",
)
@click.option(
    "--to-namespace",
    callback=options.filled,
    metavar="NAME",
    help="Put them into this namespace; else it stays.",
)
@options.actor
def move(
    keys: tuple[str, ...],
    where: Where,
    db: Path | None,
    everything: bool,
    to_user: str | None,
    to_session: str | None,
    to_namespace: str | None,
    actor: str,
) -> None:
    """Move facts with all their versions, whole or not at all."""
    if bool(keys) == everything:
        raise BadInput("It is open which facts to move.", remedy="Name keys, or give --all.")
    if to_user is not None and to_session is not None:
        raise BadInput("Facts go to a user or to a session.", remedy="Leave one of them out.")
    if to_user is None and to_session is None and to_namespace is None:
        raise BadInput("It is open where to.", remedy="Give --to-user, --to-session or --to-namespace.")

    async def work(record: Record, at: datetime) -> tuple[str, ...]:
        shelf = await shelf_of(record, where)
        to = await _target(record, where, shelf, to_user, to_session, to_namespace)
        check_shelf(to)
        found = keys or tuple({fact.key: None for fact in await record.fact_versions(shelf)})
        await record.move_facts(shelf, to, found, at, [moved_by(shelf, to, found, actor, at)])
        return found

    found = in_record(db, work)
    say(f"Moved {', '.join(map(one_line, found))}.")


async def _target(
    record: Record,
    where: Where,
    shelf: Shelf,
    user: str | None,
    session: str | None,
    namespace: str | None,
) -> Shelf:
    scope: Scope = "user" if user is not None else "session" if session is not None else shelf.scope
    to = shelf._replace(scope=scope, namespace=namespace or shelf.namespace)
    if session is not None:
        asked = where._replace(session=session, namespace=to.namespace, scope="session")
        return await one(record, asked, user="")
    return to if user is None else to._replace(owner=user)


def in_record(db: Path | None, work: Callable[[Record, datetime], Awaitable[Any]]) -> Any:
    """What `work` gives when it is handed the record and the time."""
    now = SystemClock().now()
    return with_record(db, lambda record: work(record, now))


def _tell(key: str, written: Written) -> None:
    fact = written.fact
    say(f"{one_line(key)}: {one_line(value_text(fact.value))} (version {fact.version})")


COMMANDS = (undo, settle, move)
