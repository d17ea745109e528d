"""What memory gives to one context: facts and past exchanges, chosen, with their lines on the bill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.events import ContextItem
from runtime.facts import Fact
from runtime.memory.candidates import Block, Candidate
from runtime.memory.estimate import Estimator
from runtime.memory.fence import Fence
from runtime.memory.injection import inject
from runtime.memory.injection_rules import Injected
from runtime.memory_service.indexes import FactIndex
from runtime.memory_service.shared import ForContext
from runtime.memory_service.showing import candidate, fact_text, item, ref_of, rules_of, sections

if TYPE_CHECKING:
    from runtime.memory.payload import Payload


class Wish(msgspec.Struct, frozen=True):
    """What a context asks of memory. `query` is the newest user message, `supporting` the supporting budget
    in tokens, None where no window is known; `count` gives the tokens of a text; `first` are keys of facts
    that come before others, best first."""

    query: str
    supporting: int | None
    now: datetime
    count: Estimator
    first: tuple[str, ...] = ()


class Chosen(msgspec.Struct, frozen=True):
    """What was chosen without sections. `cut`: also the facts that go whole were chosen for the question.
    `facts` and `episodes` come as they were offered; `left_out` is said besides what was chosen among."""

    config: Any
    injected: Injected
    count: Estimator
    facts: tuple[Fact, ...]
    episodes: tuple[Candidate, ...]
    cut: bool
    left_out: tuple[ContextItem, ...]

    def context(self) -> ForContext:
        """What is sent, with its bill."""
        chosen = self.injected
        sources: dict[str, str] = {ref_of(fact): fact.origin for fact in self.facts}
        sources |= {each.ref: f"{each.origin} {each.source}".strip() for each in self.episodes}
        parts = sections(chosen, self.config.blocks, sources, self.count, by_query=self.cut)
        left_out = [item(entry, sources) for entry in chosen.left_out]
        stable = (chosen.blocks, None if self.cut else chosen.facts)
        recall = (chosen.facts if self.cut else None, chosen.recall)
        return ForContext(
            "\n\n".join(part for part in stable if part),
            "\n\n".join(part for part in recall if part),
            parts.stable,
            parts.recalled,
            (*left_out, *self.left_out),
            _warnings(self.config, chosen),
            shown=self,
        )

    def payload(self) -> Payload:
        """Facts that stay where they are come surest first, then those that were chosen, best first."""
        from runtime.memory.payload import Payload
        from runtime.memory_service.giving import known, passages, surest

        tokens = {entry.ref: entry.size.tokens for entry in self.injected.shown}
        place = {ref: number for number, ref in enumerate(tokens)}
        stay = self._whole
        late = sorted(
            (fact for fact in self.facts if ref_of(fact) in tokens and ref_of(fact) not in stay),
            key=lambda fact: place[ref_of(fact)],
        )
        found = known([*surest([f for f in self.facts if ref_of(f) in stay]), *late], tokens)
        return Payload(
            passages=passages(self.episodes, tokens),
            insights=found.insights, entities=found.entities, facts=found.facts,
        )  # fmt: skip

    def without(self, refs: frozenset[str]) -> ForContext:
        """What is sent without these; every line stays in the text that it was in."""
        chosen, fence, whole = self.injected, Fence(), self._whole
        entries = tuple(entry for entry in chosen.entries if entry.ref not in refs)
        shown = [(entry.ref, entry.shown) for entry in entries if entry.shown is not None]
        facts = fence.frame(fence.facts_header, [line for ref, line in sorted(shown) if ref in whole])
        recall = fence.frame(fence.recall_header, [line for ref, line in shown if ref not in whole])
        less = msgspec.structs.replace(chosen, entries=entries, facts=facts or None, recall=recall or None)
        return msgspec.structs.replace(self, injected=less).context()

    @property
    def _whole(self) -> frozenset[str]:
        """References of the facts that are sent in a text of their own."""
        chosen = self.injected
        if chosen.facts is None:
            return frozenset()
        return chosen.pinned or frozenset(entry.ref for entry in chosen.shown if entry.kind == "fact")


async def give(
    config: Any, facts: Sequence[Fact], episodes: Sequence[Candidate], index: FactIndex, wish: Wish
) -> ForContext:
    """Facts that all fit go whole and stay where they are; else they compete, by how well they fit."""
    most = config.supporting.max_items
    kept, beyond = capped(facts, most.known_facts, most.insights)
    cut = bool(beyond)
    episodes = episodes[: most.passages]
    chosen = _choose(config, kept, episodes, wish)
    if len(facts) > 1 and (cut or chosen.facts is None):
        ranked = before_others(await index.rank(facts, wish.query, wish.now, wish.count), wish.first)
        kept, beyond = capped(ranked, most.known_facts, most.insights)
        chosen = _choose(config, kept, episodes, wish)
    left_out = tuple(_beyond(fact, wish.count) for fact in beyond)
    return Chosen(config, chosen, wish.count, tuple(facts), tuple(episodes), cut, left_out).context()


def capped(
    facts: Sequence[Fact], most: int | None, most_derived: int | None
) -> tuple[list[Fact], list[Fact]]:
    """The first facts, at most `most` and of the derived ones at most `most_derived`; and the others."""
    kept: list[Fact] = []
    beyond: list[Fact] = []
    derived = 0
    for fact in facts:
        is_derived = fact.origin == "derived"
        full = most is not None and len(kept) >= most
        full = full or (is_derived and most_derived is not None and derived >= most_derived)
        (beyond if full else kept).append(fact)
        derived += is_derived and not full
    return kept, beyond


def before_others(facts: Sequence[Fact], first: Sequence[str]) -> list[Fact]:
    """The facts with these keys in their order, then the others in theirs."""
    place = {key: number for number, key in enumerate(first)}
    return sorted(facts, key=lambda fact: place.get(fact.key, len(place)))


def _choose(config: Any, facts: Sequence[Fact], episodes: Sequence[Candidate], wish: Wish) -> Injected:
    return inject(
        [Block(block.name, block.content, block.order) for block in config.blocks],
        [candidate(fact) for fact in facts],
        episodes,
        now=wish.now,
        rules=rules_of(config.injection),
        count=wish.count,
        supporting=wish.supporting,
        pinned=[f"fact/{key}" for key in wish.first],
    )


def _beyond(fact: Fact, count: Estimator) -> ContextItem:
    return ContextItem(ref=ref_of(fact), tokens=count(fact_text(fact)), source=fact.origin, why="max_items")


def _warnings(config: Any, chosen: Injected) -> tuple[str, ...]:
    most = config.blocks_max_tokens
    if chosen.blocks_size.tokens <= most:
        return chosen.warnings
    return (*chosen.warnings, f"the pinned blocks are larger than blocks_max_tokens {most}")
