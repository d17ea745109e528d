"""The bill of a context: each part of what a model was sent with its tokens and its share of the cost. Pure.

Tokens of a part are our count; the provider's count of the whole input is what is paid for, so parts share
it in proportion. A provider's cache holds the beginning of what is sent, so cached tokens go to the first
parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from runtime.events import AgentUsage, ContextAssembled, ContextItem, ModelCalled
from runtime.record import LedgerRow
from runtime.usage import Usage, nanos_up

MILLION = 1_000_000


class Sent(NamedTuple):
    """One model call as a timeline tells it: its bill, what was sent, what it used (null: not ended)."""

    seq: int
    context: ContextAssembled | None
    called: ModelCalled
    used: AgentUsage | None


class Part(NamedTuple):
    """A section: `tokens` by our count, `share` of the input from 0 to 1, `cached` the part of it that came
    from the provider's cache, `cost` in nano-dollars, null where it is unknown. Of the session's history it
    has `messages` from number `first` on, counted from 0."""

    name: str
    tokens: int
    share: float
    cached: float
    cost: int | None
    items: tuple[ContextItem, ...]
    first: int | None
    messages: int | None


class Bill(NamedTuple):
    """The parts in the order sent, and what the answer cost. `by_price`: unit prices are known; else the
    cost of the call is shared by tokens alone."""

    parts: tuple[Part, ...]
    answer_tokens: int
    answer_cost: int | None
    by_price: bool


def calls_of(events: Iterable[tuple[int, Any]]) -> list[Sent]:
    """Every model call of a timeline, in order."""
    found: list[Sent] = []
    contexts: dict[tuple[str | None, str | None, int | None, str], ContextAssembled] = {}
    places: dict[tuple[str | None, str], int] = {}
    for seq, event in events:
        if isinstance(event, ContextAssembled):
            contexts[event.run_id, event.node_id, event.step, event.purpose] = event
        elif isinstance(event, ModelCalled):
            context = contexts.get((event.run_id, event.node_id, event.step, event.purpose))
            places[event.run_id, event.call] = len(found)
            found.append(Sent(seq, context, event, None))
        elif isinstance(event, AgentUsage) and (place := places.get((event.run_id, event.call))) is not None:
            found[place] = found[place]._replace(used=event)
    return found


def row_of(sent: Sent, rows: Iterable[LedgerRow]) -> LedgerRow | None:
    """The ledger's row that settled a call; None while it has none."""
    called = sent.called
    wanted = (called.run_id, called.node_id, called.step, called.purpose, called.attempt)
    fitting = [
        row
        for row in rows
        if row.kind == "settle" and (row.run_id, row.node_id, row.step, row.purpose, row.attempt) == wanted
    ]
    return fitting[-1] if fitting else None


def bill(sent: Sent, price: Mapping[str, Any] | None) -> Bill:
    """The bill of a call. `price` is its ledger row's: dollars a million tokens, as decimal strings."""
    sections = sent.context.sections if sent.context is not None else ()
    whole = sum(section.tokens for section in sections)
    usage = sent.used.usage if sent.used is not None else Usage()
    cost = sent.used.cost if sent.used is not None else None
    scale = usage.input / whole if whole and usage.input else 1.0
    cached_left = float(usage.cached)
    parts = []
    for section in sections:
        paid = section.tokens * scale
        cached = min(paid, cached_left)
        cached_left -= cached
        parts.append(
            Part(
                section.name,
                section.tokens,
                section.tokens / whole if whole else 0.0,
                cached / paid if paid else 0.0,
                _cost(paid, cached, usage, cost, price),
                section.items,
                section.first,
                section.count,
            )
        )
    return Bill(tuple(parts), usage.output, _answer(usage, cost, price), price is not None)


def _cost(
    paid: float, cached: float, usage: Usage, cost: int | None, price: Mapping[str, Any] | None
) -> int | None:
    if price is not None:
        fresh = Decimal(price.get("input", "0"))
        kept = Decimal(price.get("cached", price.get("input", "0")))
        amount = Decimal(paid - cached) * fresh + Decimal(cached) * kept
        return nanos_up(amount / MILLION)
    if cost is None:
        return None
    return round(cost * paid / usage.tokens) if usage.tokens else 0


def _answer(usage: Usage, cost: int | None, price: Mapping[str, Any] | None) -> int | None:
    if price is not None:
        return nanos_up(Decimal(price.get("output", "0")) * usage.output / MILLION)
    if cost is None:
        return None
    return round(cost * usage.output / usage.tokens) if usage.tokens else 0
