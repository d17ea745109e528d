"""The bill of one model call: what was sent, part by part, with tokens and money, and what was left out."""

from __future__ import annotations

import msgspec

from runtime.cli.context_bill import Bill, Part, Sent, bill, calls_of, row_of
from runtime.cli.events_chosen import stored_of
from runtime.errors import NotFound
from runtime.events import ContextItem, GaveWay, decode
from runtime.record import LedgerFilter, SessionLine
from runtime.usage import decimal_text
from studio.api.route import Call, Endpoint
from studio.api.sessions import event_of, session_of
from studio.api.shapes import UsageOut, partition_of, usage_out

TYPES = frozenset({"context.assembled", "model.called", "agent.usage"})
MOST_ITEMS = 500
"""Items of one part that are sent."""


class BillQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which call: the number of its `model.called` event. Null: the session's last call."""

    seq: int | None = None


class BillItemOut(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a context, or one that was left out: `why` says why."""

    ref: str
    tokens: int
    score: float | None
    source: str | None
    why: str | None


class BillPartOut(msgspec.Struct, frozen=True, kw_only=True):
    """A part in the order sent: `tokens` by our count, `share` of the whole input and `cached` of this part
    from 0 to 1, `cost` in dollars, null where nobody knows it. Of the history it has `messages` from number
    `first` on, counted from 0. `more` counts items beyond those that are sent."""

    name: str
    tokens: int
    share: float
    cached: float
    cost: str | None
    items: list[BillItemOut]
    more: int
    first: int | None
    messages: int | None


class GaveWayOut(msgspec.Struct, frozen=True, kw_only=True):
    """What one stage took away so that the context fits: how many items, and the tokens of all that is sent
    before and after it."""

    stage: int
    name: str
    items: int
    before: int
    after: int


class BillOut(msgspec.Struct, frozen=True, kw_only=True):
    """The bill. `tokens` is our count of what was sent, `usage` what the provider counted (null: not ended).
    Of `window` tokens `output_buffer` are kept for the answer; both null where they are not known.
    `gave_way`: the stages that it took to fit into the window. `priced`: unit prices are known, else the
    call's cost is shared by tokens. `complete` false: the timeline has no bill of this call."""

    seq: int
    run_id: str | None
    node_id: str | None
    step: int | None
    call: str
    purpose: str
    model: str
    attempt: int
    complete: bool
    window: int | None
    output_buffer: int | None
    tokens: int
    parts: list[BillPartOut]
    gave_way: list[GaveWayOut]
    left_out: list[BillItemOut]
    left_out_count: int
    usage: UsageOut | None
    estimated: bool
    cost: str | None
    answer_tokens: int
    answer_cost: str | None
    priced: bool


async def step_bill(call: Call) -> BillOut:
    """What a model was sent at one call: each part with tokens, score and cost, and what was left out."""
    line = await session_of(call, call.path["uid"])
    sent = await _sent(call, line, call.query.seq)
    partition, called = partition_of(line.partition == "rehearsal"), sent.called
    which = LedgerFilter(partition, run_id=called.run_id, purpose=called.purpose)
    rows = await call.studio.record.ledger(which)
    row = row_of(sent, rows)
    return _out(sent, bill(sent, row.price if row else None))


async def _sent(call: Call, line: SessionLine, seq: int | None) -> Sent:
    """The call. Raises NotFound."""
    run_id = None
    if seq is not None:
        event = await event_of(call, line, seq)
        if event.type != "model.called":
            raise NotFound(f"No model is called by event {seq}.", remedy="Give the seq of a `model.called`.")
        run_id = event.run_id
    raws = await call.studio.record.events_json(line.uid, run_id=run_id)
    known = ((stored.seq, raw) for raw in raws if (stored := stored_of(raw)).type in TYPES)
    calls = calls_of((number, decode(raw)) for number, raw in known)
    found = [sent for sent in calls if seq in (None, sent.seq)]
    if not found:
        raise NotFound(
            "No model was called in this session.", remedy="Look at a session with a run that called one."
        )
    return found[-1]


def _out(sent: Sent, made: Bill) -> BillOut:
    called, context, used = sent.called, sent.context, sent.used
    return BillOut(
        seq=sent.seq,
        run_id=called.run_id,
        node_id=called.node_id,
        step=called.step,
        call=called.call,
        purpose=called.purpose,
        model=called.model,
        attempt=called.attempt,
        complete=context is not None,
        window=context.window if context else None,
        output_buffer=context.output_buffer if context else None,
        tokens=context.tokens if context else 0,
        parts=[_part(part) for part in made.parts],
        gave_way=[_stage(each) for each in context.gave_way] if context else [],
        left_out=[_item(item) for item in context.left_out] if context else [],
        left_out_count=max(context.left_out_count, len(context.left_out)) if context else 0,
        usage=usage_out(used.usage) if used else None,
        estimated=used.estimated if used else False,
        cost=_money(used.cost) if used else None,
        answer_tokens=made.answer_tokens,
        answer_cost=_money(made.answer_cost),
        priced=made.by_price,
    )


def _part(part: Part) -> BillPartOut:
    return BillPartOut(
        name=part.name,
        tokens=part.tokens,
        share=part.share,
        cached=part.cached,
        cost=_money(part.cost),
        items=[_item(item) for item in part.items[:MOST_ITEMS]],
        more=max(0, len(part.items) - MOST_ITEMS),
        first=part.first,
        messages=part.messages,
    )


def _item(item: ContextItem) -> BillItemOut:
    return BillItemOut(ref=item.ref, tokens=item.tokens, score=item.score, source=item.source, why=item.why)


def _stage(each: GaveWay) -> GaveWayOut:
    return GaveWayOut(
        stage=each.stage, name=each.name, items=each.items, before=each.before, after=each.after
    )


def _money(cost: int | None) -> str | None:
    return None if cost is None else decimal_text(cost)


ENDPOINTS = (
    Endpoint(
        "GET", "/sessions/{uid}/context", "viewer", step_bill, query=BillQuery, gives=BillOut, tag="steps"
    ),
)
