"""One agent at work: its turn so far, and model calls made with it, whatever the strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from runtime.calls import Account, Answered, Asked, Gate
from runtime.errors import BoundReached, ContextTooLarge, ModelFailure
from runtime.events import AgentError, AgentRequest, AgentWarning, ContextAssembled, Event
from runtime.facts import Kind
from runtime.memory_service import ForContext, MemoryService, Where
from runtime.messages import Message, OnDelta, Purpose, Request, ToolCall, ToolSpec
from runtime.reasoning.context import MAX_LEFT_OUT, Counts, bill_of, system_message
from runtime.reasoning.past import Past, take_up
from runtime.reasoning.planning import plan_text
from runtime.reasoning.toolbox import Toolbox


class Internal(Protocol):
    """Farthing's own facts of an agent, in the scope of its Memory; the model cannot write them."""

    @property
    def session_uid(self) -> str: ...

    async def read(self, key: str) -> Any:
        """The value, or None."""
        ...

    async def write(self, key: str, value: Any, kind: Kind) -> None:
        """Replace the value."""
        ...


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
    def internal(self) -> Internal: ...

    @property
    def on_delta(self) -> OnDelta | None: ...

    def side_account(self, model: str | None) -> Account:
        """Who pays for a side call: the agent's own account, with another model where one is named."""
        ...

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
        self._past: Past | None = None
        self._state = ""
        self._asked = self.turn[0]
        self._sent: tuple[Message, ...] = ()
        self._index = 0
        self._injected: ForContext | None = None

    async def begin(self) -> None:
        """Say what is asked."""
        model = self.desk.account.full_name
        self.say(AgentRequest(**self.where(), text=self.turn[0].content or "", model=model))

    async def next_step(self) -> None:
        """Begin a reasoning step: memory is read anew, since it may have changed."""
        self.step, self._index = self.desk.take_step(), 0
        if self._past is None:
            self._past = await take_up(self, await self.desk.history())
            if self._past.recalled:  # for sending only: the turn keeps what the user said
                self._asked = Message("user", f"{self._past.recalled}\n\n{self.turn[0].content}")
        if self.config.planning:
            self._state = await plan_text(self.desk)
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
                failed = self.desk.account.full_name
                if not self.desk.fall_back():
                    raise
                now = self.desk.account.model
                self._warn("model.fallback", f"{failed} failed ({failure.message}), so {now} goes on.", None)

    async def side_call(self, request: Request, purpose: Purpose, model: str | None) -> Answered:
        """A call beside the step's own, such as a summary. Raises BudgetStop, ModelFailure."""
        account = self.desk.side_account(model)
        hinted = msgspec.structs.replace(
            request,
            model=account.model.name,
            timeout_s=account.provider.timeout_s,
            hints={"node_id": account.node_id, "purpose": purpose},
        )
        self._index += 1
        news = tuple(msgspec.Raw(message.wire) for message in request.messages)
        return await self.desk.gate.call(
            account,
            Asked(
                request=hinted,
                purpose=purpose,
                step=self.step,
                index=self._index - 1,
                news=news,
                warn=self._index == 1,
            ),
        )

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
        self.say(AgentError(**self.where(), code=error.code, message=error.message, remedy=error.remedy))
        return error

    # -- one call

    async def _call(self, call: Call) -> Answered:
        desk = self.desk
        past = self._past or Past()
        instructions = "\n\n".join(part for part in (self.config.instructions.strip(), call.extra) if part)
        memory = self._injected.text if self._injected is not None else ""
        system = system_message((instructions, memory, self._state, past.summary))
        after = (self._asked, *self.turn[1:], *call.after)
        messages = (*(() if system is None else (system,)), *past.messages, *after)
        request = self._request(call, messages)
        self._say_bill(call, instructions, past, after)
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
        known = {id(message) for message in (*(self._past or Past()).messages, *self._sent)}
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
        tokens = self.desk.gate.counter.count(account.full_name, request)
        if tokens > window - room:
            raise ContextTooLarge(
                f"What must be sent has about {tokens:,} tokens; {account.model} takes {window:,} and"
                f" {room:,} of them are kept for the answer.",
                remedy="Send less history, shorten the input, or choose a model with a larger window.",
                node_id=account.node_id,
                run_id=account.run_id,
            )

    # -- what it says

    def _count(self, text: str) -> int:
        return self.desk.gate.counter.text(self.desk.account.full_name, text)

    def _count_all(self, messages: Sequence[Message]) -> int:
        return self.desk.gate.counter.messages(self.desk.account.full_name, messages)

    def say(self, event: Event) -> None:
        """Put an event on the timeline."""
        self.desk.account.journal.say(event)

    def where(self) -> dict[str, Any]:
        """The common fields of this step's events."""
        account = self.desk.account
        return {
            "at": account.journal.clock.now(), "run_id": account.run_id, "node_id": account.node_id,
            "step": self.step or None,
        }  # fmt: skip

    def _warn(self, code: str, message: str, remedy: str | None) -> None:
        self.say(AgentWarning(**self.where(), code=code, message=message, remedy=remedy))

    def _say_bill(self, call: Call, instructions: str, past: Past, turn: tuple[Message, ...]) -> None:
        account = self.desk.account
        extras = {"state": self._state, "summaries": past.summary}
        counts = Counts(self._count, self._count_all)
        bill = bill_of(instructions, call.tools, self._injected, extras, past.messages, turn, counts)
        self.say(
            ContextAssembled(
                **self.where(),
                purpose=call.purpose,
                sections=bill.sections,
                tokens=bill.tokens,
                window=account.provider.window,
                left_out=bill.left_out[:MAX_LEFT_OUT],
                left_out_count=len(bill.left_out),
            )
        )
