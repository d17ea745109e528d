"""One agent at work: its turn so far, and model calls made with it, whatever the strategy."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from runtime.calls import Account, Answered, Asked, Gate
from runtime.errors import BoundReached, ContextTooLarge, ModelFailure
from runtime.events import AgentError, AgentRequest, AgentWarning, ContextAssembled
from runtime.memory_service import ForContext, MemoryService, Where
from runtime.messages import Message, OnDelta, Purpose, Request, ToolCall, ToolSpec
from runtime.reasoning.context import MAX_LEFT_OUT, bill_of, history_window, system_message
from runtime.reasoning.toolbox import Toolbox


class Desk(Protocol):
    """What an agent needs of the run it is part of."""

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

    def fall_back(self) -> bool:
        """Go over to the next model; False where there is none."""
        ...

    def take_step(self) -> int:
        """The next step's number in this agent; raises BoundReached at the run's own bound."""
        ...


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One model call of a step, as a strategy wants it. `after` are messages for this call alone."""

    purpose: Purpose = "main"
    extra: str = ""
    after: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    schema: dict[str, Any] | None = None
    stream: bool = True
    hold_for: int = 1
    keep_hold: bool = False
    carries: str | None = None


class Thinking:
    """The state of one visit of an agent."""

    def __init__(self, config: Any, desk: Desk, prompt: str) -> None:
        self.config, self.desk = config, desk
        self.turn: list[Message] = [Message("user", prompt)]
        self.step = 0
        self._past: tuple[Message, ...] = ()
        self._sent: tuple[Message, ...] = ()
        self._index = 0
        self._injected: ForContext | None = None

    async def begin(self) -> None:
        """Say what is asked, and take up the session's history."""
        desk = self.desk
        desk.account.journal.say(
            AgentRequest(**self._where(), text=self.turn[0].content or "", model=str(desk.account.model))
        )
        self._past = history_window(self.config.context, await desk.history())

    async def next_step(self) -> None:
        """Begin a reasoning step: memory is read anew, since it may have changed."""
        self.step, self._index = self.desk.take_step(), 0
        memory = self.desk.memory
        self._injected = await memory.inject(self._count) if memory is not None else None
        for warning in self._injected.warnings if self._injected is not None else ():
            self._warn("memory.no_room", warning, "Raise `injection.tokens`.")

    async def call(self, call: Call) -> Answered:
        """Make a call of this step; where a model fails for good, its fallbacks are tried in order."""
        while True:
            try:
                return await self._call(call)
            except ModelFailure as failure:
                failed = str(self.desk.account.model)
                if not self.desk.fall_back():
                    raise
                now = self.desk.account.model
                self._warn("model.fallback", f"{failed} failed ({failure.message}), so {now} goes on.", None)

    async def use_tools(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        """Carry out the calls of this step; results in their order."""
        account = self.desk.account
        where = Where(account.run_id, account.node_id, self.step)
        return await self.desk.toolbox.call_all(calls, where, f"{account.path}/{self.step}/tool")

    def bound(self) -> BoundReached:
        """The error of an agent that did not come to an answer."""
        account, most = self.desk.account, self.config.max_iterations
        error = BoundReached(
            f"The agent did not finish within {most} steps.",
            code="agent.max_iterations",
            remedy="Raise `max_iterations`, or give the agent a smaller task.",
            node_id=account.node_id,
            run_id=account.run_id,
        )
        account.journal.say(
            AgentError(**self._where(), code=error.code, message=error.message, remedy=error.remedy)
        )
        return error

    # -- one call

    async def _call(self, call: Call) -> Answered:
        desk = self.desk
        instructions = "\n\n".join(part for part in (self.config.instructions.strip(), call.extra) if part)
        system = system_message(instructions, self._injected)
        after = (*self.turn, *call.after)
        messages = (*(() if system is None else (system,)), *self._past, *after)
        request = self._request(call, messages)
        self._say_bill(call, instructions, after)
        self._fits(request)
        kept, news = self._news(messages)
        self._index += 1
        answered = await desk.gate.call(
            desk.account,
            Asked(
                request=request,
                purpose=call.purpose,
                step=self.step,
                index=self._index - 1,
                on_delta=desk.on_delta if call.stream else None,
                retry_maybe_billed=self.config.retry_maybe_billed,
                kept=kept,
                news=news,
                warn=self._index == 1,
                carries=call.carries,
                keep_hold=call.keep_hold,
                hold_for=call.hold_for,
            ),
        )
        self._sent = messages
        return answered

    def _request(self, call: Call, messages: tuple[Message, ...]) -> Request:
        account, config = self.desk.account, self.config
        return Request(
            model=account.model.name,
            messages=messages,
            tools=call.tools,
            temperature=config.temperature,
            max_output_tokens=config.max_output_tokens,
            schema=call.schema,
            timeout_s=config.timeout_s or account.provider.timeout_s,
            hints={"node_id": account.node_id, "purpose": call.purpose},
        )

    def _news(self, messages: tuple[Message, ...]) -> tuple[int, tuple[Any, ...]]:
        """How many messages are on the timeline already, and those that are not, as they are sent.

        The session's history stands there since earlier runs; of this turn, what the last call sent.
        """
        known = {id(message) for message in (*self._past, *self._sent)}
        system = self._sent[0] if self._sent and self._sent[0].role == "system" else None
        news = [m for m in messages if id(m) not in known and m != system]
        return len(messages) - len(news), tuple(msgspec.Raw(message.wire) for message in news)

    def _fits(self, request: Request) -> None:
        """Raises ContextTooLarge where what is sent and the answer's room pass the model's window."""
        account = self.desk.account
        window = account.provider.window
        if window is None:
            return
        room = self.config.max_output_tokens or account.provider.max_output or 0
        tokens = self.desk.gate.counter.count(str(account.model), request)
        if tokens > window - room:
            raise ContextTooLarge(
                f"What must be sent has about {tokens:,} tokens; {account.model} takes {window:,} and"
                f" {room:,} of them are kept for the answer.",
                remedy="Send less history, shorten the input, or choose a model with a larger window.",
                node_id=account.node_id,
                run_id=account.run_id,
            )

    # -- what it says

    def _count(self, what: Message | str) -> int:
        counter, model = self.desk.gate.counter, str(self.desk.account.model)
        return counter.text(model, what) if isinstance(what, str) else counter.message(model, what)

    def _where(self) -> dict[str, Any]:
        account = self.desk.account
        return {
            "at": account.journal.clock.now(), "run_id": account.run_id, "node_id": account.node_id,
            "step": self.step or None,
        }  # fmt: skip

    def _warn(self, code: str, message: str, remedy: str | None) -> None:
        journal = self.desk.account.journal
        journal.say(AgentWarning(**self._where(), code=code, message=message, remedy=remedy))

    def _say_bill(self, call: Call, instructions: str, turn: tuple[Message, ...]) -> None:
        account = self.desk.account
        bill = bill_of(instructions, call.tools, self._injected, self._past, turn, self._count)
        account.journal.say(
            ContextAssembled(
                **self._where(),
                purpose=call.purpose,
                sections=bill.sections,
                tokens=bill.tokens,
                window=account.provider.window,
                left_out=bill.left_out[:MAX_LEFT_OUT],
                left_out_count=len(bill.left_out),
            )
        )
