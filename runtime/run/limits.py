"""Limits of one run as given when it is started: `spend=0.50`, `tokens=20000`."""

from __future__ import annotations

from runtime.errors import BadInput
from runtime.ledger import Metric, Rule
from runtime.usage import parse_count, parse_money

SHOWN = 60
"""So many characters of what is no limit are repeated."""


def parse_limit(text: str) -> Rule:
    """The rule of `metric=amount` for this run alone. Raises BadInput."""
    metric, _, amount = text.partition("=")
    metric, amount = metric.strip(), amount.strip()
    if metric not in ("tokens", "spend") or not amount:
        raise BadInput(
            f"--limit {text[:SHOWN]!r} is not understood.",
            remedy="Write --limit spend=0.50 or --limit tokens=20000.",
        )
    field = f"--limit {metric}"
    if metric == "spend":
        return _rule("spend", parse_money(amount.removeprefix("$").replace("_", ""), field=field))
    return _rule("tokens", parse_count(amount, field=field))


def _rule(metric: Metric, limit: int) -> Rule:
    return Rule(
        name=f"limit-{metric}",
        pot=f"limit/{metric}",
        metric=metric,
        period="run",
        limit=limit,
        field=f"`--limit {metric}`",
    )
