"""Calling a function within its time: an async one as a task, a plain one in a thread of its own.

A thread cannot be killed. One that does not end in time is left to itself: nobody waits for it, and as a
daemon it does not keep the process alive.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from runtime.errors import FarthingError, ToolFailure
from runtime.tools.printing import divert, inside
from runtime.tools.results import plain

MESSAGE_CHARS = 300
"""How much of an error's own message a model is told."""
GRACE_S = 0.5
"""How long an async function that was cancelled may take to end before nobody waits for it any more."""


class _Done(NamedTuple):
    """How a call ended: with a JSON value, or with an error."""

    value: Any = None
    error: BaseException | None = None


async def call(name: str, function: Callable[..., Any], given: Mapping[str, Any], timeout_s: float) -> Any:
    """The function's result as a JSON value. Raises ToolFailure where it fails or does not end in time, and
    the FarthingError that it raises itself. Cancelling ends an async function; a thread goes on unheeded."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # whether calling it gives a coroutine
    ):
        done = await _as_task(name, function(**given), timeout_s)
    else:
        done = await _as_thread(name, function, given, timeout_s)
    if done is None:
        raise ToolFailure(f"{name} did not end within {timeout_s:g} s.", code="tool.timeout")
    if done.error is None:
        return done.value
    if isinstance(done.error, FarthingError):
        raise done.error
    raise ToolFailure(f"{name} failed: {_said(done.error)}", code="tool.failed") from None


def _said(error: BaseException) -> str:
    """An error on one line, without where it came from."""
    try:
        text = " ".join(str(error).encode("utf-8", "replace").decode().split())
    except Exception:  # an error's own text may fail too
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:MESSAGE_CHARS]}{'…' if len(text) > MESSAGE_CHARS else ''}" if text else f"{kind}."


async def _as_task(name: str, work: Awaitable[Any], timeout_s: float) -> _Done | None:
    undo = divert()
    task = asyncio.ensure_future(_caught(name, work))
    task.add_done_callback(lambda _: undo())
    try:
        await asyncio.wait([task], timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=GRACE_S)
        raise
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=GRACE_S)
        return None
    return task.result()


async def _caught(name: str, work: Awaitable[Any]) -> _Done:
    with inside():
        try:
            return _Done(plain(name, await work))
        except BaseException as error:  # even a tool that wants to end the process only fails
            return _Done(error=error)


async def _as_thread(
    name: str, function: Callable[..., Any], given: Mapping[str, Any], timeout_s: float
) -> _Done | None:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_Done] = loop.create_future()
    undo = divert()

    def settle(done: _Done) -> None:
        undo()
        if not ended.done():
            ended.set_result(done)

    def work() -> _Done:
        with inside():
            try:
                value = function(**given)
                if inspect.isawaitable(value):
                    return _Done(value)  # it is awaited on the loop
                return _Done(plain(name, value))
            except BaseException as error:  # as above
                return _Done(error=error)

    context = contextvars.copy_context()

    def main() -> None:
        done = context.run(work)
        try:
            loop.call_soon_threadsafe(settle, done)
        except RuntimeError:  # the loop has gone, and with it everybody who waited
            undo()

    try:
        threading.Thread(target=main, name=f"tool {name}", daemon=True).start()
    except RuntimeError as error:
        settle(_Done(error=error))
    began = loop.time()
    await asyncio.wait([ended], timeout=timeout_s)
    if not ended.done():
        return None
    done = ended.result()
    if done.error is None and inspect.isawaitable(done.value):
        return await _as_task(name, done.value, max(0.0, timeout_s - (loop.time() - began)))
    return done
