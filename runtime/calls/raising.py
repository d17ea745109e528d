"""The command that lifts a limit, as a person pastes it into a shell."""

from __future__ import annotations

from decimal import Decimal

from runtime.calls.account import Whose
from runtime.events import Gauge
from runtime.ledger import Rule
from runtime.usage import NANO, decimal_text

LOCAL_USER = "local"
"""Whose budgets the command line means where no user is named."""
FEWEST_TOKENS = 10_000
LEAST_NANOS = NANO // 10
"""What is proposed in place of a limit of 0: 10,000 tokens, or $0.10."""
CENT = NANO // 100
LOWEST_PCT = Decimal(10)
"""A lower threshold is not stayed below: who is to be warned from 1 % on asked for no hundredfold limit."""


def raising_command(rule: Rule, shown: Gauge, whose: Whose, needed: int = 0, step: int = 0) -> str | None:
    """The command that gives the rule's counter twice what it has, or has room for `needed` (tokens or
    nano-dollars), within this period, and at least so much that another `step` stays below the limit and its
    threshold; null for a limit of one run or one command line."""
    nowhere = rule.period == "session" and not whose.session_uid
    if rule.period == "run" or nowhere or rule.pot.startswith("limit/"):
        return None
    import shlex

    own = rule.pot.startswith("settings/")
    name = rule.pot if own else rule.name
    words = ["--to", _amount(rule, shown, needed, step), "--reason", "WHY"]
    if rule.period == "session":
        words += ["--session", whose.session_uid]
    elif not rule.everyone and whose.user_id != LOCAL_USER:
        words += ["--user", whose.user_id or ""]
    if not own:
        words += ["--flow", whose.flow_id]
    if whose.rehearsal:
        words.append("--rehearsal")
    words = [*words, "--", name] if name.startswith("-") else [name, *words]
    return f"farthing budget raise {shlex.join(words)}"


def _amount(rule: Rule, shown: Gauge, needed: int, step: int) -> str:
    double = 2 * max(shown.limit or 0, shown.used + needed)
    below = Decimal(100) if rule.threshold_pct is None else max(rule.threshold_pct, LOWEST_PCT)
    wanted = max(double, int((shown.used + step) * 100 / below) + 1 if shown.used + step else 0)
    if rule.metric == "tokens":
        return str(max(wanted, 0 if double else FEWEST_TOKENS))
    wanted = max(wanted, 0 if double else LEAST_NANOS)
    return decimal_text(-(-wanted // CENT) * CENT if wanted > CENT else wanted) or "0"
