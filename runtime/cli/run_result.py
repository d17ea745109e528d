"""What a run's end looks like: its result on stdout, and how it ended on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.cli.failure import sentence
from runtime.cli.plain import one_line
from runtime.cli.streams import coloured, is_terminal, json_text, paint, result, result_json, say
from runtime.errors import FarthingError
from runtime.events import CallError, Gauge
from runtime.ledger import amount_text, gauge_text
from runtime.usage import Usage, decimal_text, money_text

if TYPE_CHECKING:
    from runtime.run.start import Outcome

FORMAT = "farthing.result/1"
RAISE = "`farthing budget raise "
"""How the command begins that a stop by a budget proposes."""


def gauge_json(gauge: Gauge) -> dict[str, Any]:
    """A budget as JSON: tokens as numbers, money as exact decimal strings."""

    def amount(value: int | None) -> int | str | None:
        return decimal_text(value) if gauge.metric == "spend" else value

    left = None if gauge.limit is None else max(0, gauge.limit - gauge.used)
    return {
        "budget": gauge.budget,
        "pot": gauge.pot,
        "metric": gauge.metric,
        "period": gauge.period,
        "used": amount(gauge.used),
        "held": amount(gauge.held),
        "limit": amount(gauge.limit),
        "left": amount(left),
        "at_least": bool(gauge.unknown),
        "threshold_pct": gauge.threshold_pct,
        "resets_at": gauge.resets_at,
        "node_id": gauge.node_id,
    }


def usage_json(usage: Usage) -> dict[str, int]:
    """The five numbers and what a token budget counts."""
    return {
        "input": usage.input,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "tokens": usage.tokens,
    }


def cost_json(cost: int, unknown: int) -> str | None:
    """A sum of known costs in dollars; null where not one is known."""
    return None if unknown and not cost else decimal_text(cost)


def cost_text(cost: int | None, unknown: int) -> str:
    """A sum for people: unknown is not zero."""
    if cost is None or (unknown and not cost):
        return "unknown"
    return f"at least {money_text(cost)}" if unknown else money_text(cost)


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """`run --json`: `unknown_cost` counts calls without a known cost, which `cost` does not contain."""
    error = outcome.error
    return {
        "format": FORMAT,
        "run_id": outcome.run_id,
        "session": {"uid": outcome.session_uid, "name": outcome.session_name},
        "state": outcome.state,
        "rehearsal": outcome.rehearsal,
        "outputs": outcome.outputs,
        "usage": usage_json(outcome.usage),
        "cost": cost_json(outcome.cost, outcome.unknown),
        "unknown_cost": outcome.unknown,
        "budgets": [gauge_json(gauge) for gauge in outcome.gauges],
        "error": None if error is None else _error_json(error),
    }


def _error_json(error: CallError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "remedy": error.remedy}


def failed_json(error: FarthingError) -> dict[str, Any]:
    """`run --json` of a run that could not begin."""
    return {
        "format": FORMAT,
        "run_id": error.run_id,
        "session": None,
        "state": "failed",
        "rehearsal": None,
        "outputs": {},
        "usage": usage_json(Usage()),
        "cost": "0",
        "unknown_cost": 0,
        "budgets": [],
        "error": {"code": error.code, "message": error.message, "remedy": error.remedy},
    }


def show_outputs(outcome: Outcome, *, streamed: str | None) -> None:
    """The result: one output as its text, several as a JSON object. `streamed` is what the terminal has
    already shown of it."""
    if outcome.state != "completed" or not outcome.outputs:
        return
    if len(outcome.outputs) > 1:
        result_json(outcome.outputs)
        return
    (value,) = outcome.outputs.values()
    text = value if isinstance(value, str) else json_text(value, pretty=is_terminal(sys.stdout))
    if streamed is None or streamed.strip() != text.strip():
        result(text)


def at_database(remedy: str | None, db: Path | None) -> str | None:
    """The remedy with the `--db` of this command line in the command that raises a limit."""
    if remedy is None or db is None or RAISE not in remedy:
        return remedy
    import shlex

    return remedy.replace(RAISE, f"{RAISE}--db {shlex.quote(str(db))} ", 1)


def show_end(outcome: Outcome, *, stopped: bool = False, db: Path | None = None) -> None:
    """How the run ended: on a terminal one quiet line, then each budget; an error always (but for a stop
    that was shown as it happened). `db` is that of `--db`."""
    error = outcome.error
    if error is not None and not (stopped and error.code.startswith("budget.")):
        sentence(error.message, at_database(error.remedy, db))
    if not is_terminal(sys.stderr):
        return
    on = coloured(sys.stderr)
    state = {"completed": "done", "failed": "failed", "cancelled": "cancelled"}.get(
        outcome.state, outcome.state
    )
    colour = "green" if outcome.state == "completed" else "red" if outcome.state == "failed" else "yellow"
    kind = " (rehearsal)" if outcome.rehearsal else ""
    say(
        f"{paint(state, colour, on=on)}{kind} · {outcome.usage.tokens:,} tokens · "
        f"{cost_text(outcome.cost, outcome.unknown)} · session {one_line(outcome.session_name)}"
    )
    for gauge in outcome.gauges:
        say(f"  {one_line(gauge.budget)}: {left_text(gauge)}, used {gauge_text(gauge)}", "dim")


def left_text(gauge: Gauge) -> str:
    """What is left of a budget."""
    if gauge.limit is None:
        return "no limit"
    left = max(0, gauge.limit - gauge.used)
    return f"{amount_text(gauge.metric, left)} left"
