"""Serve the HTTP API to programs, without pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.cli import options
from runtime.cli.streams import say
from studio.cli_address import where_served

if TYPE_CHECKING:
    from studio.serving import Served


@click.command(
    epilog=options.examples(
        "farthing serve flows",
        "farthing serve flows --port 9000 --db team.db",
        "farthing token create --user ada --role runner --expires 30d",
    )
)
@where_served
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
