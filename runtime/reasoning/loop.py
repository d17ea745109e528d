"""The agent's loop: steps until there is an answer, and the answer in the shape that is asked for."""

from __future__ import annotations

from typing import Any

from runtime.errors import RunFailure
from runtime.messages import Message
from runtime.node import NodeResult
from runtime.reasoning.action import find_value
from runtime.reasoning.desk import Call, Desk
from runtime.reasoning.strategies import STRATEGIES
from runtime.reasoning.thinking import Thinking
from runtime.schema_check import Schema


async def reason(config: Any, desk: Desk, prompt: str) -> NodeResult:
    """An agent's visit: its answer, and the turn for the session's history.

    Raises BoundReached, BudgetStop, ModelFailure, ContextTooLarge; RunFailure where the answer does not have
    the asked-for shape after one repair.
    """
    thinking = Thinking(config, desk, prompt)
    await thinking.begin()
    answer = await _answer(thinking)
    value = answer if config.output_schema is None else await _shaped(thinking, answer)
    return NodeResult(value, turn=tuple(thinking.turn))


async def _answer(thinking: Thinking) -> str:
    strategy = STRATEGIES[thinking.config.strategy]
    for _ in range(thinking.config.max_iterations):
        await thinking.next_step()
        decision = await strategy(thinking)
        if decision.answer is not None:
            return decision.answer
    raise thinking.bound()


async def _shaped(thinking: Thinking, answer: str) -> Any:
    """The answer as a value of the schema; the model may mend it once."""
    value, wrong = _read(answer, thinking.config.output_schema)
    if wrong is None:
        return value
    thinking.turn.append(
        Message("user", f"Your answer cannot be used: {wrong}. Give it again, as JSON of the schema alone.")
    )
    await thinking.next_step()
    mended = await thinking.call(Call(purpose="repair", schema=thinking.config.output_schema, stream=False))
    thinking.turn.append(Message("assistant", mended.reply.text))
    value, wrong = _read(mended.reply.text, thinking.config.output_schema)
    if wrong is None:
        return value
    raise RunFailure(
        f"The answer does not have the asked-for shape, and neither has the repaired one: {wrong}.",
        code="agent.bad_output",
        remedy="Say in the instructions what the answer must hold, or ease `output_schema`.",
        node_id=thinking.desk.account.node_id,
        run_id=thinking.desk.account.run_id,
    )


def _read(text: str, schema: dict[str, Any]) -> tuple[Any, str | None]:
    """The value of an answer, or what is wrong with it in words for the model."""
    try:
        value = find_value(text)
    except ValueError as error:
        return None, str(error)
    found = Schema(schema).mismatches(value)
    return value, "; ".join(map(str, found)) or None
