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
    in tokens, None where no window is known; `count` gives the tokens of a text."""

    query: str
    supporting: int | None
    now: datetime
    count: Estimator


class Given(NamedTuple):
    """What a context is given, and the references of what is shown."""

    context: ForContext
    shown: frozenset[str]


async def give(
    config: Any, facts: Sequence[Fact], episodes: Sequence[Candidate], index: FactIndex, wish: Wish
) -> Given:
    """Facts that all fit go whole and stay where they are; else they compete, by how well they fit."""
    most = config.supporting.max_items.known_facts
    cut = most is not None and most < len(facts)
    episodes = episodes[: config.supporting.max_items.passages]
    chosen = _choose(config, facts[:most], episodes, wish)
    beyond: Sequence[Fact] = ()
    if len(facts) > 1 and (cut or chosen.facts is None):
        ranked = await index.rank(facts, wish.query, wish.now, wish.count)
        chosen = _choose(config, ranked[:most], episodes, wish)
        beyond = ranked[most:] if cut else ()
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


def _choose(config: Any, facts: Sequence[Fact], episodes: Sequence[Candidate], wish: Wish) -> Injected:
    return inject(
        [Block(block.name, block.content, block.order) for block in config.blocks],
        [candidate(fact) for fact in facts],
        episodes,
        now=wish.now,
        rules=rules_of(config.injection),
        count=wish.count,
        supporting=wish.supporting,
    )


def _beyond(fact: Fact, count: Estimator) -> ContextItem:
    return ContextItem(ref=ref_of(fact), tokens=count(fact_text(fact)), source=fact.origin, why="max_items")


def _warnings(config: Any, chosen: Injected) -> tuple[str, ...]:
    most = config.blocks_max_tokens
    if chosen.blocks_size.tokens <= most:
        return chosen.warnings
    return (*chosen.warnings, f"the pinned blocks are larger than blocks_max_tokens {most}")
