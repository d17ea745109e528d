"""The gate: decide, hold, send with bounded retries, settle; every model call of any kind goes through it."""

from __future__ import annotations

import asyncio

import msgspec

from runtime.calls.account import Account, Answered, Asked, Stored, call_key
from runtime.calls.flight import Flight
from runtime.calls.saying import Opening
from runtime.calls.whole import to_the_end
from runtime.clock import Clock
from runtime.errors import ModelFailure
from runtime.events import (
    BudgetReleased,
)
from runtime.ledger import (
    OUTPUT_TOKENS_WITHOUT_LIMIT,
    Estimate,
    Refused,
)
from runtime.messages import Reply, Request, TokenCounter
from runtime.models.prices import Quote, cost_of, quote_for
from runtime.providers import ModelName, Provider
from runtime.record import CallDone, CallHeld, CallIntent, CallOpened
from runtime.secrets.redact import Redactor
from runtime.usage import Usage

WAIT_MARGIN_S = 30.0
"""A call waits for other calls' holds as long as a model may take, and this much longer (SPEC 5)."""
ASK_AGAIN_S = 0.25
"""How often a waiting call asks again where nothing woke it."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """One bounded budget of retries for a step: tries at most, and seconds of waiting in all."""

    tries: int = 4
    base_s: float = 0.5
    longest_s: float = 20.0
    total_s: float = 60.0


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

    def most(self, provider: Provider, model: ModelName, request: Request) -> Estimate:
        """What one call may use at most by our count; of its cost null where no price is known."""
        output = request.max_output_tokens or provider.max_output or OUTPUT_TOKENS_WITHOUT_LIMIT
        used = Usage(input=self.counter.count(str(model), request), output=output)
        if provider.free and model.name not in provider.prices:
            return Estimate(used.tokens, 0)
        return Estimate(used.tokens, cost_of(used, quote_for(provider, model.name, self.clock.now())).cost)

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
        quote = quote_for(account.provider, account.model.name, self.clock.now())
        counted = self.counter.count(account.full_name, asked.request)
        key = call_key(account, asked)
        opened = await self._open(account, asked, attempt, key, counted, quote)
        if isinstance(opened, CallDone):
            stored = msgspec.convert(opened.result, Stored)
            return Answered(stored.reply, stored.usage, stored.cost, key)
        flight = Flight(self, account, asked, attempt, key, counted, quote, opened)
        return await flight.land()

    async def _open(
        self, account: Account, asked: Asked, attempt: int, key: str, counted: int, quote: Quote | None
    ) -> CallOpened | CallDone:
        intent = self._intent(account, asked, attempt, key, counted, quote)
        build = Opening(account, asked, attempt, key, self.clock, intent.counted)
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
        cost = 0 if account.free else cost_of(used, quote).cost
        return CallIntent(
            run_id=account.run_id,
            key=key,
            attempt=attempt,
            node_id=account.node_id,
            step=asked.step,
            purpose=asked.purpose,
            model=account.full_name,
            provider=account.provider.name,
            rules=account.rules,
            counted=Estimate(used.tokens, cost),
            input=counted,
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
        cleaned = self._redact.raw(found)
        return reply if cleaned is found else msgspec.json.decode(cleaned, type=Reply)

    def clean_text(self, text: str) -> str:
        """The text with every configured secret's value replaced."""
        return text if self._redact is None else self._redact.text(text)


def _passing(failure: ModelFailure) -> bool:
    """Kinds that another try may cure."""
    return failure.kind in ("timeout", "stream_broken", "connection_lost", "empty")
