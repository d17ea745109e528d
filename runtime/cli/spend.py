"""Sum up tokens and money, down to each call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from runtime.cli import options
from runtime.cli.find import find_session, flow_id_of, session_of_run, unknown_user
from runtime.cli.flow_names import flow_names
from runtime.cli.opening import with_record
from runtime.cli.plain import counted, visible
from runtime.cli.run_result import cost_json, cost_text, usage_json
from runtime.cli.sessions import tell_hidden
from runtime.cli.streams import result_csv, result_json, say
from runtime.cli.table import Column, show
from runtime.cli.when import When, stamp, zone
from runtime.errors import BadInput
from runtime.facts import Partition
from runtime.record import LedgerFilter, LedgerRow, Record, SpendLine
from runtime.usage import Usage, decimal_text

GROUPS = ("user", "flow", "model", "purpose", "day", "session", "run", "node")
NUMBERS = (
    "calls",
    "input",
    "cached",
    "cache_write",
    "output",
    "reasoning",
    "cost",
    "unknown_cost",
    "estimated",
)
NUMBER_TITLES = ("calls", "input", "cached", "output", "cost")
ROW_HEADER = (
    "id", "at", "kind", "status", "user", "flow_id", "session_uid", "run_id", "node", "step", "call_id",
    "attempt", "purpose", "model", "provider", "request_id", "input", "cached", "cache_write", "output",
    "reasoning", "cost", "cost_source", "estimated", "amount", "actor", "reason",
)  # fmt: skip


class Spent(NamedTuple):
    """What was asked for: sums or rows, and how many rehearsal calls were left out."""

    lines: list[SpendLine]
    rows: list[LedgerRow]
    hidden: int
    flows: dict[str, str]
    wrong: str | None = None


@click.command(
    epilog=options.examples(
        "farthing spend",
        "farthing spend --by user,model --since 7d",
        "farthing spend --by day --flow support --csv",
        "farthing spend --rows --session monday --json",
    )
)
@click.option(
    "--by",
    default="flow,model",
    show_default=True,
    metavar="FIELDS",
    help=f"What to sum by, with commas: {', '.join(GROUPS)}.",
)
@options.user
@options.flow
@click.option(
    "--session", callback=options.filled, metavar="NAME", help="Only this session's: its name or id."
)
@click.option("--run", "run_id", callback=options.filled, metavar="ID", help="Only this run's.")
@click.option("--model", callback=options.filled, metavar="NAME", help="Only this model's.")
@click.option(
    "--purpose", callback=options.filled, metavar="NAME", help="Only calls made for this: main, summary, …"
)
@click.option("--since", type=When(), metavar="TIME", help="From this time on: 2026-03-01, today, 7d.")
@click.option("--until", type=When(), metavar="TIME", help="Before this time.")
@click.option("--rows", is_flag=True, help="Each row of the ledger instead of sums.")
@options.rehearsal
@options.as_json
@options.as_csv
@options.database
def command(
    by: str,
    user_id: str | None,
    flow: str | None,
    session: str | None,
    run_id: str | None,
    model: str | None,
    purpose: str | None,
    since: datetime | None,
    until: datetime | None,
    rows: bool,
    partition: Partition,
    as_json: bool,
    as_csv: bool,
    db: Path | None,
) -> None:
    """Sum up recorded usage from the ledger that the budgets are decided on.

    A cost that nobody knows is shown as unknown, and a sum that misses such calls as "at least".
    """
    groups = parse_groups(by)
    if rows:
        options.refuse_unused("with --rows", "by")
    if since is not None and until is not None and until <= since:
        raise BadInput("--until is not after --since.", remedy="Give --until a later time.")

    async def work(record: Record) -> Spent:
        uid = None
        if session is not None:
            uid = (await find_session(record, session, partition=partition, user_id=user_id, flow=flow)).uid
        flow_id = await flow_id_of(record, flow, partition) if flow is not None else None
        which = LedgerFilter(
            partition, user_id, flow_id, uid, run_id, model, purpose, since=since, until=until
        )
        if run_id is not None and not await record.spend(which, ["run"]):
            await session_of_run(record, run_id)  # there may be none of that id
        hidden = 0
        if partition == "real":
            rehearsed = msgspec.structs.replace(which, partition="rehearsal")
            hidden = sum(line.calls for line in await record.spend(rehearsed, ["model"]))
        if rows:
            found = await record.ledger(which)
            return Spent([], found, hidden, {}, None if found else await unknown_user(record, user_id))
        lines = await record.spend(which, groups)
        wrong = None if lines else await unknown_user(record, user_id)
        return Spent(lines, [], hidden, await flow_names(record, lines, groups, partition), wrong)

    spent = with_record(db, work)
    if rows:
        _print_rows(spent, as_json=as_json, as_csv=as_csv)
    else:
        _print_sums(spent, groups, as_json=as_json, as_csv=as_csv)
    tell_hidden(spent.hidden, partition, "call")


def parse_groups(text: str) -> tuple[str, ...]:
    """The fields to sum by. Raises BadInput for one that is not there."""
    groups = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [group for group in groups if group not in GROUPS]
    if unknown or not groups:
        wrong = unknown[0] if unknown else text
        raise BadInput(f"Spend cannot be summed by {wrong!r}.", remedy=f"Choose among {', '.join(GROUPS)}.")
    return groups


def total(lines: Sequence[SpendLine]) -> SpendLine:
    """All lines in one."""
    usage = Usage()
    for line in lines:
        usage += line.usage
    return SpendLine(
        (),
        sum(line.calls for line in lines),
        usage,
        sum(line.cost for line in lines),
        sum(line.unknown for line in lines),
        sum(line.estimated for line in lines),
    )


def _line_json(line: SpendLine, groups: Sequence[str]) -> dict[str, Any]:
    return {
        **dict(zip(groups, line.group, strict=False)),
        "calls": line.calls,
        "usage": usage_json(line.usage),
        "cost": cost_json(line.cost, line.unknown),
        "unknown_cost": line.unknown,
        "estimated": line.estimated,
    }


def _print_sums(spent: Spent, groups: Sequence[str], *, as_json: bool, as_csv: bool) -> None:
    lines, whole = spent.lines, total(spent.lines)
    if as_json:
        result_json(
            {
                "format": "farthing.spend/1",
                "by": groups,
                "lines": [_line_json(line, groups) for line in lines],
                "total": _line_json(whole, ()),
            }
        )
    elif as_csv:
        result_csv((*groups, *NUMBERS), (_line_csv(line) for line in lines))
    elif lines:
        _table(spent, groups, whole)
    else:
        say(visible(f"Nothing was spent. {spent.wrong or ''}".rstrip()))


def _line_csv(line: SpendLine) -> tuple[object, ...]:
    u = line.usage
    return (
        *line.group, line.calls, u.input, u.cached, u.cache_write, u.output, u.reasoning,
        cost_json(line.cost, line.unknown), line.unknown, line.estimated,
    )  # fmt: skip


def _table(spent: Spent, groups: Sequence[str], whole: SpendLine) -> None:
    columns = [Column(group, flexible=True) for group in groups]
    columns += [Column(title, right=True, spare=title == "cached") for title in NUMBER_TITLES]

    def numbers(line: SpendLine) -> tuple[str, ...]:
        mark = "~" if line.estimated else ""
        return (
            f"{line.calls:,}",
            f"{mark}{line.usage.input:,}",
            f"{line.usage.cached:,}",
            f"{mark}{line.usage.output:,}",
            cost_text(line.cost, line.unknown),
        )

    cells = [
        (*("(none)" if g is None else spent.flows.get(g, g) for g in line.group), *numbers(line))
        for line in spent.lines
    ]
    show(columns, cells, total=("total", *[""] * (len(groups) - 1), *numbers(whole)))
    if whole.estimated:
        say(f"~ contains {counted(whole.estimated, 'call')} counted by our own estimate.", "dim")


def _row(row: LedgerRow) -> tuple[object, ...]:
    u = row.usage
    return (
        row.id, row.at.isoformat(), row.kind, row.status, row.user_id, row.flow_id, row.session_uid,
        row.run_id, row.node_id, row.step, row.call_id, row.attempt, row.purpose, row.model, row.provider,
        row.request_id, u.input, u.cached, u.cache_write, u.output, u.reasoning, decimal_text(row.cost),
        row.cost_source, row.estimated, row.amount, row.actor, row.reason,
    )  # fmt: skip


def _print_rows(spent: Spent, *, as_json: bool, as_csv: bool) -> None:
    rows = spent.rows
    if as_json:
        result_json(
            [
                {**dict(zip(ROW_HEADER, _row(row), strict=True)), "price": row.price, "pots": row.pots}
                for row in rows
            ]
        )
    elif as_csv:
        result_csv((*ROW_HEADER, "pots"), ((*_row(row), " ".join(row.pots)) for row in rows))
    elif rows:
        _rows_table(rows)
    else:
        say(visible(f"No rows. {spent.wrong or ''}".rstrip()))


def _rows_table(rows: list[LedgerRow]) -> None:
    columns = (
        Column("row", right=True),
        Column(f"at ({zone()})", spare=True),
        Column("kind"),
        Column("node", flexible=True),
        Column("purpose", spare=True),
        Column("model", flexible=True),
        Column("in", right=True),
        Column("out", right=True),
        Column("cost", right=True),
    )
    show(columns, [_row_cells(row) for row in rows])


def _row_cells(row: LedgerRow) -> tuple[str, ...]:
    used = row.kind in {"settle", "correct"}
    mark = "~" if row.estimated else ""
    kind = row.status if row.status == "orphaned" else row.kind
    note = f"{row.actor}: {row.reason}" if row.actor else row.model
    return (
        str(row.id),
        stamp(row.at),
        kind or "",
        row.node_id or "",
        row.purpose or "",
        note or "",
        f"{mark}{row.usage.input:,}" if used else "",
        f"{mark}{row.usage.output:,}" if used else "",
        cost_text(row.cost, 0) if used else "",
    )
