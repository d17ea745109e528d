"""Facts erased by people, with a receipt of what was reached."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from runtime.cli import options
from runtime.cli.fact_events import erased_by
from runtime.cli.fact_options import where_options
from runtime.cli.facts_governing import in_record, shelf_of
from runtime.cli.files import open_new
from runtime.cli.plain import one_line
from runtime.cli.shelves import Where
from runtime.cli.streams import result_json, say, write
from runtime.clock import SystemClock
from runtime.facts import OUT_OF_REACH, Erase, Erased, Shelf
from runtime.record import Record

PLACES = {
    "facts": "versions of the facts themselves",
    "other facts": "other facts, summaries and plans",
    "events": "events on timelines",
    "calls": "kept results of calls",
    "inputs": "inputs of runs",
    "outputs": "outputs of runs",
    "turns": "turns of conversations",
}


@click.command(
    short_help="Erase facts and every copy of them.",
    epilog=options.examples(
        "farthing facts erase phone --user ada --flow example:support",
        "farthing facts erase phone --user ada --flow example:support --yes --receipt receipt.json",
    ),
)
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@where_options
@click.option("--yes", is_flag=True, help="Erase; without it only what would be reached is shown.")
@click.option("--receipt", type=click.Path(path_type=Path), metavar="FILE", help="Write the receipt there.")
@options.as_json
@options.actor
def erase(
    keys: tuple[str, ...],
    where: Where,
    db: Path | None,
    yes: bool,
    receipt: Path | None,
    as_json: bool,
    actor: str,
) -> None:
    """Erase every value that KEY ever had, wherever this user's data has it: versions, copies, summaries,
    timelines, results of calls, inputs and outputs, conversations. Nothing takes it back.

    Values of 6 characters or more are found by their text, shorter ones only where their key stands with
    them; the rest is counted. Without --yes nothing is changed.
    """
    if not yes:
        options.refuse_unused("without --yes", "receipt")
    clock = SystemClock()

    async def work(record: Record, at: datetime) -> tuple[Shelf, Erased]:
        shelf = await shelf_of(record, where)
        wish = Erase(keys=keys, receipt=clock.new_id(), at=at, preview=not yes)
        erased, _ = await record.erase_facts(shelf, wish, erased_by(shelf, actor, at))
        return shelf, erased

    at = clock.now()
    with _kept_at(receipt) as keep:
        shelf, erased = in_record(db, lambda record, _: work(record, at))
        paper = receipt_json(shelf, erased, actor, at, done=yes)
        keep(msgspec.json.format(msgspec.json.encode(paper), indent=2) + b"\n")
    if as_json:
        result_json(paper)
        return
    _print(erased, done=yes)


@contextlib.contextmanager
def _kept_at(receipt: Path | None) -> Iterator[Callable[[bytes], object]]:
    """Takes the receipt. Its file is made before anything is erased, since nothing takes an erasure back, and
    is gone again where nothing was. Raises BadInput where it cannot be made."""
    if receipt is None:
        yield lambda _data: None
        return
    file = open_new(receipt, "--receipt")
    try:
        with file:
            yield file.write
    except BaseException:
        if not receipt.stat().st_size:
            receipt.unlink()
        raise


def receipt_json(shelf: Shelf, erased: Erased, actor: str, at: datetime, *, done: bool) -> dict[str, Any]:
    """The receipt: what was reached and what cannot be, without the content."""
    return {
        "format": "farthing.receipt/1",
        "receipt": erased.receipt if done else None,
        "erased": done,
        "at": at,
        "actor": actor,
        "shelf": {"namespace": shelf.namespace, "scope": shelf.scope, "owner": shelf.owner},
        "keys": erased.keys,
        "versions": erased.versions,
        "reached": erased.places,
        "short_values_left": erased.left,
        "files_swept": erased.swept if done else None,
        "same_text_of_others": erased.remains if done else None,
        "not_reached": OUT_OF_REACH,
    }


def _print(erased: Erased, *, done: bool) -> None:
    names = ", ".join(map(one_line, erased.keys))
    write(f"Erased {names}. Receipt {erased.receipt}" if done else f"To be erased: {names}")
    for place, count in erased.places.items():
        write(f"  {count:>6,}  {PLACES.get(place, place)}")
    if erased.left:
        places = ", ".join(f"{count:,} {place}" for place, count in erased.left.items())
        write(f"Stay, since so short a text may stand there by chance: {places}")
    write("Not reached:")
    for each in OUT_OF_REACH:
        write(f"  {each}")
    if not done:
        say("Nothing was changed. --yes erases.", "yellow")
        return
    if not erased.swept:
        say("Another program keeps the database open: bytes may stay in its log until that ends.", "yellow")
    elif erased.remains:
        say("The same text stands in what is not this user's, which was left as it is.", "yellow")
