"""Look at and change what is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
import msgspec

from runtime.cli import facts_erase, facts_files, facts_governing, options
from runtime.cli.fact_events import written_by
from runtime.cli.fact_options import where_options
from runtime.cli.facts_shown import print_facts
from runtime.cli.find import unknown_user
from runtime.cli.groups import DefaultGroup
from runtime.cli.opening import read_settings, with_record
from runtime.cli.plain import visible
from runtime.cli.run_input import typed
from runtime.cli.sessions import tell_hidden
from runtime.cli.shelves import Where, check_shelf, matching, one
from runtime.cli.streams import say
from runtime.cli.when import When
from runtime.clock import SystemClock
from runtime.errors import BadInput, NotFound
from runtime.events import MemoryForgotten
from runtime.facts import INTERNAL_PREFIX, Fact, FactWrite, Shelf, Written, facts_at
from runtime.record import Record

if TYPE_CHECKING:
    from runtime.memory_service.marks import Mark

MAX_VALUE_BYTES = 4000
MAX_KEY_CHARS = 120
"""As the gate of a Memory node has them by default."""


class _Listed(NamedTuple):
    """Facts, the marks of contradictions among them, how many rehearsed ones are hidden, and what is wrong
    with the user's name."""

    found: list[tuple[Shelf, Fact]]
    marks: list[Mark]
    hidden: int
    wrong: str | None


class _Facts(DefaultGroup):
    default = "list"


@click.group(
    cls=_Facts,
    epilog=options.examples(
        "farthing facts --user ada",
        "farthing facts history name --user ada",
        'farthing facts set bicycle "Brompton" --user ada --flow example:support',
        "farthing facts undo bicycle --user ada --flow example:support",
        "farthing facts erase phone --user ada --flow example:support",
    ),
)
def command() -> None:
    """Look at facts and change them. Without an action, lists them.

    Every change keeps its former versions, with who made it and when.
    """


@command.command(
    "list",
    short_help="List current facts.",
    epilog=options.examples(
        "farthing facts list --user ada", "farthing facts list --as-of 2026-03-01", "farthing facts --csv"
    ),
)
@where_options
@click.option("--internal", is_flag=True, help="Also Farthing's own (keys that begin with __).")
@click.option("--as-of", type=When(), metavar="TIME", help="As they were then: 2026-03-01T12:00, 2d, …")
@options.as_json
@options.as_csv
def list_facts(
    where: Where,
    db: Path | None,
    internal: bool,
    as_of: datetime | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List current facts, by owner and key, or those of another time."""

    async def work(record: Record) -> _Listed:
        from runtime.memory_service.marks import marks_on

        shelves = sorted(await matching(record, where))
        marks = await marks_on(record, shelves) if as_of is None and not as_csv else []
        found = [(shelf, fact) for shelf in shelves for fact in await _facts(record, shelf, as_of)]
        hidden = 0
        if where.partition == "real":
            hidden = sum(n for _, n in await record.shelves("rehearsal", where.user_id))
        found = [(s, f) for s, f in found if internal or not f.internal]
        return _Listed(found, marks, hidden, None if found else await unknown_user(record, where.user_id))

    found, marks, hidden, wrong = with_record(db, work)
    print_facts(found, as_json=as_json, as_csv=as_csv, versions=False, marks=marks)
    if wrong:
        say(visible(wrong))
    elif not found and as_of is None and where == Where(where.partition):
        say("Agents with a Memory write them, and `farthing facts set` does.")
    tell_hidden(hidden, where.partition, "fact")


async def _facts(record: Record, shelf: Shelf, as_of: datetime | None) -> list[Fact]:
    return await record.facts(shelf) if as_of is None else facts_at(await record.fact_versions(shelf), as_of)


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
    where: Where,
    db: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show every version of the fact KEY: what it was, from when to when, and who wrote it."""

    async def work(record: Record) -> tuple[list[tuple[Shelf, Fact]], list[Mark]]:
        from runtime.memory_service.marks import marks_on

        shelves = sorted(await matching(record, where))
        found = [(shelf, fact) for shelf in shelves for fact in await record.fact_versions(shelf, key)]
        if not found:
            raise NotFound(f"There is no fact {key!r} there.", remedy="`farthing facts` lists them.")
        marks = await marks_on(record, {shelf for shelf, _ in found})
        return found, [mark for mark in marks if mark.beside(key) is not None]

    found, marks = with_record(db, work)
    print_facts(found, as_json=as_json, as_csv=as_csv, versions=True, marks=marks)


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
    where: Where,
    db: Path | None,
    kind: Literal["fact", "profile"],
    valid_to: datetime | None,
    actor: str,
) -> None:
    """Write VALUE under KEY; the value before it is kept as a former version.

    VALUE is JSON where it plainly is (a number, true, null, {…}, […], "…"), else a text. Without --session
    the fact is the user's.
    """
    content = typed(value, "VALUE")
    check_write(key, content, read_settings(db).secrets_values())
    now = SystemClock().now()
    if valid_to is not None and valid_to <= now:
        raise BadInput("--until is past: nobody would ever see the fact.", remedy="Give a time to come.")
    write = FactWrite(key=key, value=content, kind=kind, origin="user", valid_to=valid_to, actor=actor)

    async def work(record: Record) -> Written:
        shelf = await one(record, where, user=where.user_id or options.LOCAL_USER)
        check_shelf(shelf)
        build = written_by(shelf, actor, now)
        written, _ = await record.write_fact(shelf, write, now, build, run_id=None)
        return written

    written = with_record(db, work, makes=True)
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
    where: Where,
    db: Path | None,
    actor: str,
) -> None:
    """Forget facts: agents no longer see them, and nothing brings them back but a new write.

    Their former versions stay in the history, and `undo` brings them back; `erase` leaves nothing.
    """
    now = SystemClock().now()

    async def work(record: Record) -> None:
        shelf = await one(record, where, user=where.user_id or options.LOCAL_USER)
        known = {fact.key for fact in await record.facts(shelf, keys=keys)}
        missing = [key for key in keys if key not in known]
        if missing:
            raise NotFound(f"There is no fact {missing[0]!r} there.", remedy="`farthing facts` lists them.")
        event = MemoryForgotten(at=now, namespace=shelf.namespace, scope=shelf.scope, keys=keys, actor=actor)
        await record.forget_facts(shelf, keys, now, [event], run_id=None)

    with_record(db, work)
    say(f"Forgot {', '.join(keys)}.")


for _each in (*facts_governing.COMMANDS, facts_erase.erase, *facts_files.COMMANDS):
    command.add_command(_each)


def check_write(key: str, value: Any, secrets: Mapping[str, str]) -> None:
    """What a person may not write either. `secrets` are the settings' own, by name. Raises BadInput."""
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
    check_secrets(key, value, secrets)


def check_secrets(key: str, value: Any, secrets: Mapping[str, str]) -> None:
    """That a fact holds no credential and no secret of the settings. Raises BadInput."""
    from runtime.secrets.detect import find_credential
    from runtime.secrets.redact import Redactor

    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    own = Redactor(secrets)
    if own.text(key) != key or own.value(value) != value:
        raise BadInput(
            "The fact holds a secret of your settings, and those are never stored.",
            code="memory.credential",
            remedy="Leave it out; flows refer to it by its name.",
        )
    if find_credential(text) is not None or find_credential(f"{key}={text}") is not None:
        raise BadInput(
            "The value looks like a credential, and those are never kept as facts.",
            code="memory.credential",
            remedy="Put it under [secrets] in your settings.",
        )
