"""Show budgets, and raise one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from runtime.cli import options
from runtime.cli.budgets_shown import Shown, print_budgets, standing
from runtime.cli.find import find_session
from runtime.cli.groups import DefaultGroup
from runtime.cli.limits import Known, as_last_run, flows_in, of_flow, own
from runtime.cli.opening import read_settings, with_record
from runtime.cli.plain import one_line
from runtime.cli.run_result import gauge_json, left_text
from runtime.cli.streams import result_json, say, write
from runtime.clock import SystemClock
from runtime.errors import BadInput, NotFound
from runtime.events import BudgetChanged, Gauge
from runtime.facts import Partition
from runtime.ledger import (
    Counter,
    CounterKey,
    Rule,
    Subject,
    counter_key,
    gauge,
    gauge_text,
    limit_of,
)
from runtime.record import LimitChange, Record
from runtime.usage import parse_money


class _Budget(DefaultGroup):
    default = "show"


@click.group(
    cls=_Budget,
    epilog=options.examples(
        "farthing budget show",
        "farthing budget show --flow example:support --user ada",
        'farthing budget raise daily --to 2.00 --user ada --reason "end of month"',
    ),
)
def command() -> None:
    """Show how budgets stand, and raise one. Without an action, shows them."""


@command.command(
    "show",
    short_help="Show how budgets stand.",
    epilog=options.examples(
        "farthing budget show --user ada", "farthing budget show --flow flow.json --json"
    ),
)
@options.user
@options.flow
@click.option("--all", "everything", is_flag=True, help="Also those of single runs and sessions.")
@options.rehearsal
@options.as_json
@options.database
def show_budgets(
    user_id: str | None,
    flow: str | None,
    everything: bool,
    partition: Partition,
    as_json: bool,
    db: Path | None,
) -> None:
    """Show each budget: used, held by calls in flight, limit, what is left, and when it starts anew."""
    now = SystemClock().now()
    settings = read_settings(db)

    async def work(record: Record) -> list[Shown]:
        known = own(settings) if flow is None else await of_flow(record, flow, partition)
        return await standing(record, known, partition, user_id, now, flow=flow, everything=everything)

    found = with_record(db, work)
    if as_json:
        result_json([{**gauge_json(s.gauge), "owner": s.owner, "flow_id": s.flow} for s in found])
        return
    if not found:
        say("No budgets.")
        return
    print_budgets(found)


@command.command(
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
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger.")
@options.actor
@click.option(
    "--user", "user_id", default=options.LOCAL_USER, metavar="ID", show_default=True, help="Whose budget."
)
@options.flow
@click.option("--session", metavar="NAME", help="For a budget of a session: its name or id.")
@click.option("--run", "run_id", metavar="ID", help="For a budget of a run: its id.")
@options.rehearsal
@options.database
def raise_budget(
    name: str,
    amount: str,
    for_good: bool,
    reason: str,
    actor: str,
    user_id: str,
    flow: str | None,
    session: str | None,
    run_id: str | None,
    partition: Partition,
    db: Path | None,
) -> None:
    """Give the budget NAME another limit, from the next step on in every process.

    It is a row in the ledger with who and why, beats the limit in the flow or the settings, and may also
    lower it.
    """
    if not reason.strip():
        raise BadInput("A raise needs a reason.", remedy='Give --reason "why".')
    now = SystemClock().now()
    settings = read_settings(db)

    async def work(record: Record) -> tuple[Gauge, Gauge]:
        known = await _named(record, settings, name, flow, partition)
        key = await _key(record, known.rule, partition, user_id, session, run_id, flow, now)
        limit = parse_amount(known.rule, amount)
        (before,) = await record.counters([key])
        change = LimitChange(
            action="raise",
            key=key,
            budget=known.rule.name,
            amount=limit,
            for_good=for_good,
            actor=actor,
            reason=reason,
            at=now,
        )
        await record.change_limit(change, [_event(known.rule, key, before, change)])
        (after,) = await record.counters([key])
        return gauge(known.rule, before, now), gauge(known.rule, after, now)

    before, after = with_record(db, work)
    how = "for good" if for_good else "for this period"
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


async def _named(record: Record, settings: Any, name: str, flow: str | None, partition: Partition) -> Known:
    """The one limit of that name: the user's own, the named flow's, or that of a flow that was run."""
    if flow is not None:
        candidates = await of_flow(record, flow, partition)
    else:
        candidates = own(settings)
        for flow_id in flows_in(line.key.pot for line in await record.all_counters(partition)):
            candidates += await as_last_run(record, flow_id, partition)
    found = [known for known in candidates if known.rule.name == name]
    if len(found) == 1:
        return found[0]
    if not found:
        names = sorted({known.rule.name for known in candidates})
        raise NotFound(
            f"There is no budget {name!r}" + (f" in {flow}." if flow else "."),
            remedy=f"There are: {', '.join(names)}." if names else "Give --flow FLOW, the file it stands in.",
        )
    flows = ", ".join(sorted({known.flow or "your settings" for known in found}))
    raise BadInput(f"{len(found)} budgets are called {name!r}, in {flows}.", remedy="Give --flow FLOW.")


async def _key(
    record: Record,
    rule: Rule,
    partition: Partition,
    user_id: str,
    session: str | None,
    run_id: str | None,
    flow: str | None,
    now: datetime,
) -> CounterKey:
    uid = ""
    if rule.period == "session":
        if session is None:
            raise BadInput(f"The budget {rule.name!r} counts by session.", remedy="Give --session NAME.")
        uid = (await find_session(record, session, partition=partition, user_id=user_id, flow=flow)).uid
    if rule.period == "run" and run_id is None:
        raise BadInput(
            f"The budget {rule.name!r} counts by run.", remedy="Give --run ID, or change the flow."
        )
    return counter_key(rule, Subject(partition, user_id, uid, run_id or ""), now)


def _event(rule: Rule, key: CounterKey, before: Counter, change: LimitChange) -> BudgetChanged:
    return BudgetChanged(
        at=change.at,
        action=change.action,
        budget=rule.name,
        metric=rule.metric,
        period=rule.period,
        owner=key.owner,
        actor=change.actor,
        reason=change.reason,
        amount=change.amount,
        previous=limit_of(rule, before),
        for_good=change.for_good,
    )
