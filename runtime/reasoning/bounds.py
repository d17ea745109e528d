"""The hard bound of a context: what is sent and the answer's room never pass the model's window.

What gives way is history: turns of earlier sessions first, then the oldest of this one. Nothing else does:
what is left must be sent, and where that is too large an error says what of it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from runtime.errors import ContextTooLarge
from runtime.events import ContextItem
from runtime.memory.history import units
from runtime.messages import Message
from runtime.reasoning.context import Bill, Parts
from runtime.reasoning.past import Past

Measure = Callable[[Parts], int]
"""Tokens of the request that is made of these parts."""


class Bounded(NamedTuple):
    """What is sent, its tokens, and the history that is not sent."""

    parts: Parts
    tokens: int
    left_out: tuple[ContextItem, ...]


def within(parts: Parts, limit: int, measure: Measure, count: Callable[[Sequence[Message]], int]) -> Bounded:
    """The parts with so much less history that they have at most `limit` tokens, where that is possible."""
    gone_prior, gone, over = 0, 0, measure(parts) - limit
    whole = parts
    while over > 0 and (parts.past.prior or parts.past.messages):
        if parts.past.prior:
            gone_prior += _oldest(parts.past.prior, over, count)
        else:
            gone += _oldest(parts.past.messages, over, count)
        parts = parts._replace(past=_shorter(whole.past, gone_prior, gone))
        over = measure(parts) - limit
    return Bounded(parts, over + limit, _left_out(whole.past, gone_prior, gone, count))


def too_large(bill: Bill, limit: int, tokens: int, window: int) -> ContextTooLarge:
    """The error of what must be sent whole, which names the largest parts."""
    largest = sorted(bill.sections, key=lambda section: -section.tokens)[:4]
    sizes = ", ".join(f"{section.name} {section.tokens:,}" for section in largest)
    return ContextTooLarge(
        f"What must be sent has about {tokens:,} tokens; the window is {window:,} and {window - limit:,} of"
        f" them are kept for the answer. The largest parts are {sizes}.",
        remedy=f"Shorten {largest[0].name}, ask for a shorter answer, or use a model with a larger window.",
    )


def _oldest(messages: Sequence[Message], over: int, count: Callable[[Sequence[Message]], int]) -> int:
    """How many of the oldest messages to leave out to win about `over` tokens: whole exchanges, at least
    one, so that what is left begins with what a user said."""
    won, end = 0, 0
    for unit in units(messages):
        first = min(unit.indices)
        if end and won >= over and messages[first].role == "user":
            break
        end = max(unit.indices) + 1
        won += count([messages[index] for index in unit.indices])
    return max(1, end)


def _shorter(past: Past, gone_prior: int, gone: int) -> Past:
    return msgspec.structs.replace(
        past,
        prior=past.prior[gone_prior:],
        messages=past.messages[gone:],
        first=past.first + gone,
    )


def _left_out(
    past: Past, gone_prior: int, gone: int, count: Callable[[Sequence[Message]], int]
) -> tuple[ContextItem, ...]:
    found = []
    if gone_prior:
        tokens = count(past.prior[:gone_prior])
        found.append(ContextItem(ref=f"prior/0-{gone_prior - 1}", tokens=tokens, why="window"))
    if gone:
        tokens, last = count(past.messages[:gone]), past.first + gone - 1
        found.append(ContextItem(ref=f"history/{past.first}-{last}", tokens=tokens, why="window"))
    return tuple(found)
