"""Show budgets, raise one or reset it."""

from __future__ import annotations

from pathlib import Path

import click

from runtime.cli import budget_changes, options
from runtime.cli.budget_changes import show_history
from runtime.cli.budgets_shown import Shown, print_budgets, standing
from runtime.cli.find import find_session
from runtime.cli.groups import DefaultGroup
from runtime.cli.limits import of_flow, own
from runtime.cli.opening import read_settings, with_record
from runtime.cli.run_result import gauge_json
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.facts import Partition
from runtime.record import Record


class _Budget(DefaultGroup):
    default = "show"


@click.group(
    cls=_Budget,
    epilog=options.examples(
        "farthing budget show",
        "farthing budget show --flow example:support --user ada",
        'farthing budget raise daily --to 2.00 --user ada --reason "end of month"',
        'farthing budget reset daily --user ada --reason "was a test"',
    ),
)
def command() -> None:
    """Show how budgets stand, raise one or reset it. Without an action, shows them."""


@command.command(
    "show",
    short_help="Show how budgets stand.",
    epilog=options.examples(
        "farthing budget show --user ada",
        "farthing budget show --flow flow.json --json",
        "farthing budget show --session one",
        "farthing budget show --history",
    ),
)
@options.user
@options.flow
@click.option(
    "--session", callback=options.filled, metavar="SESSION", help="Only those of this session and its runs."
)
@click.option("--all", "everything", is_flag=True, help="Also those of single runs and sessions.")
@click.option("--history", is_flag=True, help="Who changed which limit when, and why.")
@options.rehearsal
@options.as_json
@options.database
def show_budgets(
    user_id: str | None,
    flow: str | None,
    session: str | None,
    everything: bool,
    history: bool,
    partition: Partition,
    as_json: bool,
    db: Path | None,
) -> None:
    """Show each budget: used, held by calls in flight, limit, what is left, and when it starts anew."""
    if history:
        options.refuse_unused("with --history", "session", "everything")
        show_history(db, user_id, flow, partition, as_json=as_json)
        return
    now = SystemClock().now()
    settings = read_settings(db)

    async def work(record: Record) -> list[Shown]:
        known = own(settings) if flow is None else await of_flow(record, flow, partition)
        uid = None
        if session is not None:
            line = await find_session(record, session, partition=partition, user_id=user_id, flow=flow)
            uid = line.uid
        return await standing(
            record, known, partition, user_id, now, flow=flow, everything=everything, session=uid
        )

    found = with_record(db, work)
    if as_json:
        result_json([{**gauge_json(s.gauge), "owner": s.owner, "flow_id": s.flow} for s in found])
        return
    if not found:
        say("No budgets.")
        return
    print_budgets(found)


for _each in budget_changes.COMMANDS:
    command.add_command(_each)
