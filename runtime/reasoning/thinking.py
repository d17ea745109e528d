"""One agent at work: its turn so far, and model calls made with it, whatever the strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.calls import Answered, Asked
from runtime.errors import BoundReached, ModelFailure
from runtime.events import AgentError, AgentRequest, AgentWarning, Event
from runtime.memory.layout import window_budget
from runtime.memory_service import NOTHING, Beside, ForContext, Where
from runtime.messages import Message, Purpose, Request, ToolCall, ToolSpec
from runtime.reasoning.assembling import assembled
from runtime.reasoning.context import Counts, Parts, tool_tokens
from runtime.reasoning.desk import Call, Desk
from runtime.reasoning.past import Past, Prior
from runtime.reasoning.planning import plan_text
from runtime.reasoning.taking_up import take_up


def _unheard(text: str) -> None:
    """Nobody reads along, but a local server stops at once only where it streams its answer."""


class Thinking:
    """The state of one visit of an agent."""

    def __init__(self, config: Any, desk: Desk, prompt: str) -> None:
        self.config, self.desk = config, desk
        self.turn: list[Message] = [Message("user", prompt)]
        self.step = 0
        self._past: Past | None = None
        self._state = ""
        self._asked = self._tried = self.turn[0]
        self._sent: tuple[Message, ...] = ()
        self._index = 0
        self._injected: dict[frozenset[str], ForContext] = {}
        self.pressed = False
        """Whether a person was told that almost nothing of the context is left."""

    async def begin(self) -> None:
        """Say what is asked."""
        model = self.desk.account.full_name
        self.say(AgentRequest(**self.where(), text=self.turn[0].content or "", model=model))

    async def next_step(self) -> None:
        """Begin a reasoning step: memory will be read anew, since it may have changed."""
        self.step, self._index = self.desk.take_step(), 0
        if self._past is None:
            self._past = await take_up(self, await self.desk.history())
        if self.config.planning:
            self._state = await plan_text(self.desk)
        self._injected = {}

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
                self.warn("model.fallback", f"{failed} failed ({failure.message}), so {now} goes on.", None)

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
        instructions = "\n\n".join(part for part in (self.config.instructions.strip(), call.extra) if part)
        past, state = self._past or Past(), self._state
        memory = await self.recall(instructions, call.tools, past.prior)
        turn = (*self.turn, *call.after)
        if memory.laid_out:
            past, state = msgspec.structs.replace(past, notes=(), recalled=()), ""
        parts = Parts(instructions, call.tools, memory, state, past, turn)
        parts = await assembled(self, call, parts)
        self._asked = self._asks(parts)
        messages = parts.messages(self._asked)
        request = self._request(call, messages)
        kept, news = self._news(parts.past, messages)
        self._index += 1
        answered = await desk.gate.call(
            desk.account,
            Asked(
                request=request,
                purpose=call.purpose,
                step=self.step,
                index=self._index - 1,
                on_delta=desk.on_delta if call.stream else _unheard,
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

    def _news(self, past: Past, messages: tuple[Message, ...]) -> tuple[int, tuple[Any, ...]]:
        """How many messages are on the timeline already, and those that are not, as they are sent.

        The session's history stands there since earlier runs; of this turn, what the last call sent.
        """
        known = {id(message) for message in (*past.messages, *self._sent)}
        system = self._sent[0] if self._sent and self._sent[0].role == "system" else None
        news = [m for m in messages if id(m) not in known and m != system]
        return len(messages) - len(news), tuple(msgspec.Raw(message.wire) for message in news)

    # -- its context

    async def recall(
        self, instructions: str, tools: Sequence[ToolSpec], prior: Sequence[Prior]
    ) -> ForContext:
        """What memory gives to this step, within its share of what the window leaves, beside these turns of
        earlier sessions; found once."""
        memory, besides = self.desk.memory, frozenset(turn.exchange for turn in prior)
        if memory is None:
            return NOTHING
        if besides not in self._injected:
            supporting = None
            if (window := self.desk.account.provider.window) is not None:
                supporting = window_budget(
                    window,
                    self.answer_room,
                    system_tokens=self.count(instructions),
                    tool_tokens=tool_tokens(tools, self.counts),
                    ratio=memory.config.supporting.ratio,
                ).supporting
            query, past = self.turn[0].content or "", self._past or Past()
            summaries = tuple(text for _, text in past.summaries)
            recalled = tuple(each.candidate for each in past.recalled)
            beside = Beside(summaries, self._state, tools, recalled, besides)
            found = await memory.inject(self.count, query=query, supporting=supporting, beside=beside)
            for warning in found.warnings if not self._injected else ():
                self.warn("memory.no_room", warning, "Raise `injection.tokens`.")
            self._injected[besides] = found
        return self._injected[besides]

    def _asks(self, parts: Parts) -> Message:
        """The newest user message with what is recalled for it; the turn keeps what the user said."""
        said, recalled = self.turn[0], parts.recalled
        text = f"{recalled}\n\n{said.content}" if recalled else said.content
        for known in (said, self._asked, self._tried):
            if text == known.content:
                return known
        self._tried = Message("user", text)
        return self._tried

    def measure(self, call: Call, parts: Parts) -> int:
        """Tokens of the request that a call makes of these parts."""
        request = self._request(call, parts.messages(self._asks(parts)))
        return self.desk.gate.counter.count(self.desk.account.full_name, request)

    @property
    def room(self) -> int | None:
        """Tokens that a prompt may have; None where the model's window is not known."""
        window = self.desk.account.provider.window
        return None if window is None else window - self.answer_room

    @property
    def answer_room(self) -> int:
        """Tokens of the window that are kept for the answer."""
        return self.config.max_output_tokens or self.desk.account.provider.max_output or 0

    @property
    def counts(self) -> Counts:
        """How tokens are counted for the model in use."""
        return Counts(self.count, self.count_all)

    # -- what it says

    def count(self, text: str) -> int:
        """Tokens of a text for the model in use."""
        return self.desk.gate.counter.text(self.desk.account.full_name, text)

    def count_all(self, messages: Sequence[Message]) -> int:
        """Tokens of some messages for the model in use."""
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

    def warn(self, code: str, message: str, remedy: str | None) -> None:
        """Tell whoever reads the timeline."""
        self.say(AgentWarning(**self.where(), code=code, message=message, remedy=remedy))
