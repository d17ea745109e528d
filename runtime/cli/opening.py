"""Opening what a command works on: the settings, and the database for as long as the work takes."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from runtime.cli.display import keep_display
from runtime.cli.plain import visible
from runtime.cli.streams import say
from runtime.clock import Clock, SystemClock
from runtime.errors import BadInput, NotFound
from runtime.record import Record

if TYPE_CHECKING:
    from runtime.settings import Settings

T = TypeVar("T")


def read_settings(db: Path | None, *, folder: Path | None = None) -> Settings:
    """The user's settings; `folder` is the flow's, whose own settings file may say a little too."""
    from runtime.settings import load_settings

    settings = load_settings(os.environ, folder=folder, db=db)
    keep_display(settings.display)
    return settings


def with_tools(settings: Settings, files: Sequence[Path]) -> Settings:
    """The settings with the files of `--tools` beside the user's own. Raises NotFound for one that is not
    there, whether or not the flow would have used it."""
    for each in files:
        if not each.is_file():
            raise NotFound(f"There is no file {str(each)!r}.", remedy="Check the path after --tools.")
        if each.suffix != ".py":
            raise BadInput(f"{each} is no Python file.", remedy="Name a .py file after --tools.")
    return msgspec.structs.replace(settings, tool_files=(*settings.tool_files, *files)) if files else settings


@asynccontextmanager
async def opened(path: Path | None, clock: Clock) -> AsyncIterator[Record]:
    """The record of a database, made where there is none, opened and closed again; null: an empty one."""
    from runtime.store.opening import open_record

    record = open_record(path, clock)
    await record.open()
    gc.enable()
    try:
        yield record
    finally:
        await record.close()


@asynccontextmanager
async def looked_at(settings: Settings, db: Path | None, clock: Clock) -> AsyncIterator[Record]:
    """The record for a command that only looks at or changes what is there. Where there is no database it is
    an empty one, gone with the process, and the user is told so. `db` is that of `--db`. Raises NotFound
    where that one is not there."""
    path = settings.db
    if path.exists() and path.stat().st_size:  # an empty file is not made a database either
        async with opened(path, clock) as record:
            yield record
        return
    if db is not None:
        raise NotFound(
            f"There is no database {str(path)!r}.",
            remedy="Check the path after --db; `farthing run` makes one.",
        )
    async with opened(None, clock) as record:
        yield record
    say(f"There is no database yet; the first run makes {visible(str(path))}.", "dim")


def with_record(db: Path | None, work: Callable[[Record], Awaitable[T]], *, makes: bool = False) -> T:
    """What `work` gives when it is handed the record. `makes`: the database is made where there is none."""
    settings, clock = read_settings(db), SystemClock()

    async def main() -> T:
        async with opened(settings.db, clock) if makes else looked_at(settings, db, clock) as record:
            return await work(record)

    return asyncio.run(main())
