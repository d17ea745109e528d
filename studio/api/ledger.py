"""The ledger: its rows, and sums of them by user, flow, model and the like."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from runtime.cli.flow_names import flow_names, name_flows
from runtime.cli.spend import parse_groups, total
from runtime.errors import BadInput
from runtime.record import LedgerFilter, LedgerRow, SpendLine
from runtime.usage import decimal_text
from studio.api.route import Call, Endpoint
from studio.api.shapes import UsageOut, amount_out, cost_out, partition_of, usage_out

MOST_ROWS = 1_000
KINDS = ("hold", "settle", "release", "correct", "raise", "reset")
LAST_ID = 2**62
"""Beyond every id of a row."""


class RowOut(msgspec.Struct, frozen=True, kw_only=True):
    """A row, never edited. Costs are decimal strings, null where unknown. `amount`: a hold's estimate in
    tokens, a raise's new limit or what a reset took away, in the unit of its metric."""

    id: int
    at: datetime
    kind: str
    status: str | None
    partition: str
    user_id: str | None
    session_uid: str | None
    run_id: str | None
    flow_id: str | None
    node_id: str | None
    step: int | None
    call_id: int | None
    attempt: int
    purpose: str | None
    model: str | None
    provider: str | None
    request_id: str | None
    usage: UsageOut
    cost: str | None
    cost_source: str | None
    price: dict[str, Any] | None
    estimated: bool
    pots: list[str]
    amount: int | str | None
    actor: str | None
    reason: str | None
    reserved_at: datetime | None
    metric: str | None
    period: str | None
    owner: str | None
    start: str | None
    for_good: bool


class LedgerOut(msgspec.Struct, frozen=True):
    """Rows by id. `next` is the `after` of the next page, or its `before` where the newest come first; null
    at the end. `flows` says what flows are called, by id."""

    rows: list[RowOut]
    next: int | None
    flows: dict[str, str]


class LineOut(msgspec.Struct, frozen=True):
    """A sum over settled calls. `group` has a value for each field summed by; `unknown` counts calls
    without a known cost, so that `cost` is at least; `estimated` counts those counted by ourselves."""

    group: dict[str, str | None]
    calls: int
    usage: UsageOut
    cost: str | None
    unknown: int
    estimated: int


class SpendOut(msgspec.Struct, frozen=True):
    """Sums, dearest first, and all of them together; `flows` says what flows are called, by id."""

    lines: list[LineOut]
    totals: LineOut
    flows: dict[str, str]


class LedgerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows; all that are given must match. since <= at < until. `kinds`: of hold, settle, release,
    correct, raise and reset, with commas. `order` newest goes back from `before`, so that rows which come
    meanwhile change no page."""

    user: str | None = None
    flow: str | None = None
    session: str | None = None
    run: str | None = None
    model: str | None = None
    purpose: str | None = None
    pot: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    kinds: str = ""
    after: int = 0
    order: Literal["oldest", "newest"] = "oldest"
    before: int | None = None
    limit: int = 200
    rehearsal: bool = False


class SpendQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to sum by (user, flow, model, purpose, day, session, run, node), and which rows."""

    by: str = "flow,model"
    user: str | None = None
    flow: str | None = None
    session: str | None = None
    run: str | None = None
    model: str | None = None
    purpose: str | None = None
    pot: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    rehearsal: bool = False


def _which(call: Call) -> LedgerFilter:
    query = call.query
    return LedgerFilter(
        partition=partition_of(query.rehearsal),
        user_id=call.who.scope(query.user),
        flow_id=query.flow,
        session_uid=query.session,
        run_id=query.run,
        model=query.model,
        purpose=query.purpose,
        pot=query.pot,
        since=query.since,
        until=query.until,
    )


async def ledger(call: Call) -> LedgerOut:
    """List rows of the ledger."""
    query: LedgerQuery = call.query
    newest = query.order == "newest"
    if query.limit < 1 or not 0 <= query.after < LAST_ID or not 0 <= (query.before or 0) < LAST_ID:
        raise BadInput(
            "`limit` is at least 1, and `after` and `before` are ids of rows.",
            remedy="Give ids that an answer gave.",
        )
    if query.before is not None and not newest:
        raise BadInput("`before` goes with `order=newest`.", remedy="Page through the oldest by `after`.")
    limit = min(query.limit, MOST_ROWS)
    before = (LAST_ID if query.before is None else query.before) if newest else None
    kinds = tuple(part.strip() for part in query.kinds.split(",") if part.strip())
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise BadInput(f"There are no rows of kind {wrong[0]!r}.", remedy=f"Kinds: {', '.join(KINDS)}.")
    which = msgspec.structs.replace(_which(call), kinds=kinds)
    rows = await call.studio.record.ledger(which, after=query.after, before=before, limit=limit)
    flows = {flow for row in rows if (flow := row.flow_id)}
    names = await name_flows(call.studio.record, sorted(flows), which.partition)
    return LedgerOut([row_out(row) for row in rows], rows[-1].id if len(rows) == limit else None, names)


def row_out(row: LedgerRow) -> RowOut:
    """A row as the API writes it."""
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    fields |= {
        "usage": usage_out(row.usage),
        "cost": decimal_text(row.cost),
        "pots": list(row.pots),
        "amount": amount_out(row.metric or "tokens", row.amount),
    }
    return RowOut(**fields)


async def spend(call: Call) -> SpendOut:
    """Sum up what was used, from the rows that the budgets are decided on."""
    groups = parse_groups(call.query.by)
    which = _which(call)
    lines = await call.studio.record.spend(which, groups)
    names = await flow_names(call.studio.record, lines, groups, which.partition)
    return SpendOut([_line(line, groups) for line in lines], _line(total(lines), ()), names)


def _line(line: SpendLine, groups: tuple[str, ...]) -> LineOut:
    return LineOut(
        dict(zip(groups, line.group, strict=False)),
        line.calls,
        usage_out(line.usage),
        cost_out(line.cost, line.unknown),
        line.unknown,
        line.estimated,
    )


ENDPOINTS = (
    Endpoint("GET", "/ledger", "viewer", ledger, query=LedgerQuery, gives=LedgerOut, tag="ledger"),
    Endpoint("GET", "/spend", "viewer", spend, query=SpendQuery, gives=SpendOut, tag="ledger"),
)
