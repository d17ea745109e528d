"""Injection by items: each candidate is counted on its own, what stands around them is not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtime.memory.candidates import Block, Candidate
from runtime.memory.estimate import Estimator
from runtime.memory.injection_rules import Entry, Injected, Injection
from runtime.memory.packing import NOTHING, Item, Limits, Placed, Size, measure, pack
from runtime.memory.ranking import Ranked, rank

RECALL_HEADER = "Recalled memory (most relevant first):\n"
FACTS_HEADER = "Known facts:\n"
EPISODES_HEADER = "Relevant past episodes:\n"
BULLET = "- "


def fact_text(statement: str, confidence: float, valid_to: datetime | None = None) -> str:
    """A fact as item accounting shows it; one that is no longer valid says until when it was."""
    until = f" (until {valid_to.isoformat()})" if valid_to is not None else ""
    return f"{statement} [confidence {confidence:.2f}]{until}"


def episode_text(at: datetime, asked: str, answered: str) -> str:
    """An episode as item accounting shows it."""
    return f"[{at.isoformat()}] {asked!r} -> {answered!r}"


def _block(block: Block) -> str:
    return f"<{block.name}>\n{block.content}\n</{block.name}>"


def inject_items(
    blocks: Sequence[Block],
    facts: Sequence[Candidate],
    episodes: Sequence[Candidate],
    *,
    now: datetime,
    rules: Injection,
    limits: Limits,
    count: Estimator,
) -> Injected:
    """Blocks first and whole; then facts and episodes in one ranked list, packed into what they leave.

    Without any limit both are shown whole, in the given order, under a header each.
    """
    pinned = [_block(block) for block in sorted(blocks, key=lambda block: block.order)]
    sizes = [measure(text, count) for text in pinned]
    blocks_size = Size(*(sum(size[i] for size in sizes) for i in range(3))) if sizes else NOTHING
    blocks_text = rules.join.join(pinned) if pinned else None
    ranked = rank(facts, episodes, now, half_life_days=rules.half_life_days, k=rules.rrf_k)
    room = limits.less(blocks_size)
    if limits == Limits(None, None, None):
        return _all(blocks_text, facts, episodes, ranked, blocks_size, count, rules.join)
    items = [_item(entry.item, count) for entry in ranked]
    if room.open:
        placed = pack(items, room, rules.overflow, chars_per_token=rules.chars_per_token)
    else:
        placed = tuple(Placed(item.ref, "dropped", None, "blocks", item.size) for item in items)
    shown = [place.shown for place in placed if place.shown is not None]
    full = [place.size for place in placed if place.status == "full"]
    used = Size(*(sum(size[i] for size in full) for i in range(3))) if full else NOTHING
    over = limits.exceeded(blocks_size)
    return Injected(
        blocks=blocks_text,
        facts=None,
        recall=RECALL_HEADER + "\n".join(shown) if shown else None,
        entries=tuple(entry_of(entry, place) for entry, place in zip(ranked, placed, strict=True)),
        blocks_size=blocks_size,
        memory_size=used,
        allowance=room.tokens,
        warnings=(blocks_warning(over),) if over else (),
    )


def _item(item: Candidate, count: Estimator) -> Item:
    text = BULLET + item.text
    return Item(item.ref, text, measure(text, count))


def entry_of(ranked: Ranked, placed: Placed) -> Entry:
    """The report of one candidate."""
    return Entry(
        ref=placed.ref,
        kind=ranked.item.kind,
        rank=ranked.rank,
        relevance=ranked.relevance,
        score=ranked.score,
        size=placed.size,
        status=placed.status,
        reason=placed.reason,
        shown=placed.shown,
    )


def blocks_warning(limit: str) -> str:
    """What a person is told where the pinned blocks alone exceed a limit."""
    return f"The blocks alone exceed the limit of {limit}; they are sent whole and nothing is recalled."


def _all(
    blocks_text: str | None,
    facts: Sequence[Candidate],
    episodes: Sequence[Candidate],
    ranked: Sequence[Ranked],
    blocks_size: Size,
    count: Estimator,
    join: str,
) -> Injected:
    lists = ((FACTS_HEADER, facts), (EPISODES_HEADER, episodes))
    parts = [header + "\n".join(BULLET + item.text for item in items) for header, items in lists if items]
    placed = [
        Placed(item.ref, "full", item.text, None, item.size)
        for item in (_item(entry.item, count) for entry in ranked)
    ]
    return Injected(
        blocks=blocks_text,
        facts=None,
        recall=join.join(parts) if parts else None,
        entries=tuple(entry_of(entry, place) for entry, place in zip(ranked, placed, strict=True)),
        blocks_size=blocks_size,
        memory_size=measure(join.join(parts), count) if parts else NOTHING,
        allowance=None,
    )
