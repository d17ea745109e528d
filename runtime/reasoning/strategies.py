"""How a step is made: native tool calls, a thought and then an action, or one action as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from runtime.messages import Message, ToolCall
from runtime.reasoning.action import Action, action_schema, instructions, read_action
from runtime.reasoning.arguments import without_broken
from runtime.reasoning.desk import Call
from runtime.reasoning.results import RESULT
from runtime.reasoning.thinking import Thinking
from runtime.reasoning.toolbox import distinct_ids

THINK = (
    "First think: say in a few sentences what is asked, what you know, and what to do next."
    " Do not answer yet and call nothing."
)
ACT = "Now give your next action as one JSON object, as described above."


class Decision(NamedTuple):
    """What a step came to: an answer, or the messages with which the next one goes on."""

    answer: str | None = None


Strategy = Callable[[Thinking], Awaitable[Decision]]


async def with_tools(thinking: Thinking) -> Decision:
    """One call; the model calls tools natively."""
    tools = thinking.desk.toolbox.specs
    schema = thinking.config.output_schema if not tools else None
    answered = await thinking.call(Call(tools=tools, schema=schema, extra=_shape(thinking)))
    message = distinct_ids(answered.reply.message)
    thinking.turn.append(without_broken(message))
    if not message.tool_calls:
        return Decision(answered.reply.text)
    thinking.turn += await thinking.use_tools(message.tool_calls)
    return Decision()


async def with_json(thinking: Thinking) -> Decision:
    """One call that answers with one action object."""
    tools = thinking.desk.toolbox.specs
    extra = "\n\n".join(part for part in (instructions(tools), _shape(thinking)) if part)
    answered = await thinking.call(Call(extra=extra, schema=action_schema(tools), stream=False))
    return await _act(thinking, answered.reply.text, read_action(answered.reply.text, thinking.step))


async def with_thought(thinking: Thinking) -> Decision:
    """Two calls under one decision and one hold: a thought, then the action that it leads to."""
    tools = thinking.desk.toolbox.specs
    extra = "\n\n".join(part for part in (instructions(tools), _shape(thinking)) if part)
    thought = await thinking.call(
        Call(
            purpose="thought",
            extra=extra,
            after=(Message("user", THINK),),
            stream=False,
            hold_for=2,
            keep_hold=True,
        )
    )
    said = Message("assistant", thought.reply.text)
    action = await thinking.call(
        Call(
            purpose="action",
            extra=extra,
            after=(Message("user", THINK), said, Message("user", ACT)),
            schema=action_schema(tools),
            stream=False,
            carries=thought.key,
        )
    )
    return await _act(thinking, action.reply.text, read_action(action.reply.text, thinking.step))


async def _act(thinking: Thinking, text: str, action: Action) -> Decision:
    """Carry out an action that was given as text; the result comes back as the user's next message."""
    if action.answer is not None:
        thinking.turn.append(Message("assistant", action.answer))
        return Decision(action.answer)
    thinking.turn.append(Message("assistant", text))
    if action.call is None:
        thinking.turn.append(Message("user", f"{action.wrong} {ACT}"))
        return Decision()
    thinking.turn.append(Message("user", await _result(thinking, action.call)))
    return Decision()


async def _result(thinking: Thinking, call: ToolCall) -> str:
    (result,) = await thinking.use_tools((call,))
    return f"{RESULT}{call.name}: {result.content}"


def _shape(thinking: Thinking) -> str:
    """What to tell the model about the shape of its answer."""
    schema = thinking.config.output_schema
    if schema is None:
        return ""
    return (
        f"Your answer must be JSON of this schema, and nothing else: {msgspec.json.encode(schema).decode()}"
    )


STRATEGIES: dict[str, Strategy] = {"tools": with_tools, "json": with_json, "thinker": with_thought}
