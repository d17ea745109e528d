"""Budgets changed by hand: raise and reset, each a row of the ledger with who and why, and their history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import click

from runtime.cli import options
from runtime.cli.budget_named import Which, key_of, named
from runtime.cli.find import flow_id_of
from runtime.cli.opening import read_settings, with_record
from runtime.cli.plain import one_line
from runtime.cli.run_result import left_text
from runtime.cli.streams import result_json, say, write
from runtime.cli.table import Column, show
from runtime.cli.when import stamp, zone
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.events import BudgetChanged, Gauge
from runtime.facts import Partition
from runtime.ledger import (
    EVERYONE,
    Counter,
    CounterKey,
    Rule,
    amount_text,
    gauge,
    gauge_text,
    limit_of,
)
from runtime.names import check_names
from runtime.record import LedgerFilter, LedgerRow, LimitChange, Record
from runtime.secrets.redact import Redactor
from runtime.usage import parse_money

F = TypeVar("F", bound=Callable[..., Any])

MAX_REASON_CHARS = 1_000
"""Characters of a reason, which stands in the ledger for good."""


class Change(NamedTuple):
    """What is done to it. `amount` is the new limit as typed."""

    action: Literal["raise", "reset"]
    reason: str
    actor: str
    amount: str = ""
    for_good: bool = False


def _which(function: F) -> F:
    """Options that say which budget, of whom."""
    for decorate in (
        options.database,
        options.rehearsal,
        click.option("--run", "run_id", metavar="ID", help="For a budget of a run: its id."),
        click.option(
            "--session",
            metavar="NAME",
            callback=options.filled,
            help="For a budget of a session: its name or id.",
        ),
        options.flow,
        click.option(
            "--user",
            "user_id",
            default=options.LOCAL_USER,
            metavar="ID",
            callback=options.filled,
            show_default=True,
            help="Whose budget.",
        ),
        options.actor,
        click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger."),
    ):
        function = decorate(function)
    return function


@click.command(
    "raise",
    short_help="Give a budget another limit.",
    epilog=options.examples(
        'farthing budget raise daily --to 2.00 --user ada --reason "end of month"',
        'farthing budget raise default-daily --to 20 --for-good --reason "more work"',
        'farthing budget raise talk --to 50000 --session monday --flow support --reason "long talk"',
    ),
)
@click.argument("name")
@click.option("--to", "amount", required=True, metavar="N", help="The new limit: dollars, or whole tokens.")
@click.option("--for-good", is_flag=True, help="For every period from now on, not only for this one.")
@_which
def raise_budget(
    name: str, amount: str, for_good: bool, reason: str, actor: str, db: Path | None, **which: Any
) -> None:
    """Give the budget NAME another limit, from the next step on in every process.

    It is a row in the ledger with who and why, beats the limit in the flow or the settings, and may also
    lower it. Where a flow has one of the same name, settings/NAME is the one of your settings.
    """
    before, after = change(db, Which(name, **which), Change("raise", reason, actor, amount, for_good))
    _tell(before, after, "for good" if for_good else "for this period")


@click.command(
    "reset",
    short_help="Let a budget count from nothing again.",
    epilog=options.examples(
        'farthing budget reset daily --user ada --reason "was a test"',
        'farthing budget reset talk --session monday --flow support --reason "starts over"',
    ),
)
@click.argument("name")
@_which
def reset_budget(name: str, reason: str, actor: str, db: Path | None, **which: Any) -> None:
    """Let the budget NAME count from 0 again within its present period.

    It is a row in the ledger with who, why and what was used until then. What was spent stays spent: no
    other row changes, and `spend` shows the same sums.
    """
    before, after = change(db, Which(name, **which), Change("reset", reason, actor))
    _tell(before, after, "counted anew")


def change(db: Path | None, which: Which, wish: Change) -> tuple[Gauge, Gauge]:
    """Change a limit; the budget before and after. Raises BadInput or NotFound."""
    if not wish.reason.strip():
        raise BadInput(f"A {wish.action} needs a reason.", remedy='Give --reason "why".')
    if len(wish.reason) > MAX_REASON_CHARS:
        raise BadInput(
            f"The reason has {len(wish.reason):,} characters, more than {MAX_REASON_CHARS:,}.",
            remedy="Shorten --reason.",
        )
    check_names(user=which.user_id)
    now = SystemClock().now()
    settings = read_settings(db)
    reason = Redactor(settings.secrets_values()).text(wish.reason)

    async def work(record: Record) -> tuple[Gauge, Gauge]:
        rule = (await named(record, settings, which)).rule
        key = await key_of(record, rule, which, now)
        (before,) = await record.counters([key])
        made = LimitChange(
            action=wish.action,
            key=key,
            budget=rule.name,
            amount=parse_amount(rule, wish.amount) if wish.action == "raise" else None,
            for_good=wish.for_good,
            actor=wish.actor,
            reason=reason,
            at=now,
        )
        await record.change_limit(made, [_event(rule, key, before, made)])
        (after,) = await record.counters([key])
        return gauge(rule, before, now), gauge(rule, after, now)

    return with_record(db, work, makes=True)


def _tell(before: Gauge, after: Gauge, how: str) -> None:
    write(f"before  {one_line(before.budget)}: {gauge_text(before)}, {left_text(before)}")
    write(f"after   {one_line(after.budget)}: {gauge_text(after)}, {left_text(after)} ({how})")


def parse_amount(rule: Rule, text: str) -> int:
    """A limit in the rule's own unit. Raises BadConfig or BadInput."""
    if rule.metric == "spend":
        return parse_money(text.removeprefix("$"), field="--to")
    plain = text.replace(",", "").replace("_", "")
    if not plain.isascii() or not plain.isdigit():
        raise BadInput(
            f"--to must be a whole number of tokens, not {text!r}.", remedy="For example: --to 50000"
        )
    return int(plain)


def _event(rule: Rule, key: CounterKey, before: Counter, made: LimitChange) -> BudgetChanged:
    return BudgetChanged(
        at=made.at,
        action=made.action,
        budget=rule.name,
        metric=rule.metric,
        period=rule.period,
        owner=key.owner,
        actor=made.actor,
        reason=made.reason,
        amount=made.amount,
        previous=limit_of(rule, before),
        for_good=made.for_good,
    )


def show_history(
    db: Path | None, user_id: str | None, flow: str | None, partition: Partition, *, as_json: bool
) -> None:
    """Print every raise and reset, newest first."""

    async def work(record: Record) -> list[LedgerRow]:
        rows = await record.ledger(LedgerFilter(partition, user_id, kinds=("raise", "reset")))
        if flow is not None:
            flow_id = await flow_id_of(record, flow, partition)
            rows = [row for row in rows if any(pot.startswith(f"{flow_id}/") for pot in row.pots)]
        return rows[::-1]

    rows = with_record(db, work)
    if as_json:
        result_json([_json(row) for row in rows])
    elif not rows:
        say("No limit was ever changed.")
    else:
        _history(rows)


def _json(row: LedgerRow) -> dict[str, Any]:
    names = ("id", "at", "metric", "period", "owner", "start", "amount", "for_good", "actor", "reason")
    return {"action": row.kind, "pots": row.pots, **{name: getattr(row, name) for name in names}}


def _history(rows: list[LedgerRow]) -> None:
    columns = (
        Column(f"when ({zone()})"),
        Column("budget", flexible=True, style="bold"),
        Column("of", flexible=True),
        Column("period"),
        Column("change"),
        Column("by", flexible=True),
        Column("why", flexible=True),
    )
    show(columns, [_cells(row) for row in rows])


def _cells(row: LedgerRow) -> tuple[str, ...]:
    amount = amount_text(row.metric or "tokens", row.amount)
    done = f"limit {amount}" if row.kind == "raise" else f"reset at {amount}"
    return (
        stamp(row.at),
        row.pots[0].rpartition("/")[2].removeprefix("shared:") if row.pots else "",
        "everyone" if row.owner == EVERYONE else row.owner or "",
        row.period or "",
        done + (" for good" if row.for_good else ""),
        row.actor or "",
        row.reason or "",
    )


COMMANDS = (raise_budget, reset_budget)
