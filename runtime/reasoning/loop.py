"""The agent's loop with native tool calls: think, call tools, answer."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from runtime.calls import Account, Answered, Asked, Gate
from runtime.errors import BoundReached, ContextTooLarge
from runtime.events import AgentError, AgentRequest, AgentWarning, ContextAssembled
from runtime.memory_service import MemoryService, Where
from runtime.messages import Message, OnDelta, Request
from runtime.node import NodeResult
from runtime.reasoning.context import MAX_LEFT_OUT, Bill, bill_of, history_window, system_message
from runtime.reasoning.toolbox import Toolbox, distinct_ids


class Desk(Protocol):
    """What the loop needs of the run it is part of."""

    @property
    def account(self) -> Account: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def memory(self) -> MemoryService | None: ...

    @property
    def toolbox(self) -> Toolbox: ...

    @property
    def on_delta(self) -> OnDelta | None: ...

    async def history(self, *, last: int | None = None) -> list[Message]: ...

    def take_step(self) -> int:
        """The next step's number in this agent; raises BoundReached at the run's own bound."""
        ...


class Thinking:
    """One agent at work: its turn so far."""

    def __init__(self, config: Any, desk: Desk, prompt: str) -> None:
        self.config, self.desk = config, desk
        self.turn: list[Message] = [Message("user", prompt)]
        self.past: tuple[Message, ...] = ()
        self.sent = 0
        self.system: Message | None = None

    async def answer(self) -> Answered:
        """Steps until the model answers without asking for tools. Raises BoundReached."""
        desk, config = self.desk, self.config
        desk.account.journal.say(
            AgentRequest(**self._where(None), text=self.turn[0].content or "", model=str(desk.account.model))
        )
        self.past = history_window(config.context, await desk.history())
        for _ in range(config.max_iterations):
            step = desk.take_step()
            answered = await self._think(step)
            message = distinct_ids(answered.reply.message)
            self.turn.append(message)
            if not message.tool_calls:
                return answered
            where = Where(desk.account.run_id, desk.account.node_id, step)
            self.turn += await desk.toolbox.call_all(
                message.tool_calls, where, f"{desk.account.path}/{step}/tool"
            )
        raise self._bound()

    async def _think(self, step: int) -> Answered:
        """One step's model call, with what memory gives to it."""
        desk, count = self.desk, self._count
        injected = await desk.memory.inject(count) if desk.memory is not None else None
        for warning in injected.warnings if injected is not None else ():
            self._say_warning(step, warning)
        system = system_message(self.config.instructions, injected)
        messages = (*(() if system is None else (system,)), *self.past, *self.turn)
        request = self._request(messages)
        bill = bill_of(self.config.instructions, request.tools, injected, self.past, self.turn, count)
        self._say_bill(step, bill)
        self._fits(request)
        kept, news = self._news(system)
        answered = await desk.gate.call(
            desk.account,
            Asked(
                request=request,
                step=step,
                on_delta=desk.on_delta,
                retry_maybe_billed=self.config.retry_maybe_billed,
                kept=kept,
                news=news,
            ),
        )
        self.sent = len(self.turn)
        return answered

    def _request(self, messages: tuple[Message, ...]) -> Request:
        desk, config = self.desk, self.config
        return Request(
            model=desk.account.model.name,
            messages=messages,
            tools=desk.toolbox.specs,
            temperature=config.temperature,
            max_output_tokens=config.max_output_tokens,
            timeout_s=config.timeout_s or desk.account.provider.timeout_s,
            hints={"node_id": desk.account.node_id, "purpose": "main"},
        )

    def _news(self, system: Message | None) -> tuple[int, tuple[Any, ...]]:
        """How many messages were on the timeline before, and those that are new, as they are sent."""
        news: list[Message] = []
        kept = len(self.past) + self.sent
        if system is not None and system != self.system:
            news.append(system)
        elif system is not None:
            kept += 1
        self.system = system
        news += self.turn[self.sent :]
        return kept, tuple(msgspec.Raw(message.wire) for message in news)

    def _fits(self, request: Request) -> None:
        """Raises ContextTooLarge where what is sent and the answer's room pass the model's window."""
        desk = self.desk
        window = desk.account.provider.window
        if window is None:
            return
        room = self.config.max_output_tokens or desk.account.provider.max_output or 0
        tokens = desk.gate.counter.count(str(desk.account.model), request)
        if tokens > window - room:
            raise ContextTooLarge(
                f"What must be sent has about {tokens:,} tokens; {desk.account.model} takes {window:,} and"
                f" {room:,} of them are kept for the answer.",
                remedy="Send less history, shorten the input, or choose a model with a larger window.",
                node_id=desk.account.node_id,
                run_id=desk.account.run_id,
            )

    def _count(self, what: Message | str) -> int:
        counter, model = self.desk.gate.counter, str(self.desk.account.model)
        return counter.text(model, what) if isinstance(what, str) else counter.message(model, what)

    def _where(self, step: int | None) -> dict[str, Any]:
        account = self.desk.account
        return {
            "at": account.journal.clock.now(), "run_id": account.run_id, "node_id": account.node_id,
            "step": step,
        }  # fmt: skip

    def _say_bill(self, step: int, bill: Bill) -> None:
        account = self.desk.account
        account.journal.say(
            ContextAssembled(
                **self._where(step),
                sections=bill.sections,
                tokens=bill.tokens,
                window=account.provider.window,
                left_out=bill.left_out[:MAX_LEFT_OUT],
                left_out_count=len(bill.left_out),
            )
        )

    def _say_warning(self, step: int, message: str) -> None:
        self.desk.account.journal.say(
            AgentWarning(
                **self._where(step),
                code="memory.no_room",
                message=message,
                remedy="Raise `injection.tokens`.",
            )
        )

    def _bound(self) -> BoundReached:
        account, most = self.desk.account, self.config.max_iterations
        error = BoundReached(
            f"The agent did not finish within {most} steps.",
            code="agent.max_iterations",
            remedy="Raise `max_iterations`, or give the agent a smaller task.",
            node_id=account.node_id,
            run_id=account.run_id,
        )
        account.journal.say(
            AgentError(**self._where(None), code=error.code, message=error.message, remedy=error.remedy)
        )
        return error


async def reason(config: Any, desk: Desk, prompt: str) -> NodeResult:
    """The loop of an agent node: its answer, and the turn for the session's history."""
    thinking = Thinking(config, desk, prompt)
    answered = await thinking.answer()
    return NodeResult(answered.reply.text, turn=tuple(thinking.turn))
