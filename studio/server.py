"""Serving: the socket, a server that lets go of streams and runs at once when told to stop, and its life."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette

from runtime.errors import BadInput

DEFAULT_PORT = 8765
NEXT_PORTS = 20
"""How many ports after the default one are tried where nobody asked for a certain one."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACEFUL_S = 0.4
"""How long requests under way may take once the server stops."""


class Server(uvicorn.Server):
    """Ends streams and cancels runs with the signal itself, so that none of them keeps the process alive."""

    on_stop: Callable[[], object] = staticmethod(lambda: None)
    _loop: asyncio.AbstractEventLoop | None = None

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals end the serving and nothing else: what is to be closed afterwards still is."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.on_stop)
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Stop as a signal would; safe from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.on_stop)
        self.should_exit = True


def server_of(app: Starlette) -> Server:
    """A server of an app."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACEFUL_S,  # type: ignore[arg-type]  # it is seconds, handed to wait_for
        h11_max_incomplete_event_size=32 * 1024,
    )
    server = Server(config)
    server.on_stop = app.state.studio.stop
    return server


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens. `port` null: the default one or one of the next. Raises BadInput."""
    wished = range(DEFAULT_PORT, DEFAULT_PORT + NEXT_PORTS) if port is None else (port,)
    trouble: OSError | None = None
    for each in wished:
        try:
            return _bound(host, each)
        except OSError as error:
            trouble = error
    where = f"{host}:{port}" if port is not None else f"{host}, ports {wished[0]} to {wished[-1]}"
    reason = trouble.strerror if trouble is not None else "no port"
    raise BadInput(f"{where} cannot be used: {reason}.", remedy="Choose another --port or --host.")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(2048)
    except BaseException:
        made.close()
        raise
    made.set_inheritable(True)
    return made


@contextlib.asynccontextmanager
async def serving(app: Starlette, listener: socket.socket) -> AsyncIterator[Server]:
    """A running server, for tests and programs that hold one; it is stopped at the end."""
    server = server_of(app)
    task = asyncio.create_task(server.serve([listener]))
    try:
        await asyncio.wait(
            {task, asyncio.ensure_future(server.ready.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        yield server
    finally:
        server.stop()
        await task


async def serve(app: Starlette, listener: socket.socket, started: Callable[[], Awaitable[Any]]) -> None:
    """Serve until a signal comes; `started` is awaited once requests are answered."""
    server = server_of(app)

    async def tell() -> None:
        await server.ready.wait()
        await started()

    telling = asyncio.create_task(tell())
    try:
        await server.serve([listener])
    finally:
        telling.cancel()
        await asyncio.wait([telling])
