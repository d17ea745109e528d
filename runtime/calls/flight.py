"""A call that was admitted: it is sent, and whatever happens it is settled or released."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from runtime.calls.account import Account, Answered, Asked, Spent, Stored
from runtime.calls.saying import Closing
from runtime.calls.whole import to_the_end
from runtime.errors import ModelFailure
from runtime.events import (
    AgentUsage,
    BudgetReleased,
    CallError,
    Event,
)
from runtime.messages import Reply
from runtime.models.prices import Priced, Quote, cost_of, settled_cost
from runtime.record import CallClose, CallOpened
from runtime.usage import Usage

if TYPE_CHECKING:
    from runtime.calls.gate import Gate


class Flight:
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
                self._close(None, self._guessed(), error_of("cancelled", "The call was cancelled."))
            )
            raise
        except ModelFailure as failure:
            await self._failed(failure)
            raise
        except BaseException as error:
            await to_the_end(self._close(None, self._guessed(), error_of("model.failed", str(error))))
            raise
        reply = self.gate.clean(reply)
        spent = self._spent(reply)
        _, cancelled = await to_the_end(self._close(reply, spent, None))
        if reply.usage is not None and reply.usage.input:
            self.gate.counter.learn(self.account.full_name, self.counted, reply.usage.input)
        if cancelled:
            raise asyncio.CancelledError
        return Answered(reply, spent.usage, spent.priced.cost, self.key)

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

    def _spent(self, reply: Reply) -> Spent:
        """What a reply used: as reported, else by our own count, labelled so."""
        estimated = reply.usage is None
        usage = reply.usage if reply.usage is not None else self._count(reply)
        priced = settled_cost(usage, self.quote, reply.cost)
        return Spent(usage, self._or_estimate(priced) if estimated else priced, estimated)

    def _count(self, reply: Reply) -> Usage:
        model, text = self.account.full_name, reply.text
        text += "".join(f"{call.name} {call.arguments}" for call in reply.tool_calls)
        return Usage(input=self.counted, output=self.gate.counter.text(model, text) if text else 0)

    def _guessed(self) -> Spent:
        """An attempt that gave no usage: what was sent and what was seen of the answer, or the whole estimate
        where nothing was seen of it: the provider may have thought long before its first word."""
        text = "".join(self.seen)
        if text:
            output = self.gate.counter.text(self.account.full_name, text)
            usage = Usage(input=self.counted, output=output)
        else:
            tokens = self.opened.admission.estimate.tokens
            usage = Usage(input=self.counted, output=max(0, tokens - self.counted))
        return Spent(usage, self._or_estimate(cost_of(usage, self.quote)), estimated=True)

    def _or_estimate(self, priced: Priced) -> Priced:
        """Where nobody told what a call cost and no price is known, the cost at which it was admitted: the
        dearest recent call of its model. Unknown would count as nothing against a limit in money."""
        estimate = self.opened.admission.estimate.cost
        if priced.cost is not None or estimate is None:
            return priced
        return Priced(estimate, "estimate", None)

    async def _close(self, reply: Reply | None, spent: Spent, error: CallError | None) -> None:
        partial_id = reply.request_id if reply is not None else None
        close = CallClose(
            call_id=self.opened.call_id,
            run_id=self.account.run_id,
            state="done" if reply is not None else "failed",
            result=None if reply is None else Stored(reply, spent.usage, spent.priced.cost),
            usage=spent.usage,
            cost=spent.priced.cost,
            cost_source=spent.priced.source,
            price=spent.priced.price,
            estimated=spent.estimated,
            request_id=partial_id,
            keep_hold=self.asked.keep_hold and reply is not None,
            at=self.gate.clock.now(),
        )
        await self.account.journal.close_call(
            close,
            Closing(
                self.account,
                self.asked,
                self.key,
                self.where(),
                reply,
                spent,
                self.usage_event(reply, spent, error),
            ),
        )

    async def _release(self, error: CallError) -> None:
        where = self.where()
        events: list[Event] = []
        if self.account.rules:
            events.append(BudgetReleased(**where, call=self.key, reason=error.code))
        events.append(self.usage_event(None, Spent(Usage(), Priced(0, "unknown", None), False), error))
        await self.account.journal.release_call(self.opened.call_id, events)

    def where(self) -> dict[str, Any]:
        """The common fields of this call's events."""
        return {
            "at": self.gate.clock.now(), "run_id": self.account.run_id, "node_id": self.account.node_id,
            "step": self.asked.step,
        }  # fmt: skip

    def usage_event(self, reply: Reply | None, spent: Spent, error: CallError | None) -> AgentUsage:
        """The end of this attempt on the timeline."""
        return AgentUsage(
            **self.where(),
            call=self.key,
            purpose=self.asked.purpose,
            model=self.account.full_name,
            attempt=self.attempt,
            usage=spent.usage,
            cost=spent.priced.cost,
            cost_source=spent.priced.source,
            estimated=spent.estimated,
            finish=None if reply is None else reply.finish,
            request_id=None if reply is None else reply.request_id,
            ms=round((self.gate.clock.monotonic() - self.began) * 1000),
            error=error,
        )


def error_of(code: str, message: str) -> CallError:
    return CallError(code=code, message=message)
