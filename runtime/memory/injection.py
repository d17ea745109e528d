"""Chooses which blocks, facts and episodes go into a context, within limits that hold for what is sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from runtime.errors import BadConfig
from runtime.memory.candidates import Block, Candidate, of_other_sessions, unsound
from runtime.memory.estimate import Estimator
from runtime.memory.fence import Fence
from runtime.memory.injection_rules import Entry, Injected, Injection
from runtime.memory.item_injection import blocks_warning, entry_of, inject_items
from runtime.memory.packing import NOTHING, Item, Limits, Placed, Size, measure, pack_rendered
from runtime.memory.ranking import Ranked, rank


def inject(
    blocks: Sequence[Block],
    facts: Sequence[Candidate],
    episodes: Sequence[Candidate],
    *,
    now: datetime,
    rules: Injection,
    count: Estimator,
    supporting: int | None = None,
    session: str | None = None,
    pinned: Sequence[str] = (),
    fence: Fence | None = None,
) -> Injected:
    """Blocks whole; facts that all fit, whole and by key; else facts and episodes by rank, while they fit.

    `facts` and `episodes` come best first. `supporting` is the supporting budget in tokens: 0 admits
    nothing, None sets no further limit. Episodes of `session` are left out. `pinned` are references of facts
    that go whole where not all do, the first as far as they fit; rendered accounting only. Deterministic.
    """
    others = of_other_sessions(episodes, session, rules.episode_limit)
    facts = facts if rules.fact_limit is None else facts[: max(0, rules.fact_limit)]
    sound_facts, bad_facts = _sift(facts, now, rules, count)
    sound_episodes, bad_episodes = _sift(others, now, rules, count)
    limits = rules.limits(supporting)
    if rules.accounting == "items":
        chosen = inject_items(
            blocks, sound_facts, sound_episodes, now=now, rules=rules, limits=limits, count=count
        )
    else:
        packer = _Packer(rules, limits, count, fence or Fence(), now)
        chosen = packer.inject(blocks, sound_facts, sound_episodes, pinned)
    return replace(chosen, entries=(*chosen.entries, *bad_facts, *bad_episodes))


def check_blocks(
    blocks: Sequence[Block], max_tokens: int | None, count: Estimator, fence: Fence | None = None
) -> int:
    """Tokens of all blocks as they are sent. Raises BadConfig, naming the largest, above `max_tokens`."""
    fence = fence or Fence()
    text = fence.blocks(blocks)
    tokens = count(text) if text else 0
    if max_tokens is None or tokens <= max_tokens:
        return tokens
    largest = max(blocks, key=lambda block: count(fence.blocks([block])))
    raise BadConfig(
        f"The blocks take {tokens} tokens, {max_tokens} are allowed; the largest is {largest.name!r}.",
        remedy="Shorten it, or raise blocks_max_tokens.",
    )


def _sift(
    items: Sequence[Candidate], now: datetime, rules: Injection, count: Estimator
) -> tuple[list[Candidate], list[Entry]]:
    """The sound candidates, and the report of the others."""
    sound: list[Candidate] = []
    entries: list[Entry] = []
    for position, item in enumerate(items):
        reason = unsound(item, now, rules.min_confidence) if rules.filters else None
        if reason is None:
            sound.append(item)
            continue
        placed = Placed(item.ref, "dropped", None, reason, measure(item.text, count))
        entries.append(entry_of(Ranked(item, position, 0.0, 0.0), placed))
    return sound, entries


class _Packer:
    """One injection by rendered size: every check is made on the very text that would be sent."""

    def __init__(
        self, rules: Injection, limits: Limits, count: Estimator, fence: Fence, now: datetime
    ) -> None:
        self.rules, self.limits, self.count, self.fence, self.now = rules, limits, count, fence, now
        self.blocks = ""
        self.lines: dict[int, str] = {}
        self.room = limits

    def inject(
        self,
        blocks: Sequence[Block],
        facts: Sequence[Candidate],
        episodes: Sequence[Candidate],
        pinned: Sequence[str] = (),
    ) -> Injected:
        self.blocks = self.fence.blocks(blocks)
        size = measure(self.blocks, self.count) if self.blocks else NOTHING
        self.room = self.limits.less(size)
        over = self.limits.exceeded(size)
        if over is not None:
            entries = [self._dropped(entry) for entry in self._rank(facts, episodes)]
            return self._result(size, None, None, entries, (blocks_warning(over),))
        whole = self._whole(facts)
        if whole is not None:
            entries = [self._full(entry) for entry in self._rank(facts, ())]
            recall, more = self._packed(self._rank((), episodes), whole)
            return self._result(size, whole or None, recall, entries + more)
        first, text = self._pinned(facts, pinned)
        others = [item for item in facts if item not in first]
        entries = [self._full(entry) for entry in self._rank(first, ())]
        recall, more = self._packed(self._rank(others, episodes), text)
        refs = frozenset(item.ref for item in first)
        return replace(self._result(size, text or None, recall, entries + more), pinned=refs)

    def _pinned(self, facts: Sequence[Candidate], pinned: Sequence[str]) -> tuple[list[Candidate], str]:
        """The first of the pinned facts that go whole together, and their text; empty where none does."""
        by_ref = {item.ref: item for item in facts}
        first = [by_ref[ref] for ref in pinned if ref in by_ref]
        while first:
            text = self._whole(first)
            if text:
                return first, text
            first = first[:-1]
        return [], ""

    def _rank(self, facts: Sequence[Candidate], episodes: Sequence[Candidate]) -> tuple[Ranked, ...]:
        rules = self.rules
        return rank(
            facts,
            episodes,
            self.now,
            half_life_days=rules.half_life_days,
            confidence_weight=rules.confidence_weight,
            k=rules.rrf_k,
        )

    def _whole(self, facts: Sequence[Candidate]) -> str | None:
        """The text of all facts, by key, if they fit; empty where there are none; None if they do not fit."""
        ordered = sorted(facts, key=lambda item: (item.key, item.ref))
        text = self.fence.frame(self.fence.facts_header, [self._line(item) for item in ordered])
        return text if self._left([text]).exceeded(NOTHING) is None else None

    def _packed(self, ranked: Sequence[Ranked], facts_text: str) -> tuple[str | None, list[Entry]]:
        """What fits of `ranked` beside `facts_text`."""
        fence = self.fence
        items = [
            Item(entry.item.ref, entry.item.text, measure(self._line(entry.item), self.count))
            for entry in ranked
        ]

        def line_of(index: int, text: str) -> str:
            item = ranked[index].item
            return self._line(item) if text is item.text else fence.line(item, text)

        def room(shown: Sequence[str]) -> Limits:
            return self._left([facts_text, fence.frame(fence.recall_header, shown)])

        placed = pack_rendered(items, line_of, room, self.rules.overflow)
        shown = [place.shown for place in placed if place.shown is not None]
        entries = [entry_of(entry, place) for entry, place in zip(ranked, placed, strict=True)]
        return fence.frame(fence.recall_header, shown) or None, entries

    def _line(self, item: Candidate) -> str:
        """An item's whole line; written once, since candidates are many."""
        line = self.lines.get(id(item))
        if line is None:
            line = self.lines[id(item)] = self.fence.line(item, item.text)
        return line

    def _full(self, ranked: Ranked) -> Entry:
        line = self._line(ranked.item)
        return entry_of(ranked, Placed(ranked.item.ref, "full", line, None, measure(line, self.count)))

    def _dropped(self, ranked: Ranked) -> Entry:
        size = measure(self._line(ranked.item), self.count)
        return entry_of(ranked, Placed(ranked.item.ref, "dropped", None, "blocks", size))

    def _size(self, parts: Sequence[str]) -> Size:
        """The size of some parts, each a message of its own; a token counter may round either way."""
        sent = [part for part in parts if part]
        if not sent:
            return NOTHING
        together = measure(self.rules.join.join(sent), self.count)
        apart = sum(self.count(part) for part in sent)
        return together._replace(tokens=max(together.tokens, apart))

    def _left(self, memory: Sequence[str]) -> Limits:
        """What these parts leave, of the room beside the blocks and of the whole with them."""
        beside = self.room.less(self._size(memory))
        if not self.blocks or not any(memory):
            return beside
        return beside.least(self.limits.less(self._size([self.blocks, *memory])))

    def _result(
        self,
        size: Size,
        facts: str | None,
        recall: str | None,
        entries: Sequence[Entry],
        warnings: tuple[str, ...] = (),
    ) -> Injected:
        memory = self._size([facts or "", recall or ""])
        room = self.room.tokens
        return Injected(self.blocks or None, facts, recall, tuple(entries), size, memory, room, warnings)
