"""Requests as the tests of this folder make them."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import ModelFailure
from runtime.messages import LanguageModel, Message, Reply, Request


def request(text: str = "Hello?", **fields: Any) -> Request:
    """A request with one user message."""
    given = {"model": "any", "messages": (Message("user", text),), "timeout_s": 5.0, **fields}
    return Request(**given)


async def ask(model: LanguageModel, *, streamed: bool = False, **fields: Any) -> Reply:
    """One call; the streamed text must be the reply's."""
    if not streamed:
        return await model.complete(request(**fields))
    heard: list[str] = []
    reply = await model.complete(request(**fields), heard.append)
    assert "".join(heard) == reply.text
    return reply


async def failing(model: LanguageModel, *, streamed: bool = False, **fields: Any) -> ModelFailure:
    """The failure of a call that must fail."""
    with pytest.raises(ModelFailure) as caught:
        await model.complete(request(**fields), (lambda _: None) if streamed else None)
    return caught.value
