"""Open the studio in the browser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.cli import options
from runtime.cli.streams import result, say
from runtime.errors import NotFound
from studio.cli_address import where_served

if TYPE_CHECKING:
    from studio.serving import Served

EXAMPLE_PAGE = "/examples/support"


@click.command(
    epilog=options.examples(
        "farthing studio",
        "farthing studio flows --port 9000",
        "farthing studio --no-open",
        "farthing studio --link",
    )
)
@where_served
@click.option("--no-open", is_flag=True, help="Print the link and open no browser.")
@click.option("--link", "link_only", is_flag=True, help="Print a fresh link to the studio that runs already.")
@options.database
def command(
    folder: Path,
    port: int | None,
    host: str,
    allow_hosts: tuple[str, ...],
    no_open: bool,
    link_only: bool,
    db: Path | None,
) -> None:
    """Design, run and inspect the flows of FOLDER (else of this one) in the browser.

    It opens by a link that works once; `--link` prints another while it runs. Ctrl-C ends it, and cancels
    what still runs.
    """
    if link_only:
        options.refuse_unused("with --link", "folder", "host", "allow_hosts", "no_open")
        result(_fresh_link(db, port))
        return
    from studio.serving import Asked, run, warn_of

    warn_of(host)
    asked = Asked(folder, host, port, allow_hosts, db, pages=True)

    async def started(served: Served) -> None:
        from studio.running import link

        url = link(served.url, served.new_link(), await asyncio.to_thread(_first_page, folder))
        say(f"The studio is at {url}")
        say("That link works once; `farthing studio --link` prints another. Ctrl-C ends the studio.", "dim")
        if not no_open:
            await asyncio.to_thread(_open, url)

    run(asked, started)


def _fresh_link(db: Path | None, port: int | None) -> str:
    from runtime.settings.places import database_path
    from studio.running import fresh_link

    found = fresh_link(database_path(os.environ, db).parent, port)
    if found is None:
        raise NotFound("No studio is running.", remedy="Start one with `farthing studio`.")
    return found


def _first_page(folder: Path) -> str:
    """Where to begin: the folder's flows, or where there are none an example that can be run at once."""
    from studio.folder import Folder

    return "/" if Folder(folder).flows() else EXAMPLE_PAGE


def _open(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
