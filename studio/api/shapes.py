"""Values as the API writes them, the same in every answer: money as decimal strings, times in UTC with Z."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from runtime.events import Gauge
from runtime.facts import Partition
from runtime.usage import Usage, decimal_text


class UsageOut(msgspec.Struct, frozen=True):
    """Tokens: `input` includes `cached` and `cache_write`, `output` includes `reasoning`; `tokens` is what
    a token budget counts."""

    input: int
    cached: int
    cache_write: int
    output: int
    reasoning: int
    tokens: int


class GaugeOut(msgspec.Struct, frozen=True, kw_only=True):
    """A budget as it stands: amounts are tokens, or decimal strings of dollars where it counts spend."""

    budget: str
    pot: str
    metric: str
    period: str
    used: int | str
    held: int | str
    limit: int | str | None
    threshold_pct: float | None
    unknown: int
    node_id: str | None
    resets_at: datetime | None
    field: str | None
    text: str


def usage_out(usage: Usage) -> UsageOut:
    """All five numbers, zeros too."""
    return UsageOut(usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning, usage.tokens)


def cost_out(cost: int, unknown: int) -> str | None:
    """A sum of known costs in dollars; null where not one is known."""
    return None if unknown and not cost else decimal_text(cost)


def amount_out(metric: str, amount: int | None) -> int | str | None:
    """Tokens as they are, money as a decimal string."""
    return decimal_text(amount) if metric == "spend" else amount


def gauge_out(gauge: Gauge) -> GaugeOut:
    """A gauge outside of events."""
    from runtime.ledger import gauge_text

    return GaugeOut(
        budget=gauge.budget,
        pot=gauge.pot,
        metric=gauge.metric,
        period=gauge.period,
        used=amount_out(gauge.metric, gauge.used) or 0,
        held=amount_out(gauge.metric, gauge.held) or 0,
        limit=amount_out(gauge.metric, gauge.limit),
        threshold_pct=gauge.threshold_pct,
        unknown=gauge.unknown,
        node_id=gauge.node_id,
        resets_at=gauge.resets_at,
        field=gauge.field,
        text=gauge_text(gauge),
    )


def partition_of(rehearsal: bool) -> Partition:
    """Which of the two worlds is asked about."""
    return "rehearsal" if rehearsal else "real"


def raw(data: bytes) -> Any:
    """JSON that is written as it is."""
    return msgspec.Raw(data)
