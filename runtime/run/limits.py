"""Limits of one run as given when it is started: `spend=0.50`, `tokens=20000`."""

from __future__ import annotations

from runtime.errors import BadInput
from runtime.ledger import Rule
from runtime.usage import NANO, parse_money


def parse_limit(text: str) -> Rule:
    """The rule of `metric=amount` for this run alone. Raises BadInput."""
    metric, _, amount = text.partition("=")
    metric, amount = metric.strip(), amount.strip()
    if metric not in ("tokens", "spend") or not amount:
        raise BadInput(
            f"--limit {text!r} is not understood.", remedy="Write --limit spend=0.50 or --limit tokens=20000."
        )
    nanos = parse_money(amount.removeprefix("$").replace("_", ""), field=f"--limit {metric}")
    if metric == "tokens" and nanos % NANO:
        raise BadInput(f"--limit tokens takes a whole number, not {amount!r}.")
    return Rule(
        name=f"limit-{metric}",
        pot=f"limit/{metric}",
        metric="spend" if metric == "spend" else "tokens",
        period="run",
        limit=nanos if metric == "spend" else nanos // NANO,
        field=f"`--limit {metric}`",
    )
