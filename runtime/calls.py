"""The one gate of models: decide, hold, send with bounded retries, settle. Every model call of every kind
goes through `Gate.call`; nothing else imports a model client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from runtime.clock import Clock
from runtime.errors import BudgetExceeded, BudgetStop, BudgetWaitTimeout, CostUnknown, ModelFailure
from runtime.events import (
    AgentError,
    AgentResponse,
    AgentUsage,
    AgentWarning,
    BudgetReleased,
    BudgetReserved,
    BudgetSettled,
    BudgetWaiting,
    CallError,
    Event,
    Gauge,
    Hold,
    ModelCalled,
)
from runtime.journal import Journal
from runtime.ledger import (
    OUTPUT_TOKENS_WITHOUT_LIMIT,
    Admission,
    Admitted,
    Blocked,
    Counter,
    Estimate,
    Refused,
    Rule,
    gauge,
    gauge_text,
)
from runtime.messages import LanguageModel, OnDelta, Purpose, Reply, Request, TokenCounter
from runtime.models.opening import open_model
from runtime.models.prices import Cost, Quote, cost_of, price_of, settled_cost
from runtime.providers import SCRIPTED, ModelName, Provider
from runtime.record import CallClose, CallDone, CallHeld, CallIntent, CallOpened
from runtime.secrets import Redactor
from runtime.usage import Usage

T = TypeVar("T")
WAIT_MARGIN_S = 30.0
"""A call waits for other calls' holds as long as a model may take, and this much longer (SPEC 5)."""
ASK_AGAIN_S = 0.25
"""How often a waiting call asks again where nothing woke it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """One bounded budget of retries for a step: tries at most, and seconds of waiting in all."""

    tries: int = 4
    base_s: float = 0.5
    longest_s: float = 20.0
    total_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Account:
    """On whose behalf and under which budgets calls are made. `path` names the node and its visit."""

    journal: Journal
    run_id: str
    node_id: str
    path: str
    rules: tuple[Rule, ...]
    provider: Provider
    model: ModelName
    client: LanguageModel
    wait_s: float | None = None

    @property
    def free(self) -> bool:
        """Calls are known to cost nothing."""
        return self.provider.free


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as its caller wants it. `index` counts the calls of a step. `kept` and `news` describe the
    messages for the timeline: how many were sent before, and those that are new."""

    request: Request
    purpose: Purpose = "main"
    step: int | None = None
    index: int = 0
    on_delta: OnDelta | None = None
    retry_maybe_billed: bool = False
    kept: int = 0
    news: tuple[Any, ...] = ()
    warn: bool = True
    carries: str | None = None
    keep_hold: bool = False
    hold_for: int = 1


class Answered(NamedTuple):
    """A reply with what it used; `key` names the call in the journal."""

    reply: Reply
    usage: Usage
    cost: int | None
    key: str


class _Spent(NamedTuple):
    """What one attempt used, for the ledger."""

    usage: Usage
    cost: Cost
    estimated: bool


async def to_the_end(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Await to the end even when cancelled meanwhile; says whether it was. Its own errors are raised."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.done():
                break
            cancelled = True
        except BaseException:
            break
    return task.result(), cancelled


class Clients:
    """Open model clients, one a provider, so that runs share connections. The scripted model is each run's
    own, since it plays its script from the beginning."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, LanguageModel] = {}

    def client(self, provider: Provider, script: Path | None = None) -> LanguageModel:
        """The client of a provider. Raises BadInput for a script that cannot be used."""
        if provider.name == SCRIPTED:
            return open_model(provider, self._clock, script=script)
        client = self._open.get(provider.name)
        if client is None:
            client = self._open[provider.name] = open_model(provider, self._clock)
        return client

    async def close(self) -> None:
        """Let go of every connection."""
        clients, self._open = list(self._open.values()), {}
        for client in clients:
            await client.close()


class Gate:
    """Calls of all runs of this process."""

    def __init__(
        self,
        counter: TokenCounter,
        clock: Clock,
        redactor: Redactor | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.counter, self.clock = counter, clock
        self._redact = redactor
        self._retry = retry or RetryPolicy()

    async def call(self, account: Account, asked: Asked) -> Answered:
        """Make one call. Raises BudgetStop where a limit forbids it, and ModelFailure where the provider
        fails for good; in both cases everything is recorded."""
        attempt, waited = 1, 0.0
        while True:
            try:
                return await self._attempt(account, asked, attempt)
            except ModelFailure as failure:
                failure.node_id, failure.run_id = account.node_id, account.run_id
                pause = self._pause(failure, asked, attempt, waited)
                if pause is None:
                    raise
            await self.clock.sleep(pause)
            attempt, waited = attempt + 1, waited + pause

    def _pause(self, failure: ModelFailure, asked: Asked, attempt: int, waited: float) -> float | None:
        """Seconds to wait before another attempt; None: no other one."""
        policy = self._retry
        if not failure.retryable and not (
            failure.maybe_billed and asked.retry_maybe_billed and _passing(failure)
        ):
            return None
        if attempt >= policy.tries:
            return None
        pause = min(policy.longest_s, policy.base_s * 2.0 ** (attempt - 1)) * (0.5 + self.clock.chance() / 2)
        pause = max(pause, failure.retry_after or 0.0)
        return pause if waited + pause <= policy.total_s else None

    # -- one attempt

    async def _attempt(self, account: Account, asked: Asked, attempt: int) -> Answered:
        quote = price_of(account.provider, account.model.name, self.clock.now())
        counted = self.counter.count(str(account.model), asked.request)
        key = _key(account, asked)
        opened = await self._open(account, asked, attempt, key, counted, quote)
        if isinstance(opened, CallDone):
            stored = msgspec.convert(opened.result, Stored)
            return Answered(stored.reply, stored.usage, stored.cost, key)
        flight = _Flight(self, account, asked, attempt, key, counted, quote, opened)
        return await flight.land()

    async def _open(
        self, account: Account, asked: Asked, attempt: int, key: str, counted: int, quote: Quote | None
    ) -> CallOpened | CallDone:
        intent = self._intent(account, asked, attempt, key, counted, quote)
        build = _Opening(account, asked, attempt, key, self.clock)
        wait_s = account.wait_s or asked.request.timeout_s + WAIT_MARGIN_S
        deadline, ticket = self.clock.monotonic() + wait_s, None
        while True:
            outcome, cancelled = await to_the_end(account.journal.open_call(intent, build, ticket))
            if cancelled:
                await to_the_end(self._back_out(account, key, outcome))
                raise asyncio.CancelledError
            if not isinstance(outcome, CallHeld):
                return outcome
            if isinstance(outcome.admission, Refused):
                raise build.stop(outcome.admission, outcome.counters)
            ticket = outcome.ticket
            try:
                if await account.journal.record.wait_settled(ASK_AGAIN_S):
                    deadline = self.clock.monotonic() + wait_s
                elif self.clock.monotonic() >= deadline:
                    raise build.waited_too_long(outcome, wait_s)
            except BaseException:
                if ticket is not None:
                    await to_the_end(account.journal.record.leave_queue(ticket))
                raise

    def _intent(
        self, account: Account, asked: Asked, attempt: int, key: str, counted: int, quote: Quote | None
    ) -> CallIntent:
        output = asked.request.max_output_tokens or account.provider.max_output or OUTPUT_TOKENS_WITHOUT_LIMIT
        used = Usage(input=counted, output=output)
        cost = 0 if account.free else cost_of(used, quote).nanos
        return CallIntent(
            run_id=account.run_id,
            key=key,
            attempt=attempt,
            node_id=account.node_id,
            step=asked.step,
            purpose=asked.purpose,
            model=str(account.model),
            provider=account.provider.name,
            rules=account.rules,
            counted=Estimate(used.tokens, cost),
            free=account.free,
            carries=asked.carries,
            hold_for=asked.hold_for,
            at=self.clock.now(),
        )

    async def _back_out(self, account: Account, key: str, outcome: CallOpened | CallHeld | CallDone) -> None:
        """Cancelled while the call was being opened: nothing was sent."""
        if isinstance(outcome, CallOpened):
            event = BudgetReleased(
                at=self.clock.now(),
                run_id=account.run_id,
                node_id=account.node_id,
                call=key,
                reason="cancelled",
            )
            await account.journal.release_call(outcome.call_id, [event])
        elif isinstance(outcome, CallHeld) and outcome.ticket is not None:
            await account.journal.record.leave_queue(outcome.ticket)

    def clean(self, reply: Reply) -> Reply:
        """The reply with every configured secret's value replaced."""
        if self._redact is None:
            return reply
        found = msgspec.json.encode(reply)
        cleaned = self._redact.clean_bytes(found)
        return reply if cleaned == found else msgspec.json.decode(cleaned, type=Reply)

    def clean_text(self, text: str) -> str:
        """The text with every configured secret's value replaced."""
        return text if self._redact is None else self._redact.clean_text(text)


class Stored(msgspec.Struct, frozen=True):
    """A finished call as the journal keeps it."""

    reply: Reply
    usage: Usage
    cost: int | None


def _key(account: Account, asked: Asked) -> str:
    return f"{account.path}/{asked.step or 0}/{asked.index}"


def _passing(failure: ModelFailure) -> bool:
    """Kinds that another try may cure."""
    return failure.kind in ("timeout", "stream_broken", "connection_lost", "empty")


class _Opening:
    """Builds the events of an admission; called inside the store's transaction."""

    def __init__(self, account: Account, asked: Asked, attempt: int, key: str, clock: Clock) -> None:
        self.account, self.asked, self.attempt, self.key, self.clock = account, asked, attempt, key, clock

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
                model=str(self.account.model),
                attempt=self.attempt,
                kept=self.asked.kept,
                messages=self.asked.news,
                digest=digest_of(request),
                tools=tuple(tool.name for tool in request.tools),
            )
        )
        return events

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
        words = "is used up" if over else "has too little left for this call"
        return BudgetExceeded(
            f"The budget {rule.name!r} {words}: {gauge_text(shown)}.",
            remedy=f"Raise {rule.field}, or for now: farthing budget raise {rule.name}.",
            node_id=node_id,
            run_id=run_id,
        )

    def waited_too_long(self, held: CallHeld, wait_s: float) -> BudgetWaitTimeout:
        """The error of a call that other calls' holds kept out for too long."""
        blocked = held.admission.rules if isinstance(held.admission, Blocked) else (0,)
        shown = gauge(self.account.rules[blocked[0]], held.counters[blocked[0]], self.clock.now())
        return BudgetWaitTimeout(
            f"Others held the rest of the budget {shown.budget!r} for {wait_s:.0f} s: {gauge_text(shown)}.",
            remedy="Run fewer at the same time or raise the limit.",
            node_id=self.account.node_id,
            run_id=self.account.run_id,
        )


class _Flight:
    """A call that was admitted: it is sent, and whatever happens it is settled or released."""

    def __init__(
        self, gate: Gate, account: Account, asked: Asked, attempt: int, key: str, counted: int,
        quote: Quote | None, opened: CallOpened,
    ) -> None:  # fmt: skip
        self.gate, self.account, self.asked, self.attempt = gate, account, asked, attempt
        self.key, self.counted, self.quote, self.opened = key, counted, quote, opened
        self.seen: list[str] = []
        self.began = gate.clock.monotonic()

    async def land(self) -> Answered:
        request = self.asked.request
        try:
            reply = await self.account.client.complete(
                request, self._on_delta if self.asked.on_delta else None
            )
        except asyncio.CancelledError:
            await to_the_end(
                self._close(None, self._guessed(), _error_of("cancelled", "The call was cancelled."))
            )
            raise
        except ModelFailure as failure:
            await self._failed(failure)
            raise
        except BaseException as error:
            await to_the_end(self._close(None, self._guessed(), _error_of("model.failed", str(error))))
            raise
        reply = self.gate.clean(reply)
        spent = self._spent(reply)
        _, cancelled = await to_the_end(self._close(reply, spent, None))
        if reply.usage is not None and reply.usage.input:
            self.gate.counter.learn(str(self.account.model), self.counted, reply.usage.input)
        if cancelled:
            raise asyncio.CancelledError
        return Answered(reply, spent.usage, spent.cost.nanos, self.key)

    def _on_delta(self, text: str) -> None:
        self.seen.append(text)
        if self.asked.on_delta is not None:
            self.asked.on_delta(text)

    async def _failed(self, failure: ModelFailure) -> None:
        """Settle or release a failed attempt; the failure's own text goes on without secrets in it."""
        failure.message = self.gate.clean_text(failure.message)
        error = CallError(
            code=failure.code, message=failure.message, remedy=failure.remedy, status=failure.status
        )
        if failure.partial is not None and failure.partial.usage is not None:
            _, cancelled = await to_the_end(self._close(None, self._spent(failure.partial), error))
        elif failure.maybe_billed:
            _, cancelled = await to_the_end(self._close(None, self._guessed(), error))
        else:
            _, cancelled = await to_the_end(self._release(error))
        if cancelled:
            raise asyncio.CancelledError

    def _spent(self, reply: Reply) -> _Spent:
        """What a reply used: as reported, else by our own count, labelled so."""
        estimated = reply.usage is None
        usage = reply.usage if reply.usage is not None else self._count(reply)
        return _Spent(usage, settled_cost(usage, self.quote, reply.cost), estimated)

    def _count(self, reply: Reply) -> Usage:
        model, text = str(self.account.model), reply.text
        text += "".join(f"{call.name} {call.arguments}" for call in reply.tool_calls)
        return Usage(input=self.counted, output=self.gate.counter.text(model, text) if text else 0)

    def _guessed(self) -> _Spent:
        """An attempt that gave no usage: what was sent and seen, or the whole estimate where nothing could
        be seen of it."""
        model = str(self.account.model)
        if self.asked.on_delta is not None:
            text = "".join(self.seen)
            usage = Usage(input=self.counted, output=self.gate.counter.text(model, text) if text else 0)
        else:
            tokens = self.opened.admission.estimate.tokens
            usage = Usage(input=self.counted, output=max(0, tokens - self.counted))
        return _Spent(usage, cost_of(usage, self.quote), estimated=True)

    async def _close(self, reply: Reply | None, spent: _Spent, error: CallError | None) -> None:
        partial_id = reply.request_id if reply is not None else None
        close = CallClose(
            call_id=self.opened.call_id,
            run_id=self.account.run_id,
            state="done" if reply is not None else "failed",
            result=None if reply is None else Stored(reply, spent.usage, spent.cost.nanos),
            usage=spent.usage,
            cost=spent.cost.nanos,
            cost_source=spent.cost.source,
            price=spent.cost.price,
            estimated=spent.estimated,
            request_id=partial_id,
            keep_hold=self.asked.keep_hold and reply is not None,
            at=self.gate.clock.now(),
        )
        await self.account.journal.close_call(close, _Closing(self, reply, spent, error))

    async def _release(self, error: CallError) -> None:
        where = self.where()
        events: list[Event] = []
        if self.account.rules:
            events.append(BudgetReleased(**where, call=self.key, reason=error.code))
        events.append(self.usage_event(None, _Spent(Usage(), Cost(0, "unknown", None), False), error))
        await self.account.journal.release_call(self.opened.call_id, events)

    def where(self) -> dict[str, Any]:
        """The common fields of this call's events."""
        return {
            "at": self.gate.clock.now(), "run_id": self.account.run_id, "node_id": self.account.node_id,
            "step": self.asked.step,
        }  # fmt: skip

    def usage_event(self, reply: Reply | None, spent: _Spent, error: CallError | None) -> AgentUsage:
        """The end of this attempt on the timeline."""
        return AgentUsage(
            **self.where(),
            call=self.key,
            purpose=self.asked.purpose,
            model=str(self.account.model),
            attempt=self.attempt,
            usage=spent.usage,
            cost=spent.cost.nanos,
            cost_source=spent.cost.source,
            estimated=spent.estimated,
            finish=None if reply is None else reply.finish,
            request_id=None if reply is None else reply.request_id,
            ms=round((self.gate.clock.monotonic() - self.began) * 1000),
            error=error,
        )


class _Closing:
    """Builds the events of a settled call; called inside the store's transaction."""

    def __init__(self, flight: _Flight, reply: Reply | None, spent: _Spent, error: CallError | None) -> None:
        self.flight, self.reply, self.spent, self.error = flight, reply, spent, error

    def __call__(self, counters: tuple[Counter, ...], over_estimate: bool) -> Sequence[Event]:
        flight, spent = self.flight, self.spent
        account, where = flight.account, flight.where()
        events: list[Event] = []
        if account.rules:
            gauges = (gauge(r, c, where["at"]) for r, c in zip(account.rules, counters, strict=True))
            events.append(
                BudgetSettled(
                    **where,
                    call=flight.key,
                    tokens=spent.usage.tokens,
                    cost=spent.cost.nanos,
                    estimated=spent.estimated,
                    over_estimate=over_estimate,
                    gauges=tuple(gauges),
                )
            )
        events.append(flight.usage_event(self.reply, spent, self.error))
        if self.reply is not None:
            events.append(
                AgentResponse(
                    **where,
                    text=self.reply.text,
                    final=flight.asked.purpose == "main" and not self.reply.tool_calls,
                    purpose=flight.asked.purpose,
                    tool_calls=tuple(call.name for call in self.reply.tool_calls),
                    call=flight.key,
                )
            )
        return events


def _error_of(code: str, message: str) -> CallError:
    return CallError(code=code, message=message)


def digest_of(request: Request) -> str:
    """A short fingerprint of everything that is sent, so that two equal calls can be seen to be equal."""
    from hashlib import blake2b

    found = blake2b(digest_size=8)
    for message in request.messages:
        found.update(message.wire)
    for tool in request.tools:
        found.update(tool.name.encode())
    return found.hexdigest()
