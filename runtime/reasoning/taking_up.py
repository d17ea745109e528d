"""What an agent takes up of the session's history: by window, by summary, or by what fits the question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.errors import BadSettings, ModelFailure
from runtime.events import CallError, ContextItem, PolicyFailed
from runtime.memory.history import tail, units
from runtime.memory.policies import Buffer, Recall, Summary
from runtime.memory_service.compacted import TITLE, Compacted, compacted, key_of
from runtime.memory_service.shared import MESSAGE
from runtime.messages import Message, Request
from runtime.reasoning.past import TURN, Note, Past, Prior, Recalled

if TYPE_CHECKING:
    from runtime.reasoning.thinking import Thinking
    from runtime.record import TurnLine

PRIMED_TITLE = "Summaries of earlier sessions, oldest first:"
SUMMARY_KEY = "__summary/"
"""Internal facts of kind `summary`, one for each agent."""


async def take_up(thinking: Thinking, history: list[Message]) -> Past:
    """The past of this turn by the agent's `context`, after what comes along of earlier sessions. A policy
    that fails leaves the whole of it."""
    if thinking.config.context.mode == "none":
        return Past()
    past = await _by_policy(thinking, history)
    memory = thinking.desk.memory
    if memory is None or not memory.config.priming.enabled:
        return past
    room = thinking.room
    brought = await memory.prior(thinking.count, thinking.count_all, room)
    primed = await memory.primed(thinking.count, room)
    if primed is not None and primed.summaries:
        notes = _numbered((_listed(PRIMED_TITLE, primed.summaries), *past.notes))
        past = msgspec.structs.replace(past, notes=notes)
    prior = []
    for line in brought.lines:
        messages = _messages(Buffer(sys.maxsize).window(line.messages).messages)
        prior.append(Prior(_item(thinking, line), messages))
    left_out = [_item(thinking, line, why) for line, why in brought.left_out]
    left_out += () if primed is None else primed.left_out
    return msgspec.structs.replace(past, prior=tuple(prior), left_out=tuple(left_out))


def _item(thinking: Thinking, line: TurnLine, why: str | None = None) -> ContextItem:
    """A turn of an earlier session as a line of the bill."""
    tokens, source = thinking.count_all(line.messages), f"session {line.session_name}"
    return ContextItem(ref=f"{TURN}{line.id}", tokens=tokens, source=source, why=why)


def _listed(title: str, texts: Sequence[str]) -> Note:
    return Note(title, tuple((f"summary/{number}", text) for number, text in enumerate(texts)))


def _numbered(notes: Sequence[Note]) -> tuple[Note, ...]:
    """The notes with their parts numbered through."""
    number, found = 0, []
    for note in notes:
        parts = tuple((f"summary/{number + at}", text) for at, (_, text) in enumerate(note.parts))
        found.append(msgspec.structs.replace(note, parts=parts))
        number += len(parts)
    return tuple(found)


async def _by_policy(thinking: Thinking, history: list[Message]) -> Past:
    context = thinking.config.context
    if context.mode == "summary":
        return await _summarised(thinking, context, history)
    if context.mode == "recall":
        return _recalled(thinking, context, history)
    kept = await _compacted(thinking)
    later = history[kept.upto :]
    keep = context.keep if context.mode == "buffer" else len(later)
    messages = _messages(Buffer(keep).window(later).messages)
    notes = (_listed(TITLE, kept.parts),) if kept.parts else ()
    return Past(messages, notes, first=kept.upto)


async def _compacted(thinking: Thinking) -> Compacted:
    """The summaries that stand for old turns, where the Memory's compaction is on."""
    memory, keeper = thinking.desk.memory, thinking.desk.internal
    if memory is None or not memory.config.compaction.enabled:
        return Compacted()
    return compacted(await keeper.read(key_of(thinking.desk.account.node_id, keeper.session_uid)))


def _messages(parts: Any) -> tuple[Message, ...]:
    return tuple(
        part
        if isinstance(part, Message)
        else Message(part.role, part.content, tool_call_id=part.tool_call_id)
        for part in parts
    )


# -- summary


class Kept(msgspec.Struct):
    """A summary as it is kept. `upto` says how many of each session's messages it stands for."""

    text: str
    upto: dict[str, int] = {}


async def _summarised(thinking: Thinking, context: Any, history: list[Message]) -> Past:
    policy = Summary(threshold_chars=context.threshold_chars, keep_last=context.keep_last)
    keeper = thinking.desk.internal
    key = SUMMARY_KEY + thinking.desk.account.node_id
    stored = await keeper.read(key)
    kept = msgspec.convert(stored, Kept) if stored is not None else Kept("")
    upto = min(kept.upto.get(keeper.session_uid, 0), len(history))
    note = [Message("system", policy.prefix + kept.text)] if kept.text else []
    stand = [*note, *history[upto:]]
    if policy.wanted(stand):
        request = policy.request(stand)
        text = await _ask_summary(thinking, context, request.system, request.user) if request else None
        if request is not None and text:
            covered = len(request.covers) - (len(note) if 0 in request.covers else 0)
            kept = Kept(text.strip(), {**kept.upto, keeper.session_uid: upto + covered})
            upto += covered
            await keeper.write(key, msgspec.to_builtins(kept), "summary")
    notes = (Note(policy.prefix, (("summary/0", kept.text),), listed=False),) if kept.text else ()
    return Past(_messages(Buffer(len(history)).window(history[upto:]).messages), notes)


async def _ask_summary(thinking: Thinking, context: Any, system: str, user: str) -> str | None:
    """The summary's text; None where the model fails, which is said and changes nothing."""
    try:
        request = Request(
            model="", messages=(Message("system", system), Message("user", user)), max_output_tokens=1000
        )
        return (await thinking.side_call(request, "summary", context.model)).reply.text
    except ModelFailure as failure:
        error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
        thinking.say(PolicyFailed(**thinking.where(), policy="summary", error=error))
        return None


# -- recall


def _recalled(thinking: Thinking, context: Any, history: list[Message]) -> Past:
    policy = Recall(keep_recent=context.keep_recent, k=context.k)
    recent = tail(units(history), len(history), max(0, context.keep_recent))
    inside = {index for part in recent for index in part.indices}
    older = [i for i in range(len(history)) if i not in inside and history[i].content]
    messages = _messages(message for part in recent for message in part.messages)
    query = thinking.turn[0].content or ""
    if not older or not query.strip() or policy.k <= 0:
        return Past(messages)
    try:
        found = _most_like(query, {i: history[i] for i in older}, context)
    except BadSettings as failure:
        error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
        thinking.say(PolicyFailed(**thinking.where(), policy="recall", error=error))
        return Past(messages)
    return Past(messages, recalled=tuple(found))


def _most_like(query: str, older: dict[int, Message], context: Any) -> list[Recalled]:
    """The messages that fit the query best, best first, at most `k`."""
    from datetime import UTC, datetime

    from runtime.memory.finding.index import MemoryIndex
    from runtime.memory.finding.items import Item
    from runtime.memory.finding.tokens import Tokens

    embedder = None
    if context.embedder == "static":
        from runtime.memory.finding.embed import StaticEmbedder

        embedder = StaticEmbedder()
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    index = MemoryIndex(embedder=embedder)
    index.add(
        Item(str(i), m.content or "", epoch, 1, speaker=m.role, by_user=m.role == "user")
        for i, m in older.items()
    )
    tokens = Tokens()
    wanted = frozenset(tokens.terms(query))
    found = []
    for hit in index.recall(query, context.k, datetime.now(UTC)).hits:
        message = older[int(hit.id)]
        text = message.content or ""
        common = wanted & frozenset(tokens.terms(text))
        likeness = len(common) / len(wanted) if wanted else 1.0
        found.append(Recalled(f"{MESSAGE}{hit.id}", message.role, text, hit.score, likeness))
    return found
