"""The parts of a context put together for one model call, within the window, with their bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from runtime.events import ContextAssembled, GaveWay
from runtime.memory.monitor import Reading
from runtime.memory_service.shared import TWICE
from runtime.reasoning.context import MAX_LEFT_OUT, Bill, Parts, bill_of
from runtime.reasoning.desk import Call

if TYPE_CHECKING:
    from runtime.memory.cascade import Gave
    from runtime.reasoning.bounds import Bounded
    from runtime.reasoning.thinking import Thinking


async def assembled(thinking: Thinking, call: Call, parts: Parts) -> Parts:
    """The parts as they are sent, with their bill on the timeline. Raises ContextTooLarge where what must be
    sent and the answer's room pass the model's window."""
    memory, limit = thinking.desk.memory, thinking.room
    tokens = 0 if limit is None else thinking.measure(call, parts)
    if limit is not None and memory is not None:
        memory.reading = Reading(tokens, limit, tokens / limit * 100)
    if limit is not None and tokens > limit:
        parts = await _less(thinking, call, parts, limit)
    else:
        _say_bill(thinking, call, bill_of(parts, thinking.counts))
    if memory is not None:
        memory.sent(parts.memory)
    return parts


async def _less(thinking: Thinking, call: Call, parts: Parts, limit: int) -> Parts:
    """So much of the parts as fits into `limit` tokens."""
    from runtime.reasoning.bounds import too_large

    found = await _fitted(thinking, call, parts, limit)
    bill = bill_of(found.parts, thinking.counts, found.left_out)
    _say_bill(thinking, call, bill, found.gave)
    if found.tokens > limit:
        error = too_large(bill, limit, found.tokens)
        error.node_id, error.run_id = thinking.desk.account.node_id, thinking.desk.account.run_id
        raise error
    if found.missed and not thinking.pressed:
        from runtime.reasoning.pressed import told

        thinking.pressed = True
        thinking.warn("context.emergency", *told(found, bill, limit, thinking.answer_room))
    return found.parts


async def _fitted(thinking: Thinking, call: Call, parts: Parts, limit: int) -> Bounded:
    """The parts within the window. An exchange that was not recalled for being sent as a turn may be, once
    that turn has given way."""
    from runtime.reasoning.bounds import joined, within

    def measure(tried: Parts) -> int:
        return thinking.measure(call, tried)

    found = within(parts, limit, measure, thinking.counts)
    while _lost(parts, found):
        kept = found.parts.past.prior
        memory = await thinking.recall(parts.instructions, parts.tools, kept)
        past = msgspec.structs.replace(parts.past, prior=kept)
        parts = msgspec.structs.replace(parts, memory=memory, past=past)
        found = joined(found, within(parts, limit, measure, thinking.counts))
    return found


def _lost(parts: Parts, found: Bounded) -> bool:
    """Whether an exchange is not sent at all that was to be sent as a turn."""
    kept = {turn.exchange for turn in found.parts.past.prior}
    gone = {turn.exchange for turn in parts.past.prior} - kept
    return any(item.why == TWICE and item.ref in gone for item in parts.memory.left_out)


def _say_bill(thinking: Thinking, call: Call, bill: Bill, gave: Sequence[Gave] = ()) -> None:
    window = thinking.desk.account.provider.window
    thinking.say(
        ContextAssembled(
            **thinking.where(),
            purpose=call.purpose,
            sections=bill.sections,
            tokens=bill.tokens,
            window=window,
            output_buffer=None if window is None else thinking.answer_room,
            left_out=bill.left_out[:MAX_LEFT_OUT],
            left_out_count=len(bill.left_out),
            gave_way=tuple(
                GaveWay(
                    stage=each.stage, name=each.name, items=each.pieces, before=each.before, after=each.after
                )
                for each in gave
            ),
        )
    )
