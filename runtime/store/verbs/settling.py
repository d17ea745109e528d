"""What settling a call does to ledger and counters, whoever asks for it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from runtime.events import BudgetSettled, Event, Gauge
from runtime.ledger import CounterKey, period_end
from runtime.record import CallClose, LedgerRow
from runtime.store.rows import CallRow, Charge, CounterRow, Rows, RunRow
from runtime.usage import Usage


def call_row(run: RunRow, call: CallRow, kind: str, status: str, at: datetime, **more: Any) -> LedgerRow:
    """A ledger row of a call."""
    return LedgerRow(
        id=0,
        at=at,
        kind=kind,
        partition=run.partition,
        user_id=run.user_id,
        session_uid=run.session_uid,
        run_id=run.run_id,
        flow_id=run.flow_id,
        node_id=call.node_id,
        step=call.step,
        call_id=call.id,
        attempt=call.attempt,
        purpose=call.purpose,
        model=call.model,
        provider=call.provider,
        status=status,
        pots=call.pots,
        reserved_at=call.reserved_at,
        **more,
    )


def settle(rows: Rows, run: RunRow, call: CallRow, close: CallClose) -> None:
    """Record usage, count it, let the hold go."""
    what = Charge(close.usage.tokens, close.cost or 0, int(close.cost is None))
    rows.free(call.id, what if close.keep_hold else None)
    if call.kind == "model" or what != Charge(0, 0, 0):
        row = call_row(
            run,
            call,
            "settle",
            "settled",
            close.at,
            usage=close.usage,
            cost=close.cost,
            cost_source=close.cost_source,
            price=close.price,
            estimated=close.estimated,
            request_id=close.request_id,
        )
        rows.charge(rows.add_ledger(row), run, call.pots, call.reserved_at, what)
    rows.end_call(call.id, close.state, close.result if close.state == "done" else None)
    rows.stir()


def settle_at_estimate(rows: Rows, run: RunRow, call: CallRow, at: datetime) -> list[Event]:
    """Charge a call that nobody will close at its estimate: the provider may well have been paid.

    A tool call has none: it is only marked.
    """
    rows.free(call.id, None)
    rows.end_call(call.id, "orphaned", None)
    rows.stir()
    if call.kind != "model":
        return []
    tokens, cost = call.estimate
    what = Charge(tokens, cost or 0, int(cost is None))
    row = call_row(
        run,
        call,
        "settle",
        "orphaned",
        at,
        usage=Usage(input=tokens),
        cost=cost,
        cost_source="estimate",
        estimated=True,
        reason="nobody closed the call; charged at its estimate",
    )
    rows.charge(rows.add_ledger(row), run, call.pots, call.reserved_at, what)
    return [settled_event(rows, run, call, at, what, cost, "orphaned", estimated=True)]


def correct(rows: Rows, run: RunRow, call: CallRow, close: CallClose) -> list[Event]:
    """Record the real figure of a call that was charged at its estimate: a row of the difference.

    Totals never fall: where less was used than was charged the row adds nothing and says so.
    """
    charged = call.estimate if call.state == "orphaned" and call.kind == "model" else (0, 0)
    less = close.usage.tokens < charged[0] or (close.cost or 0) < (charged[1] or 0)
    tokens = max(0, close.usage.tokens - charged[0])
    cost = max(0, (close.cost or 0) - (charged[1] or 0))
    output = min(close.usage.output, tokens)
    row = call_row(
        run,
        call,
        "correct",
        "corrected",
        close.at,
        usage=Usage(input=tokens - output, output=output),
        cost=cost,
        cost_source=close.cost_source,
        price=close.price,
        estimated=close.estimated,
        request_id=close.request_id,
        reason=f"reported late: {close.usage.tokens} tokens"
        + ("; less than was charged, and totals never fall" if less else ""),
    )
    what = Charge(tokens, cost, 0)
    rows.charge(rows.add_ledger(row), run, call.pots, call.reserved_at, what)
    rows.end_call(call.id, close.state, close.result if close.state == "done" else None)
    return [settled_event(rows, run, call, close.at, what, cost, "corrected", estimated=close.estimated)]


def settled_event(
    rows: Rows,
    run: RunRow,
    call: CallRow,
    at: datetime,
    what: Charge,
    cost: int | None,
    status: Literal["orphaned", "corrected"],
    *,
    estimated: bool,
) -> BudgetSettled:
    gauges = tuple(_gauge(row, at) for row in rows.counters_by_id(tuple(dict.fromkeys(call.counters))))
    return BudgetSettled(
        at=at,
        run_id=run.run_id,
        node_id=call.node_id,
        step=call.step,
        call=call.key,
        tokens=what.tokens,
        cost=cost,
        status=status,
        estimated=estimated,
        gauges=gauges,
    )


def _gauge(row: CounterRow, at: datetime) -> Gauge:
    """How a counter stands, where its rule is not at hand: only a raised limit is known."""
    key: CounterKey = row.key
    return Gauge(
        budget=key.pot.removeprefix("shared:").rpartition("/")[2],
        pot=key.pot,
        metric=key.metric,
        period=key.period,
        used=row.counter.used,
        held=row.counter.held,
        limit=row.counter.limit,
        unknown=row.counter.unknown if key.metric == "spend" else 0,
        resets_at=period_end(key.period, at),
    )
