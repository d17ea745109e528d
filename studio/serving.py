"""What `farthing studio` and `farthing serve` share: open the record, serve, say what there is to say."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from runtime.cli.opening import opened
from runtime.cli.streams import say
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.settings import Settings, load_settings
from studio.running import Running, forget, note


class Asked(NamedTuple):
    """How to serve. `port` null: the default one or the next that is free."""

    folder: Path
    host: str
    port: int | None
    allow_hosts: tuple[str, ...]
    db: Path | None
    pages: bool


class Served(NamedTuple):
    """A server that answers: its address, and how to make a link that opens it."""

    url: str
    new_link: Callable[[], str]


def run(asked: Asked, started: Callable[[Served], Awaitable[None]]) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises BadInput, BadSettings or StoreError where it cannot begin."""
    with asyncio.Runner() as runner:
        runner.run(_run(asked, started))
        _leave()


def _leave() -> None:
    """End the process. Everything was closed; threads that still load a library are not waited for, since
    that, and taking the interpreter down, may take longer than a server may take to stop."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


async def _run(asked: Asked, started: Callable[[Served], Awaitable[None]]) -> None:
    from runtime.run.services import Services
    from studio.app import create_app
    from studio.server import listen, serve

    def settings() -> Settings:
        return load_settings(os.environ, folder=asked.folder, db=asked.db)

    if not asked.folder.is_dir():
        raise BadInput(f"{str(asked.folder)!r} is not a folder.", remedy="Name the folder of your flows.")
    listener = listen(asked.host, asked.port)
    clock, known = SystemClock(), settings()
    port = int(listener.getsockname()[1])
    try:
        async with opened(known.db, clock) as record:
            app = create_app(
                Services(record, known, clock),
                asked.folder,
                port=port,
                pages=asked.pages,
                hosts=answered(asked.host, asked.allow_hosts),
                read_settings=settings,
            )
            url = address(asked.host, port)
            doors = app.state.studio.doors
            running = Running(url, os.getpid(), doors.control)
            path = note(known.data, port, running)
            try:
                await serve(app, listener, lambda: started(Served(url, doors.new_link)))
            finally:
                forget(path, running)
    finally:
        listener.close()


def address(host: str, port: int) -> str:
    """The address to open on this machine."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # only compared
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def answered(host: str, more: tuple[str, ...]) -> list[str]:
    """The names that are answered besides those of loopback."""
    own = [] if host in ("0.0.0.0", "::") else [f"[{host}]" if ":" in host else host]
    return [*own, *more]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server bound to it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def warn_of(host: str) -> None:
    """Say what it means to be bound to more than this machine."""
    if not is_loopback(host):
        say(
            f"Bound to {host}: everybody who reaches this machine there can knock. All they can do needs a\n"
            "token, but tokens and contents travel unencrypted: put a server with TLS before it, and name\n"
            "the host names that it is to answer to with --allow-host.",
            "yellow",
        )
