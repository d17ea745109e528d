"""Budgets: every counter with its limit, and raising one, which is a row in the ledger with who and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.cli.budget_changes import MAX_REASON_CHARS
from runtime.errors import BadInput, NotFound
from runtime.events import BudgetChanged
from runtime.facts import Partition
from runtime.ledger import (
    EVERYONE,
    Counter,
    CounterKey,
    Metric,
    Period,
    Rule,
    Subject,
    counter_key,
    limit_of,
    period_end,
    start_text,
)
from runtime.record import LimitChange
from runtime.secrets.redact import Redactor
from runtime.usage import parse_money
from studio.api.route import Call, Endpoint
from studio.api.shapes import amount_out, partition_of

MOST_BUDGETS = 2_000
MOST_TOKENS = 10**15
OF_ONE = frozenset({"run", "session"})


class CounterKeyIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names one counter: what is counted together, of whom (`*`: everybody), from which start of its period
    on (ISO time, empty where the period has none)."""

    pot: str
    metric: Metric
    period: Period
    owner: str
    start: str


class BudgetOut(msgspec.Struct, frozen=True, kw_only=True):
    """A counter as it stands. Amounts are tokens or decimal strings of dollars. `limit` null: no limit is
    known any more. `flow`: what the flow whose budget it is is called, null where it is of none. `session`:
    what the session is called where it is of one session, or of a run in it; null of all others. `unknown`
    counts calls without a known cost: `used` is at least. `own_limit`: the limit where nobody raised it,
    null where it is not known. `current`: its period is the present one."""

    key: CounterKeyIn
    name: str
    flow: str | None
    session: str | None
    used: int | str
    held: int | str
    unknown: int
    limit: int | str | None
    own_limit: int | str | None
    threshold_pct: float | None
    resets_at: datetime | None
    current: bool
    raised: bool
    field: str | None


class BudgetsOut(msgspec.Struct, frozen=True):
    """Counters, the present periods first; `left_out` counts those beyond the most that are sent."""

    budgets: list[BudgetOut]
    left_out: int


class BudgetsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whose; only an operator sees others'."""

    user: str | None = None
    rehearsal: bool = False


class RaiseIn(msgspec.Struct, frozen=True, kw_only=True):
    """A new limit: dollars as a decimal string, or tokens. `for_good`: for later periods too."""

    key: CounterKeyIn
    amount: str | int
    reason: str
    for_good: bool = False
    rehearsal: bool = False


async def budgets(call: Call) -> BudgetsOut:
    """List every counter with its limit, and the user's own limits that counted nothing yet."""
    query, now = call.query, call.studio.services.clock.now()
    partition, user = partition_of(query.rehearsal), call.who.scope(query.user)
    lines = await call.studio.record.all_counters(partition, user)
    rules = await call.studio.limits.known([line.key for line in lines], partition)
    found = {line.key: line.counter for line in lines}
    subject = Subject(partition, user or call.who.user, "", "")
    fresh = [
        key
        for rule in rules.values()
        if rule.period not in OF_ONE and (key := counter_key(rule, subject, now)) not in found
    ]
    found |= dict(zip(fresh, await call.studio.record.counters(fresh), strict=True))
    names = await _names(call, list(found), partition)
    shown = [
        budget_out(key, counter, rules.get((key.pot, key.metric, key.period)), now, names)
        for key, counter in found.items()
    ]
    shown.sort(key=lambda budget: not budget.current)
    return BudgetsOut(shown[:MOST_BUDGETS], max(0, len(shown) - MOST_BUDGETS))


class Names(NamedTuple):
    """What people call flows, by pot, and sessions, by the owner of a counter."""

    flows: Mapping[str, str]
    sessions: Mapping[str, str]


async def _names(call: Call, keys: list[CounterKey], partition: Partition) -> Names:
    owners = [key.owner for key in keys if key.period in OF_ONE]
    flows = await call.studio.limits.flow_names(keys, partition)
    return Names(flows, await call.studio.record.session_names(owners))


def budget_out(
    key: CounterKey, counter: Counter, rule: Rule | None, now: datetime, names: Names
) -> BudgetOut:
    """A counter as the API writes it."""
    current = key.start == start_text(key.period, now.date())
    limit = counter.limit if rule is None else limit_of(rule, counter)
    threshold = None if rule is None or rule.threshold_pct is None else float(rule.threshold_pct)
    return BudgetOut(
        key=CounterKeyIn(key.pot, key.metric, key.period, key.owner, key.start),
        name=key.pot.rpartition("/")[2] if rule is None else rule.name,
        flow=names.flows.get(key.pot),
        session=names.sessions.get(key.owner) if key.period in OF_ONE else None,
        used=amount_out(key.metric, counter.used) or 0,
        held=amount_out(key.metric, counter.held) or 0,
        unknown=counter.unknown if key.metric == "spend" else 0,
        limit=amount_out(key.metric, limit),
        own_limit=amount_out(key.metric, None if rule is None else rule.limit),
        threshold_pct=threshold,
        resets_at=period_end(key.period, now) if current else None,
        current=current,
        raised=counter.limit is not None,
        field=None if rule is None else rule.field,
    )


async def raise_limit(call: Call) -> BudgetOut:
    """Give a counter another limit, from the next step on in every process. It may also lower it."""
    body: RaiseIn = call.body
    if not body.reason.strip() or len(body.reason) > MAX_REASON_CHARS:
        raise BadInput(
            f"A raise needs a reason of at most {MAX_REASON_CHARS} characters.", remedy="Say in `reason` why."
        )
    record, now, partition = (
        call.studio.record,
        call.studio.services.clock.now(),
        partition_of(body.rehearsal),
    )
    given = body.key
    key = CounterKey(partition, given.pot, given.metric, given.period, given.owner, given.start)
    rule = (await call.studio.limits.known([key], partition)).get((key.pot, key.metric, key.period))
    await _require_known(call, key, rule)
    amount = _amount(key, body.amount)
    (before,) = await record.counters([key])
    name = key.pot.rpartition("/")[2] if rule is None else rule.name
    change = LimitChange(
        action="raise",
        key=key,
        budget=name,
        amount=amount,
        for_good=body.for_good,
        actor=call.who.user,
        reason=Redactor(call.studio.settings.secrets_values()).text(body.reason.strip()),
        at=now,
    )
    event = BudgetChanged(
        at=now,
        action="raise",
        budget=name,
        metric=key.metric,
        period=key.period,
        owner=key.owner,
        actor=call.who.user,
        reason=change.reason,
        amount=amount,
        previous=before.limit if rule is None else limit_of(rule, before),
        for_good=body.for_good,
    )
    await record.change_limit(change, [event])
    (after,) = await record.counters([key])
    return budget_out(key, after, rule, now, await _names(call, [key], partition))


async def _require_known(call: Call, key: CounterKey, rule: Rule | None) -> None:
    """A counter that is there, or one that a known limit would open now. Raises NotFound."""
    lines = await call.studio.record.all_counters(key.partition)  # type: ignore[arg-type]  # one of the two
    if any(line.key == key for line in lines):
        return
    today = start_text(key.period, call.studio.services.clock.now().date())
    fits = rule is not None and key.start == today and (key.owner == EVERYONE) == rule.everyone
    if key.period == "run":
        fits = fits and await call.studio.record.run(key.owner) is not None
    elif key.period == "session":
        fits = fits and await call.studio.record.session(key.owner) is not None
    if not fits or not key.owner:
        raise NotFound("There is no such budget.", remedy="GET /budgets lists them with their keys.")


def _amount(key: CounterKey, amount: str | int) -> int:
    """Nano-dollars or tokens. Raises BadConfig or BadInput."""
    if key.metric == "spend":
        return parse_money(amount, field="amount")
    text = str(amount).strip()
    if not (text.isascii() and text.isdigit()) or int(text) > MOST_TOKENS:
        raise BadInput("`amount` of a token budget is a whole number of tokens.", remedy="Write it as 50000.")
    return int(text)


ENDPOINTS = (
    Endpoint("GET", "/budgets", "viewer", budgets, query=BudgetsQuery, gives=BudgetsOut, tag="budgets"),
    Endpoint("POST", "/budgets/raise", "operator", raise_limit, body=RaiseIn, gives=BudgetOut, tag="budgets"),
)
