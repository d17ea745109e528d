"""What a call says on the timeline: built inside the store's transactions, so events and ledger agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.calls.account import Account, Asked, Spent
from runtime.clock import Clock
from runtime.errors import BudgetExceeded, BudgetStop, BudgetWaitTimeout, CostUnknown
from runtime.events import (
    AgentError,
    AgentResponse,
    AgentUsage,
    AgentWarning,
    BudgetReserved,
    BudgetSettled,
    BudgetWaiting,
    Event,
    Gauge,
    Hold,
    ModelCalled,
)
from runtime.ledger import (
    RECENT_CALLS,
    Admission,
    Admitted,
    Blocked,
    Counter,
    Estimate,
    Refused,
    Rule,
    amount_text,
    gauge,
    gauge_text,
)
from runtime.messages import Reply, Request
from runtime.record import CallHeld


class Opening:
    """Builds the events of an admission; called inside the store's transaction."""

    def __init__(
        self, account: Account, asked: Asked, attempt: int, key: str, clock: Clock, counted: Estimate
    ) -> None:
        self.account, self.asked, self.attempt, self.key, self.clock = account, asked, attempt, key, clock
        self.counted = counted

    def __call__(self, admission: Admission, counters: tuple[Counter, ...]) -> Sequence[Event]:
        now = self.clock.now()
        gauges = tuple(gauge(rule, c, now) for rule, c in zip(self.account.rules, counters, strict=True))
        where: dict[str, Any] = {
            "at": now, "run_id": self.account.run_id, "node_id": self.account.node_id, "step": self.asked.step
        }  # fmt: skip
        if isinstance(admission, Refused):
            error = self.stop(admission, counters)
            return [
                AgentError(
                    **where, code=error.code, message=error.message, remedy=error.remedy,
                    gauge=gauges[admission.rule],
                )
            ]  # fmt: skip
        if isinstance(admission, Blocked):
            return [BudgetWaiting(**where, call=self.key, gauges=tuple(gauges[i] for i in admission.rules))]
        return self._admitted(admission, gauges, where)

    def _admitted(self, admission: Admitted, gauges: tuple[Gauge, ...], where: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        if self.asked.warn and self.attempt == 1:
            events += [
                AgentWarning(
                    **where,
                    code="budget.threshold",
                    message=f"The budget {gauges[i].budget!r} is nearly used up: {gauge_text(gauges[i])}.",
                    remedy=f"Raise {gauges[i].field} if this work should go on.",
                    gauge=gauges[i],
                )
                for i in admission.warnings
            ]
            events += self._unpriced(admission, gauges, where)
        if self.account.rules:
            events.append(
                BudgetReserved(
                    **where,
                    call=self.key,
                    purpose=self.asked.purpose,
                    estimate_tokens=admission.estimate.tokens,
                    estimate_cost=admission.estimate.cost,
                    holds=tuple(self._hold(h.rule, h.amount) for h in admission.holds),
                )
            )
        request = self.asked.request
        events.append(
            ModelCalled(
                **where,
                call=self.key,
                purpose=self.asked.purpose,
                model=self.account.full_name,
                attempt=self.attempt,
                kept=self.asked.kept,
                messages=self.asked.news,
                digest=digest_of(request),
                tools=tuple(tool.name for tool in request.tools),
            )
        )
        return events

    def _unpriced(
        self, admission: Admitted, gauges: tuple[Gauge, ...], where: dict[str, Any]
    ) -> list[AgentWarning]:
        """That a limit in money holds nothing of this call, since its model has shown no cost."""
        if admission.estimate.cost is not None:
            return []
        rules = self.account.rules
        loose = [
            held.rule for held in admission.holds if rules[held.rule].metric == "spend" and not held.amount
        ]
        if not loose:
            return []
        shown = gauges[loose[0]]
        return [
            AgentWarning(
                **where,
                code="budget.cost_unknown",
                message=f"The budget {shown.budget!r} cannot limit {self.account.model}: it has no price and"
                f" reports no cost, so {gauge_text(shown)}.",
                remedy=f"Give it a price ([providers.{self.account.provider.name}.prices] in the settings),"
                " limit its tokens, or set `unknown_cost` to `block`.",
                gauge=shown,
            )
        ]

    def _hold(self, index: int, amount: int) -> Hold:
        rule = self.account.rules[index]
        return Hold(pot=rule.pot, metric=rule.metric, period=rule.period, amount=amount)

    def stop(self, refused: Refused, counters: Sequence[Counter]) -> BudgetStop:
        """The error of a refusal: which budget, the numbers, the reset, and what to change."""
        rule = self.account.rules[refused.rule]
        shown = gauge(rule, counters[refused.rule], self.clock.now())
        node_id, run_id = self.account.node_id, self.account.run_id
        if refused.code == "budget.cost_unknown":
            return CostUnknown(
                f"The budget {rule.name!r} blocks {self.account.model}: it has no price and reports no cost.",
                remedy=f"Give it a price: [providers.{self.account.provider.name}.prices] in the settings.",
                node_id=node_id,
                run_id=run_id,
            )
        over = shown.limit is not None and shown.used >= shown.limit
        words = (
            "is used up"
            if over
            else f"has too little left for this call{_may_use(rule, refused, self.counted)}"
        )
        step = _of_metric(rule, refused.estimate) or 0
        lower = "" if over else " Or let the agent answer in less: `max_output_tokens`."
        return BudgetExceeded(
            f"The budget {rule.name!r} {words}: {gauge_text(shown)}.",
            remedy=f"Raise {rule.field}{self._or_for_now(rule, shown, 0 if over else step, step)}.{lower}",
            node_id=node_id,
            run_id=run_id,
        )

    def _or_for_now(self, rule: Rule, shown: Gauge, needed: int, step: int) -> str:
        """The command that raises it, where there is one."""
        from runtime.calls.raising import raising_command  # few runs are stopped

        command = raising_command(rule, shown, self.account.whose, needed, step)
        return "" if command is None else f", or for now: `{command}`"

    def waited_too_long(self, held: CallHeld, wait_s: float) -> BudgetWaitTimeout:
        """The error of a call that other calls' holds kept out for too long."""
        blocked = held.admission.rules if isinstance(held.admission, Blocked) else (0,)
        rule = self.account.rules[blocked[0]]
        shown = gauge(rule, held.counters[blocked[0]], self.clock.now())
        step = shown.held + (_of_metric(rule, self.counted) or 0)
        return BudgetWaitTimeout(
            f"Others held the rest of the budget {shown.budget!r} for {wait_s:.0f} s: {gauge_text(shown)}.",
            remedy=f"Run fewer at the same time, or raise {rule.field}"
            f"{self._or_for_now(rule, shown, 0, step)}.",
            node_id=self.account.node_id,
            run_id=self.account.run_id,
        )


def _may_use(rule: Rule, refused: Refused, counted: Estimate) -> str:
    """The estimate that a strict budget has no room for, and where it is not ours, whose it is."""
    amount = _of_metric(rule, refused.estimate)
    if amount is None:
        return ""
    known = amount > (_of_metric(rule, counted) or 0)
    why = f", as one of the last {RECENT_CALLS} calls of its model did" if known else ""
    return f", which may use {amount_text(rule.metric, amount)}{why}"


def _of_metric(rule: Rule, estimate: Estimate) -> int | None:
    return estimate.tokens if rule.metric == "tokens" else estimate.cost


class Closing:
    """Builds the events of a settled call; called inside the store's transaction."""

    def __init__(
        self, account: Account, asked: Asked, key: str, where: dict[str, Any], reply: Reply | None,
        spent: Spent, usage: AgentUsage,
    ) -> None:  # fmt: skip
        self.account, self.asked, self.key, self.where = account, asked, key, where
        self.reply, self.spent, self.usage = reply, spent, usage

    def __call__(self, counters: tuple[Counter, ...], over_estimate: bool) -> Sequence[Event]:
        account, where, events = self.account, self.where, list[Event]()
        if account.rules:
            gauges = (gauge(r, c, where["at"]) for r, c in zip(account.rules, counters, strict=True))
            events.append(
                BudgetSettled(
                    **where,
                    call=self.key,
                    tokens=self.spent.usage.tokens,
                    cost=self.spent.priced.cost,
                    estimated=self.spent.estimated,
                    over_estimate=over_estimate,
                    gauges=tuple(gauges),
                )
            )
        events.append(self.usage)
        if self.reply is not None:
            events.append(
                AgentResponse(
                    **where,
                    text=self.reply.text,
                    final=self.asked.purpose == "main" and not self.reply.tool_calls,
                    purpose=self.asked.purpose,
                    tool_calls=tuple(call.name for call in self.reply.tool_calls),
                    call=self.key,
                )
            )
        return events


def digest_of(request: Request) -> str:
    """A short fingerprint of everything that is sent, so that two equal calls can be seen to be equal."""
    from hashlib import blake2b

    found = blake2b(digest_size=8)
    for message in request.messages:
        found.update(message.wire)
    for tool in request.tools:
        found.update(tool.name.encode())
    return found.hexdigest()
