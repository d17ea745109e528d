"""A timeline's numbers, each in its column."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from runtime.cli.plain import clip
from runtime.events import Gauge
from runtime.ledger import amount_text
from runtime.usage import dollars

COST, LEFT = 10, 10
"""Columns that a cost and what is left of a budget take."""


def money(nanos: int) -> str:
    """Dollars with six decimals, rounded up, so that a column of them lines up; large sums have fewer."""
    for digits in (6, 4, 2, 0):
        quantum = Decimal(1).scaleb(-digits)
        text = f"${dollars(nanos).quantize(quantum, rounding=ROUND_CEILING):,f}"
        if len(text) <= COST:
            return text
    return clip(text, COST)


def count(tokens: int, width: int) -> str:
    """A number of tokens in so many columns: `12,345`, or `1.2M` where that is too long."""
    text = f"{tokens:,}"
    for unit in "kMGT":
        if len(text) <= width:
            break
        tokens /= 1000  # type: ignore[assignment]
        text = f"{tokens:.1f}{unit}"
    return clip(text, width)


def tightest(gauges: Sequence[Gauge]) -> Gauge | None:
    """The budget of which the smallest part is left."""
    limited = [g for g in gauges if g.limit is not None]
    return min(limited, key=lambda g: Decimal(max(0, (g.limit or 0) - g.used)) / (g.limit or 1), default=None)


def left(gauges: Sequence[Gauge]) -> str:
    """What is left of the tightest budget, short: `$0.4987` or `3,200 tk`."""
    gauge = tightest(gauges)
    if gauge is None or gauge.limit is None:
        return ""
    amount = max(0, gauge.limit - gauge.used)
    if gauge.metric == "tokens":
        return f"{count(amount, LEFT - 3)} tk"
    return clip(amount_text(gauge.metric, amount), LEFT)
