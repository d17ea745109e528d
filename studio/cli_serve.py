"""Serve the HTTP API to programs, without pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.cli import options
from runtime.cli.streams import say

if TYPE_CHECKING:
    from studio.serving import Served

HOST = "127.0.0.1"


@click.command(
    epilog=options.examples(
        "farthing serve flows",
        "farthing serve flows --port 9000 --db team.db",
        "farthing token create --user ada --role runner --expires 30d",
    )
)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="N", help="The port; 0 takes any that is free."
)
@click.option(
    "--host",
    default=HOST,
    show_default=True,
    callback=options.filled,
    metavar="ADDRESS",
    help="The address to listen at.",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    callback=options.filled,
    metavar="NAME",
    help="Also answer under this host name.",
)
@options.database
def command(folder: Path, port: int | None, host: str, allow_hosts: tuple[str, ...], db: Path | None) -> None:
    """Serve the flows of FOLDER (else of this one) under /api/v1, described at /api/v1/openapi.json.

    Programs send a token of `farthing token create`. /health says whether it answers. SIGTERM and Ctrl-C
    end it within two seconds: streams are closed and running runs cancelled, which their timelines say.
    """
    from studio.serving import Asked, run, warn_of

    warn_of(host)

    async def started(served: Served) -> None:
        say(f"Serving the API at {served.url}/api/v1")
        say("Programs need a token: `farthing token create --user ID --role runner`.", "dim")

    run(Asked(folder, host, port, allow_hosts, db, pages=False), started)
