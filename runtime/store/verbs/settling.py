"""What settling a call does to ledger and counters, whoever asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from runtime.events import BudgetSettled, Event
from runtime.ledger import CounterKey, gauge
from runtime.record import CallClose, LedgerRow
from runtime.store.rows import CallRow, CounterRow, Delta, Rows, RunRow
from runtime.usage import Usage


class Charge(NamedTuple):
    """What a settled call counts: tokens, nano-dollars, and 1 where the cost is unknown."""

    tokens: int
    cost: int
    unknown: int


def counters(rows: Rows, keys: Sequence[CounterKey]) -> list[CounterRow]:
    """The counters of these keys. A new one holds what the calls of its pot that are in flight may use: they
    were admitted before there was anybody to ask, and will count in it."""
    return rows.counters(keys, lambda row: _take_over(rows, row))


def _take_over(rows: Rows, row: CounterRow) -> None:
    held = 0
    for call in rows.in_flight(row.key):
        amount = call.may_use(row.key.metric)
        if amount:
            rows.put_holds(call.id, {**call.holds, row.id: amount})
            held += amount
    if held:
        rows.adjust({row.id: Delta(held=held)})


def call_row(run: RunRow, call: CallRow, kind: str, status: str, at: datetime, **more: Any) -> LedgerRow:
    """A ledger row of a call."""
    return LedgerRow(
        id=0,
        at=at,
        kind=kind,
        partition=run.partition,
        user_id=run.user_id,
        session_uid=run.charged_uid,
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
    """Record usage, count it, let the hold go; with `keep_hold` only of so much as was used."""
    what = Charge(close.usage.tokens, close.cost or 0, int(close.cost is None))
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
        kept = count(rows, run, call, row, what, keep=close.keep_hold)
    else:
        let_go(rows, call)
        kept = None
    rows.end_call(call.id, close.state, close.result if close.state == "done" else None, kept)
    rows.stir()


def count(
    rows: Rows, run: RunRow, call: CallRow, row: LedgerRow, what: Charge, *, keep: bool = False
) -> Mapping[int, int] | None:
    """Write a settled row, count it in its pots and free the call's hold; gives what is still held."""
    rows.add_charge(rows.add_ledger(row), run, call.pots, call.reserved_at)
    changes: dict[int, Delta] = {}
    kept: dict[int, int] = {}
    for counter in rows.charged(run, call.pots, call.reserved_at):
        spend = counter.key.metric == "spend"
        used = what.cost if spend else what.tokens
        held = call.holds.get(counter.id, 0)
        freed = min(held, used) if keep else held
        if held:
            kept[counter.id] = held - freed
        changes[counter.id] = Delta(used, -freed, what.unknown if spend else 0)
    rows.adjust(changes)
    return kept if keep else None


def let_go(rows: Rows, call: CallRow) -> None:
    """Free what a call holds without counting anything."""
    rows.adjust({counter: Delta(held=-amount) for counter, amount in call.holds.items()})


def settle_at_estimate(rows: Rows, run: RunRow, call: CallRow, at: datetime) -> list[Event]:
    """Charge a call that nobody will close at its estimate: the provider may well have been paid.

    A tool call has none: it is only marked.
    """
    rows.end_call(call.id, "orphaned", None, None)
    rows.stir()
    if call.kind != "model":
        let_go(rows, call)
        return []
    usage, cost = _most(call), call.estimate.cost
    what = Charge(usage.tokens, cost or 0, int(cost is None))
    row = call_row(
        run,
        call,
        "settle",
        "orphaned",
        at,
        usage=usage,
        cost=cost,
        cost_source="estimate",
        estimated=True,
        reason="nobody closed the call; charged at its estimate",
    )
    count(rows, run, call, row, what)
    return [settled_event(rows, run, call, at, what, cost, "orphaned", estimated=True)]


def _most(call: CallRow) -> Usage:
    """The tokens of a call's estimate: what was sent by our count, and the rest as its answer."""
    tokens = call.estimate.tokens
    sent = min(call.terms.input, tokens)
    return Usage(input=sent, output=tokens - sent)


def correct(rows: Rows, run: RunRow, call: CallRow, close: CallClose) -> list[Event]:
    """Record the real figure of a call that was charged at its estimate: a row of the difference.

    Totals never fall: where less was used than was charged the row adds nothing and says so.
    """
    orphan = call.state == "orphaned" and call.kind == "model"
    charged, charged_cost = (_most(call), call.estimate.cost or 0) if orphan else (Usage(), 0)
    less = close.usage.tokens < charged.tokens or (close.cost or 0) < charged_cost
    tokens = max(0, close.usage.tokens - charged.tokens)
    cost = max(0, (close.cost or 0) - charged_cost)
    output = min(max(0, close.usage.output - charged.output), tokens)
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
    count(rows, run, call, row, what)
    rows.end_call(call.id, close.state, close.result if close.state == "done" else None, None)
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
    stand = rows.counters_by_id(call.counters) if call.terms.rules else ()
    gauges = tuple(gauge(rule, row.counter, at) for rule, row in zip(call.terms.rules, stand, strict=True))
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
