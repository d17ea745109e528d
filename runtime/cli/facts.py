"""Look at and change what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import msgspec

from runtime.cli import options
from runtime.cli.facts_shown import print_facts
from runtime.cli.groups import DefaultGroup
from runtime.cli.opening import with_record
from runtime.cli.run_input import typed
from runtime.cli.sessions import tell_hidden
from runtime.cli.shelves import Where, matching, one
from runtime.cli.streams import say
from runtime.cli.when import When
from runtime.clock import SystemClock
from runtime.errors import BadInput, NotFound
from runtime.events import Event, MemoryForgotten, MemoryWrite
from runtime.facts import INTERNAL_PREFIX, Fact, FactWrite, Partition, Scope, Shelf, Written
from runtime.record import Record

F = TypeVar("F", bound=Callable[..., Any])
MAX_VALUE_BYTES = 4000
MAX_KEY_CHARS = 120
"""As the gate of a Memory node has them by default."""


class _Facts(DefaultGroup):
    default = "list"


def where_options(function: F) -> F:
    """Options that say whose facts."""
    for decorate in (
        options.database,
        options.rehearsal,
        click.option("--scope", type=click.Choice(["session", "user"]), help="Only facts of this scope."),
        click.option("--namespace", metavar="NAME", help="Only this namespace; else the flow's."),
        options.flow,
        click.option("--session", metavar="NAME", help="Of this session: its name or id."),
        click.option("--user", "user_id", metavar="ID", help="Of this user."),
    ):
        function = decorate(function)
    return function


@click.group(
    cls=_Facts,
    epilog=options.examples(
        "farthing facts --user ada",
        "farthing facts history name --user ada",
        'farthing facts set bicycle "Brompton" --user ada --flow example:support',
        "farthing facts forget bicycle --user ada --flow example:support",
    ),
)
def command() -> None:
    """Look at facts and change them. Without an action, lists them.

    Every change keeps its former versions, with who made it and when.
    """


@command.command(
    "list",
    short_help="List current facts.",
    epilog=options.examples("farthing facts list --user ada", "farthing facts list --csv"),
)
@where_options
@click.option("--internal", is_flag=True, help="Also Farthing's own (keys that begin with __).")
@options.as_json
@options.as_csv
def list_facts(
    user_id: str | None,
    session: str | None,
    flow: str | None,
    namespace: str | None,
    scope: Scope | None,
    partition: Partition,
    db: Path | None,
    internal: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List current facts, by owner and key."""
    where = Where(partition, user_id, session, flow, namespace, scope)

    async def work(record: Record) -> tuple[list[tuple[Shelf, Fact]], int]:
        shelves = sorted(await matching(record, where))
        found = [(shelf, fact) for shelf in shelves for fact in await record.facts(shelf)]
        hidden = 0
        if partition == "real":
            hidden = sum(n for _, n in await record.shelves("rehearsal", user_id))
        return [(s, f) for s, f in found if internal or not f.internal], hidden

    found, hidden = with_record(db, work)
    print_facts(found, as_json=as_json, as_csv=as_csv, versions=False)
    tell_hidden(hidden, partition, "fact")


@command.command(
    short_help="Show every version of a fact.",
    epilog=options.examples("farthing facts history name --user ada", "farthing facts history name --json"),
)
@click.argument("key")
@where_options
@options.as_json
@options.as_csv
def history(
    key: str,
    user_id: str | None,
    session: str | None,
    flow: str | None,
    namespace: str | None,
    scope: Scope | None,
    partition: Partition,
    db: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show every version of the fact KEY: what it was, from when to when, and who wrote it."""
    where = Where(partition, user_id, session, flow, namespace, scope)

    async def work(record: Record) -> list[tuple[Shelf, Fact]]:
        shelves = sorted(await matching(record, where))
        return [(shelf, fact) for shelf in shelves for fact in await record.fact_versions(shelf, key)]

    found = with_record(db, work)
    if not found:
        raise NotFound(f"There is no fact {key!r} there.", remedy="`farthing facts` lists them.")
    print_facts(found, as_json=as_json, as_csv=as_csv, versions=True)


@command.command(
    "set",
    short_help="Write a fact.",
    epilog=options.examples(
        'farthing facts set name "Ada" --user ada --flow example:support',
        "farthing facts set visits 3 --user ada --namespace shop --until 2027-01-01",
    ),
)
@click.argument("key")
@click.argument("value")
@where_options
@click.option(
    "--kind", type=click.Choice(["fact", "profile"]), default="fact", show_default=True, help="What it is."
)
@click.option("--until", "valid_to", type=When(), metavar="TIME", help="It is no longer true from then on.")
@options.actor
def set_fact(
    key: str,
    value: str,
    user_id: str | None,
    session: str | None,
    flow: str | None,
    namespace: str | None,
    scope: Scope | None,
    partition: Partition,
    db: Path | None,
    kind: Literal["fact", "profile"],
    valid_to: datetime | None,
    actor: str,
) -> None:
    """Write VALUE under KEY; the value before it is kept as a former version.

    VALUE is JSON where it plainly is (a number, true, null, {…}, […], "…"), else a text. Without --session
    the fact is the user's.
    """
    where = Where(partition, user_id, session, flow, namespace, scope)
    content = typed(value, "VALUE")
    check_write(key, content)
    now = SystemClock().now()
    write = FactWrite(key=key, value=content, kind=kind, origin="user", valid_to=valid_to, actor=actor)

    async def work(record: Record) -> Written:
        shelf = await one(record, where, user=user_id or options.LOCAL_USER)

        def build(written: Written) -> Sequence[Event]:
            return [
                MemoryWrite(
                    at=now,
                    namespace=shelf.namespace,
                    scope=shelf.scope,
                    keys=(key,),
                    outcome=written.outcome,
                    version=written.fact.version,
                    value=content,
                    kind=kind,
                    origin="user",
                    actor=actor,
                    valid_to=valid_to,
                )
            ]

        written, _ = await record.write_fact(shelf, write, now, build, run_id=None)
        return written

    written = with_record(db, work)
    say(f"{key}: {written.outcome}, version {written.fact.version}.")


@command.command(
    short_help="Forget facts.",
    epilog=options.examples("farthing facts forget bicycle --user ada --flow example:support"),
)
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@where_options
@options.actor
def forget(
    keys: tuple[str, ...],
    user_id: str | None,
    session: str | None,
    flow: str | None,
    namespace: str | None,
    scope: Scope | None,
    partition: Partition,
    db: Path | None,
    actor: str,
) -> None:
    """Forget facts: agents no longer see them, and nothing brings them back but a new write.

    Their former versions stay in the history.
    """
    where = Where(partition, user_id, session, flow, namespace, scope)
    now = SystemClock().now()

    async def work(record: Record) -> None:
        shelf = await one(record, where, user=user_id or options.LOCAL_USER)
        known = {fact.key for fact in await record.facts(shelf, keys=keys)}
        missing = [key for key in keys if key not in known]
        if missing:
            raise NotFound(f"There is no fact {missing[0]!r} there.", remedy="`farthing facts` lists them.")
        event = MemoryForgotten(at=now, namespace=shelf.namespace, scope=shelf.scope, keys=keys, actor=actor)
        await record.forget_facts(shelf, keys, now, [event], run_id=None)

    with_record(db, work)
    say(f"Forgot {', '.join(keys)}.")


def check_write(key: str, value: Any) -> None:
    """What a person may not write either. Raises BadInput."""
    from runtime.secrets.detect import find_credential

    if not key.strip() or len(key) > MAX_KEY_CHARS:
        raise BadInput(f"A key has 1 to {MAX_KEY_CHARS} characters.", remedy="Choose another key.")
    if key.startswith(INTERNAL_PREFIX):
        raise BadInput(
            f"Keys that begin with {INTERNAL_PREFIX} are Farthing's own.", remedy="Choose another key."
        )
    encoded = msgspec.json.encode(value)
    if len(encoded) > MAX_VALUE_BYTES:
        raise BadInput(
            f"The value has {len(encoded):,} bytes, more than the {MAX_VALUE_BYTES:,} of a fact.",
            remedy="Shorten it.",
        )
    text = value if isinstance(value, str) else encoded.decode()
    if find_credential(text) is not None or find_credential(f"{key}={text}") is not None:
        raise BadInput(
            "The value looks like a credential, and those are never kept as facts.",
            code="memory.credential",
            remedy="Put it under [secrets] in your settings.",
        )
