"""A whole context within a window: whatever its parts are, it fits or nothing is left to give."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodes.memory import Block, InjectionLimits, MemoryConfig, Supporting
from runtime.events import ContextItem
from runtime.facts import Fact
from runtime.memory.candidates import Candidate
from runtime.memory_service import NOTHING, ForContext
from runtime.memory_service.indexes import FactIndex
from runtime.memory_service.injecting import Wish, give
from runtime.memory_service.laying_out import lay_out
from runtime.memory_service.shared import Beside
from runtime.messages import Message, ToolCall, ToolSpec
from runtime.models.characters import text_tokens
from runtime.models.counter import MESSAGE_TOKENS, message_tokens
from runtime.reasoning.bounds import Bounded, within
from runtime.reasoning.context import Counts, Parts, bill_of
from runtime.reasoning.past import Note, Past, Prior, Recalled
from runtime.reasoning.results import results_of
from tests.quick import examples

NOW = datetime(2026, 1, 5, tzinfo=UTC)
COUNTS = Counts(text_tokens, lambda messages: sum(map(message_tokens, messages)))
TOOL = ToolSpec(name="look", description="Looks a word up.", parameters={})
ASKED = "what is asked"
LINE = re.compile(r"\n|(?=<item>)|(?<=</item>)")
"""Between what stands alone in memory: lines, and the items of XML, which stand on one line."""


def measure(parts: Parts) -> int:
    said = f"{parts.recalled}\n\n{ASKED}" if parts.recalled else ASKED
    return sum(map(message_tokens, parts.messages(Message("user", said))))


words = st.integers(1, 120).map(lambda number: "word " * number)
number = st.integers(0, 4)


@st.composite
def turns(draw: Any, most: int, prefix: str) -> tuple[Message, ...]:
    """Turns, some with calls of tools."""
    found: list[Message] = []
    for turn in range(draw(st.integers(0, most))):
        found.append(Message("user", f"{prefix}{turn} " + draw(words)))
        found += draw(steps(f"{prefix}{turn}"))
        found.append(Message("assistant", draw(words)))
    return tuple(found)


@st.composite
def steps(draw: Any, prefix: str, most: int = 2) -> list[Message]:
    found: list[Message] = []
    for step in range(draw(st.integers(0, most))):
        ids = [f"{prefix}-{step}-{call}" for call in range(draw(st.integers(1, 2)))]
        found.append(Message("assistant", None, tuple(ToolCall(id_, "look", "{}") for id_ in ids)))
        found += [Message("tool", draw(words), tool_call_id=id_) for id_ in ids]
    return found


@st.composite
def memories(draw: Any, beside: Beside) -> ForContext:
    if draw(st.booleans()):
        return NOTHING
    origins = st.sampled_from(["user", "derived"])
    subjects = st.sampled_from([None, "ada"])
    facts = [
        Fact(key=f"k{n:02}", value=draw(words), origin=draw(origins), subject=draw(subjects), recorded_at=NOW)
        for n in range(draw(st.integers(0, 9)))
    ]
    likenesses = st.sampled_from([0.1, 0.4, 0.8])
    episodes = [
        Candidate(ref=f"episode/{n}", text=draw(words), kind="episode", at=NOW, likeness=draw(likenesses))
        for n in range(draw(number))
    ]
    limits = InjectionLimits(tokens=draw(st.sampled_from([60, 400, 5000])))
    style = draw(st.sampled_from([None, "plain", "markdown", "json", "xml"]))
    blocks = (Block(name="who", content="the shop"),) if draw(st.booleans()) else ()
    config = MemoryConfig(scope="user", injection=limits, blocks=blocks, supporting=Supporting(style=style))
    wish = Wish("word k01", None, NOW, text_tokens)
    if style is None:
        return asyncio.run(give(config, facts, episodes, FactIndex(), wish))
    return asyncio.run(lay_out(config, facts, episodes, FactIndex(), wish, beside))


@st.composite
def contexts(draw: Any) -> Parts:
    notes = tuple(
        Note(f"Note {n}:", ((f"summary/{n}", draw(words)),), listed=draw(st.booleans()))
        for n in range(draw(number))
    )
    recalled = tuple(
        Recalled(f"message/{900 + n}", "user", draw(words), 1.0, draw(st.sampled_from([0.2, 0.9])))
        for n in range(draw(number))
    )
    prior = tuple(
        Prior(ContextItem(ref=f"turn/{n}", tokens=1), (Message("user", draw(words)),))
        for n in range(draw(number))
    )
    state = draw(st.sampled_from(["", "1. look " * 20]))
    past = Past(draw(turns(13, "h")), notes, recalled, prior)
    texts = tuple(text for _, text in past.summaries)
    beside = Beside(texts, state, (TOOL,), tuple(each.candidate for each in recalled))
    memory = draw(memories(beside))
    if memory.laid_out:
        past, state = Past(past.messages, prior=prior), ""
    turn = (Message("user", ASKED), *draw(steps("t", 5)))
    return Parts("Be brief.", (TOOL,), memory, state, past, turn)


def pairs_hold(messages: tuple[Message, ...]) -> bool:
    """Whether every call is followed by its results, and every result stands behind its call."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting:
            return False
        else:
            waiting = [call.id for call in message.tool_calls]
    return not waiting


def nothing_left(found: Bounded) -> bool:
    """Whether all that is left must be sent."""
    parts = found.parts
    mine = {ref.partition("/")[0] for ref in parts.memory.refs} - {"block"}
    past = parts.past
    said = [*past.messages, *past.notes, *past.recalled, *past.prior]
    small = all(
        "to stay within the model's window" in (parts.turn[each.place].content or "")
        or message_tokens(parts.turn[each.place]) <= MESSAGE_TOKENS + 40
        for each in results_of(parts.turn)
    )
    return not said and not mine and not parts.state and small


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(parts=contexts(), limit=st.integers(1, 4000))
def test_a_context_fits_or_nothing_is_left_to_give(parts: Parts, limit: int) -> None:
    found = within(parts, limit, measure, COUNTS)
    assert found == within(parts, limit, measure, COUNTS), "deterministic"
    assert found.tokens == measure(found.parts)
    assert found.tokens <= limit or nothing_left(found)
    less = found.parts
    messages = less.messages(Message("user", ASKED))
    assert pairs_hold(messages) and pairs_hold(less.past.messages), "calls keep their results"
    assert (less.instructions, less.tools) == (parts.instructions, parts.tools)
    assert [m.role for m in less.turn] == [m.role for m in parts.turn] and less.turn[0] == parts.turn[0]
    whole = parts.past.messages
    assert less.past.messages == whole[len(whole) - len(less.past.messages) :], "the oldest go first"
    assert less.past.first == len(whole) - len(less.past.messages)
    blocks = [section for section in parts.memory.sections if section.name == "blocks"]
    assert [section for section in less.memory.sections if section.name == "blocks"] == blocks
    if measure(parts) <= limit:
        assert found == Bounded(parts, measure(parts)), "nothing goes that need not"
        return
    stages = [gave.stage for gave in found.gave]
    assert stages == sorted(set(stages))
    assert all(gave.before > limit for gave in found.gave)
    assert found.gave == () or found.gave[-1].after == found.tokens
    sent = {item.ref for section in bill_of(less, COUNTS).sections for item in section.items}
    gone = {item.ref for item in found.left_out if not (item.why or "").endswith("is sent")}
    assert not sent & gone
    assert all(item.why and item.why.startswith("stage ") for item in found.left_out)
    before = {item.ref for section in bill_of(parts, COUNTS).sections for item in section.items}
    assert before - sent <= gone, "all that gave way is named"


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(parts=contexts(), limit=st.integers(1, 4000))
def test_what_is_left_of_memory_stands_where_it_stood(parts: Parts, limit: int) -> None:
    less = within(parts, limit, measure, COUNTS).parts.memory
    for left, whole in ((less.text, parts.memory.text), (less.recall, parts.memory.recall)):
        if parts.memory.laid_out and ("json" in whole or "{" in whole):
            continue
        lines = iter(LINE.split(whole))
        assert all(line in lines for line in LINE.split(left) if line), "in the same order, unchanged"
