"""What a run has used, as an assertion that shows the bill when it fails."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from runtime.events import AgentUsage
from runtime.testing.bench import Ran
from runtime.usage import decimal_text, parse_money

Dollars = str | int | Decimal
"""Dollars, exactly: `"0.0059"`. A float is refused, since it is not what it looks like."""


def assert_spend(
    ran: Ran,
    *,
    calls: int | None = None,
    tokens: int | None = None,
    cost: Dollars | None = None,
    at_most_calls: int | None = None,
    at_most_tokens: int | None = None,
    at_most_cost: Dollars | None = None,
    node: str | None = None,
    purpose: str | None = None,
) -> None:
    """Raises AssertionError, with the bill, where a run has not used exactly this, or more than at most that.

    Counted are the model calls of the run, of one `node` or of one `purpose` where given: tokens are input
    and output, cost is in dollars. A call whose cost is unknown fits no cost at all: unknown is not zero.
    Calls that were sent again count each time.
    """
    rows = [
        event
        for event in ran.of("agent.usage")
        if node in (None, event.node_id) and purpose in (None, event.purpose)
    ]
    used = sum(event.usage.tokens for event in rows)
    known = sum(event.cost or 0 for event in rows)
    unknown = sum(event.cost is None for event in rows)
    wrong = [
        *_wrong("calls", len(rows), calls, at_most_calls),
        *_wrong("tokens", used, tokens, at_most_tokens),
        *_wrong("nano-dollars", known, _nanos(cost), _nanos(at_most_cost)),
    ]
    if unknown and (cost is not None or at_most_cost is not None):
        wrong.append(f"{unknown} of the calls have no known cost")
    if wrong:
        raise AssertionError("\n".join([f"The run used otherwise: {'; '.join(wrong)}.", *_bill(rows)]))


def _nanos(amount: Dollars | None) -> int | None:
    if isinstance(amount, float):
        raise TypeError("Write an amount of dollars as text, such as '0.0059'.")
    return None if amount is None else parse_money(amount, field="cost")


def _wrong(what: str, found: int, exactly: int | None, at_most: int | None) -> list[str]:
    wrong = []
    if exactly is not None and found != exactly:
        wrong.append(f"{found:,} {what}, not {exactly:,}")
    if at_most is not None and found > at_most:
        wrong.append(f"{found:,} {what}, more than {at_most:,}")
    return wrong


def _bill(rows: list[AgentUsage]) -> list[str]:
    """A line for each call, so that it can be seen where the difference is."""
    return [_line(event) for event in rows] or ["  no model call"]


def _line(event: AgentUsage) -> str:
    usage: Any = event.usage
    cost = "unknown cost" if event.cost is None else f"${decimal_text(event.cost)}"
    marks = [
        f"attempt {event.attempt}" if event.attempt > 1 else "",
        "estimated" if event.estimated else "",
        event.error.code if event.error is not None else "",
    ]
    said = ", ".join(mark for mark in marks if mark)
    what = f"  {event.node_id} step {event.step or '-'} {event.purpose}"
    return f"{what}: {usage.input:,} in, {usage.output:,} out, {cost}{f' ({said})' if said else ''}"
