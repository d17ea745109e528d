"""Facts in files: export with every version, and import whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from runtime.cli import options
from runtime.cli.fact_events import imported_by
from runtime.cli.fact_options import where_options
from runtime.cli.files import open_new
from runtime.cli.opening import read_settings, with_record
from runtime.cli.plain import one_line
from runtime.cli.shelves import Where, check_shelf, matching
from runtime.cli.streams import say
from runtime.clock import SystemClock
from runtime.errors import BadInput, Conflict, NotFound
from runtime.facts import Fact, Imported, Partition, Scope, Shelf, Shelved
from runtime.record import Record

FORMAT = "farthing.facts/1"
MOST_BYTES = 100_000_000
MOST_VALUE_BYTES, MOST_KEY_CHARS = 1_000_000, 1000
"""What a Memory node's settings allow at most."""
SHOWN = 10
"""Conflicts that an error lists at most."""


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One key of an export, with all its versions, oldest first."""

    namespace: str
    scope: Scope
    owner: str
    versions: tuple[Fact, ...]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an export."""

    format: str


@click.command(
    "export",
    short_help="Write facts with their versions as JSON lines.",
    epilog=options.examples(
        "farthing facts export --user ada > ada.jsonl", "farthing facts export --to all.jsonl"
    ),
)
@where_options
@click.option("--to", type=click.Path(path_type=Path), metavar="FILE", help="A new file; else stdout.")
@click.option("--internal", is_flag=True, help="Also Farthing's own (keys that begin with __).")
def export_facts(where: Where, db: Path | None, to: Path | None, internal: bool) -> None:
    """Write facts as JSON lines, a key a line with every version. An erasure does not reach such a file.

    What was written with --internal is read again with `farthing facts import --internal`.
    """

    async def work(record: Record) -> list[Shelved]:
        return [
            item for shelf in sorted(await matching(record, where)) for item in await _keys(record, shelf)
        ]

    found = [item for item in with_record(db, work) if internal or not item.versions[0].internal]
    data = b"\n".join([msgspec.json.encode(Head(format=FORMAT)), *map(_line, found), b""])
    if to is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        with open_new(to, "--to") as file:
            file.write(data)
    say(f"{len(found):,} key{'' if len(found) == 1 else 's'} written.", "dim")


async def _keys(record: Record, shelf: Shelf) -> list[Shelved]:
    by_key: dict[str, list[Fact]] = {}
    for fact in await record.fact_versions(shelf):
        by_key.setdefault(fact.key, []).append(fact)
    return [Shelved(shelf, tuple(versions)) for versions in by_key.values()]


def _line(item: Shelved) -> bytes:
    shelf = item.shelf
    line = Line(namespace=shelf.namespace, scope=shelf.scope, owner=shelf.owner, versions=item.versions)
    return msgspec.json.encode(line)


@click.command(
    "import",
    short_help="Read facts that were exported.",
    epilog=options.examples(
        "farthing facts import ada.jsonl", "farthing facts import ada.jsonl --as-user eve --keep-ours"
    ),
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--as-user",
    callback=options.filled,
    metavar="ID",
    help="Make them facts of this user, whosever they were.",
)
@click.option("--as-namespace", callback=options.filled, metavar="NAME", help="Put them into this namespace.")
@click.option("--internal", is_flag=True, help="Also Farthing's own (keys that begin with __).")
@click.option("--keep-ours", is_flag=True, help="Leave out keys that are there otherwise, and read the rest.")
@options.rehearsal
@options.database
@options.actor
def import_facts(
    file: Path,
    as_user: str | None,
    as_namespace: str | None,
    internal: bool,
    keep_ours: bool,
    partition: Partition,
    db: Path | None,
    actor: str,
) -> None:
    """Read facts from FILE ("-": stdin), every version, whole or not at all.

    A key that is there with other versions is a conflict: all are listed and nothing is read.
    """
    items = [
        _placed(item, partition, as_user, as_namespace)
        for item in read_lines(file, read_settings(db).secrets_values(), internal=internal)
    ]
    for item in items:
        check_shelf(item.shelf)
    at = SystemClock().now()

    async def work(record: Record) -> Imported:
        await _check_sessions(record, items)
        found, _ = await record.import_facts(items, at, imported_by(actor, at), keep_ours=keep_ours)
        return found

    found = with_record(db, work, makes=True)
    if found.conflicts and not keep_ours:
        raise _conflict(found.conflicts)
    parts = [f"{len(found.added):,} added", f"{len(found.same):,} there already"]
    if found.conflicts:
        parts.append(f"{len(found.conflicts):,} left as they are here")
    say(", ".join(parts) + ".")


def read_lines(file: Path, secrets: Mapping[str, str], *, internal: bool) -> list[Shelved]:
    """The keys of an export. Raises BadInput with the line that cannot be used, as one that holds one of
    these secrets, or unless `internal` a key of ours."""
    data = sys.stdin.buffer.read(MOST_BYTES + 1) if str(file) == "-" else _bytes(file)
    if len(data) > MOST_BYTES:
        raise BadInput(f"{file} is larger than {MOST_BYTES:,} bytes.", remedy="Export fewer facts at a time.")
    lines = [line for line in data.splitlines() if line.strip()]
    try:
        head = msgspec.json.decode(lines[0], type=Head) if lines else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        head = None
    if head is None or head.format != FORMAT:
        raise BadInput(
            f"{'standard input' if str(file) == '-' else file} is no export of facts.",
            remedy=f"Its first line says {FORMAT}; `facts export` writes it.",
        )
    found = list(_items(lines[1:], secrets, internal=internal))
    _check_once(found)
    return found


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as source:
            return source.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from error


def _items(lines: Sequence[bytes], secrets: Mapping[str, str], *, internal: bool) -> Iterator[Shelved]:
    for number, raw in enumerate(lines, 2):
        try:
            line = msgspec.json.decode(raw, type=Line)
            _check_versions(line)
            for fact in line.versions:
                _check_fact(fact, secrets, internal=internal)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise BadInput(
                f"Line {number} is no fact: {error}.", remedy="Mend or delete that line."
            ) from None
        except BadInput as error:
            raise BadInput(
                f"Line {number}: {error.message}",
                code=error.code,
                remedy=f"{error.remedy} Nothing was read.",
            ) from None
        yield Shelved(Shelf("real", line.namespace, line.scope, line.owner), line.versions)


def _check_fact(fact: Fact, secrets: Mapping[str, str], *, internal: bool) -> None:
    """What may stand in no fact. Raises BadInput, or ValueError for what no export has."""
    from runtime.cli.facts import check_secrets

    if fact.internal and not internal:
        raise BadInput(
            f"The key {one_line(fact.key)!r} is Farthing's own.",
            remedy="Give --internal to read such facts too, or delete that line.",
        )
    if not fact.key.strip() or (len(fact.key) > MOST_KEY_CHARS and not fact.internal):
        raise ValueError(f"a key has 1 to {MOST_KEY_CHARS:,} characters")
    if len(msgspec.json.encode(fact.value)) > MOST_VALUE_BYTES and not fact.internal:
        raise ValueError(f"a value has at most {MOST_VALUE_BYTES:,} bytes")
    try:
        check_secrets(fact.key, fact.value, secrets)
    except BadInput as error:
        raise BadInput(error.message, code=error.code, remedy="Delete that line.") from None


def _check_versions(line: Line) -> None:
    numbers = [fact.version for fact in line.versions]
    if not numbers or numbers != sorted(set(numbers)) or numbers[0] < 1:
        raise ValueError("its versions are not in order")
    if len({fact.key for fact in line.versions}) > 1:
        raise ValueError("its versions have several keys")
    if sum(fact.state == "current" for fact in line.versions) > 1:
        raise ValueError("several of its versions are current")
    for fact in line.versions:
        times = (fact.recorded_at, fact.valid_from, fact.valid_to)
        if any(at is not None and at.tzinfo is None for at in times):
            raise ValueError("a time has no zone")
        if not 0 <= fact.confidence <= 1 or fact.seen < 1 or fact.kind == "usage":
            raise ValueError("its confidence, count or kind cannot be")


def _check_once(items: Sequence[Shelved]) -> None:
    seen = set()
    for item in items:
        place = (item.shelf, item.versions[0].key)
        if place in seen:
            raise BadInput(
                f"The fact {place[1]!r} stands in the file twice.", remedy="Delete one of its lines."
            )
        seen.add(place)


def _placed(item: Shelved, partition: Partition, user: str | None, namespace: str | None) -> Shelved:
    shelf = item.shelf._replace(partition=partition, namespace=namespace or item.shelf.namespace)
    return msgspec.structs.replace(
        item, shelf=shelf if user is None else shelf._replace(scope="user", owner=user)
    )


async def _check_sessions(record: Record, items: Sequence[Shelved]) -> None:
    for uid in sorted({item.shelf.owner for item in items if item.shelf.scope == "session"}):
        if await record.session(uid) is None:
            raise NotFound(
                f"The session {uid} of some of these facts is not in this database.",
                remedy="Give --as-user ID to make them facts of a user.",
            )


def _conflict(conflicts: Sequence[Shelved]) -> Conflict:
    named = [f"{one_line(item.versions[0].key)} of {one_line(item.shelf.owner)}" for item in conflicts]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return Conflict(
        f"{len(named)} keys are there otherwise: {', '.join(named[:SHOWN])}{more}. Nothing was read.",
        remedy="Give --keep-ours to read the others, or erase those here first.",
    )


COMMANDS = (export_facts, import_facts)
