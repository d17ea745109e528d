"""What a server is told on the command line: the flows that it serves, and where it listens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from runtime.cli import options

F = TypeVar("F", bound=Callable[..., Any])
HOST = "127.0.0.1"


def where_served(function: F) -> F:
    """`[FOLDER]`, `--port`, `--host` and `--allow-host`."""
    for option in (
        click.option(
            "--allow-host",
            "allow_hosts",
            multiple=True,
            callback=options.filled,
            metavar="NAME",
            help="Also answer under this host name.",
        ),
        click.option(
            "--host",
            default=HOST,
            show_default=True,
            callback=options.filled,
            metavar="ADDRESS",
            help="The address to listen at.",
        ),
        click.option(
            "--port", type=click.IntRange(0, 65_535), metavar="N", help="The port; 0 takes any that is free."
        ),
        click.argument("folder", required=False, default=".", type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function
