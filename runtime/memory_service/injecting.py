"""What memory gives to one context: facts and past exchanges, chosen, with their lines on the bill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from runtime.events import ContextItem
from runtime.facts import Fact
from runtime.memory.candidates import Block, Candidate
from runtime.memory.estimate import Estimator
from runtime.memory.injection import inject
from runtime.memory.injection_rules import Injected
from runtime.memory_service.indexes import FactIndex
from runtime.memory_service.shared import ForContext
from runtime.memory_service.showing import candidate, fact_text, item, ref_of, rules_of, sections


class Wish(NamedTuple):
    """What a context asks of memory. `query` is the newest user message, `supporting` the supporting budget
    in tokens, None where no window is known; `count` gives the tokens of a text; `first` are keys of facts
    that come before others, best first."""

    query: str
    supporting: int | None
    now: datetime
    count: Estimator
    first: tuple[str, ...] = ()


class Given(NamedTuple):
    """What a context is given, and the references of what is shown."""

    context: ForContext
    shown: frozenset[str]


async def give(
    config: Any, facts: Sequence[Fact], episodes: Sequence[Candidate], index: FactIndex, wish: Wish
) -> Given:
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
    sources: dict[str, str] = {ref_of(fact): fact.origin for fact in facts}
    sources |= {each.ref: f"{each.origin} {each.source}".strip() for each in episodes}
    parts = sections(chosen, config.blocks, sources, wish.count, by_query=cut)
    left_out = [item(entry, sources) for entry in chosen.left_out]
    left_out += [_beyond(fact, wish.count) for fact in beyond]
    stable = (chosen.blocks, None if cut else chosen.facts)
    recall = (chosen.facts if cut else None, chosen.recall)
    context = ForContext(
        "\n\n".join(part for part in stable if part),
        "\n\n".join(part for part in recall if part),
        parts.stable,
        parts.recalled,
        tuple(left_out),
        _warnings(config, chosen),
    )
    return Given(context, frozenset(entry.ref for entry in chosen.shown))


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
