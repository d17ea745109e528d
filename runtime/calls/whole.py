"""Awaiting to the end, so that no cancellation leaves an account open."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Await to the end even when cancelled meanwhile; says whether it was. Its own errors are raised."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = not task.cancelled()
        except BaseException:
            break
    return task.result(), cancelled
