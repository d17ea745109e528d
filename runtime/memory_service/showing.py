"""Facts as candidates for a context, and what was chosen as lines of its bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.facts import Fact
from runtime.memory.candidates import Candidate
from runtime.memory.estimate import Estimator
from runtime.memory.injection_rules import Entry, Injected, Injection


def ref_of(fact: Fact) -> str:
    """How a fact is called on a bill."""
    return f"fact/{fact.key}"


def fact_text(fact: Fact) -> str:
    """A fact as the model reads it."""
    return f"{fact.key}: {msgspec.json.encode(fact.value).decode()}"


def candidate(fact: Fact) -> Candidate:
    """A fact as it may be injected."""
    return Candidate(
        ref=ref_of(fact),
        text=fact_text(fact),
        key=fact.key,
        at=fact.recorded_at,
        confidence=fact.confidence,
        origin=fact.origin,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )


def rules_of(limits: Any) -> Injection:
    """The Memory's `injection` settings for the arithmetic."""
    return Injection(
        tokens=limits.tokens,
        lines=limits.lines,
        bytes=limits.bytes,
        half_life_days=limits.half_life_days,
        min_confidence=limits.min_confidence,
        overflow=limits.overflow,
    )


class Sections(msgspec.Struct, frozen=True):
    """The parts of what stays the same, and of what was chosen for the question."""

    stable: tuple[ContextSection, ...]
    recalled: tuple[ContextSection, ...]


def sections(
    chosen: Injected,
    blocks: Sequence[Any],
    sources: Mapping[str, str],
    count: Estimator,
    *,
    by_query: bool = False,
) -> Sections:
    """Blocks, facts, insights and passages as sections with their items. `by_query`: also the facts that went
    whole were chosen for the question.

    Of facts and passages that were packed together the facts' section has its own items' tokens, the
    passages' section the rest: what stands around them is theirs.
    """
    stable: list[ContextSection] = []
    recalled: list[ContextSection] = []
    if chosen.blocks:
        names = tuple(ContextItem(ref=f"block/{block.name}", tokens=0) for block in blocks)
        stable.append(ContextSection(name="blocks", tokens=chosen.blocks_size.tokens, items=names))
    facts = [item(entry, sources) for entry in chosen.shown if entry.kind == "fact"]
    passages = tuple(item(entry, sources) for entry in chosen.shown if entry.kind == "episode")
    packed = 0 if chosen.recall is None else count(chosen.recall)
    if chosen.facts is not None:
        whole = [each for each in facts if not chosen.pinned or each.ref in chosen.pinned]
        (recalled if by_query else stable).extend(_of_facts(whole, count(chosen.facts)))
        facts = [each for each in facts if each not in whole]
    if facts:
        own = min(packed, sum(each.tokens for each in facts)) if passages else packed
        recalled += _of_facts(facts, own)
        packed -= own
    if passages:
        recalled.append(ContextSection(name="passages", tokens=packed, items=passages))
    return Sections(tuple(stable), tuple(recalled))


def _of_facts(facts: Sequence[ContextItem], tokens: int) -> list[ContextSection]:
    """Facts as known facts and, where they came from extraction, as insights; both stand in one text."""
    insights = tuple(each for each in facts if each.source == "derived")
    known = tuple(each for each in facts if each.source != "derived")
    of_insights = min(tokens, sum(each.tokens for each in insights)) if known else tokens
    found = [ContextSection(name="known_facts", tokens=tokens - of_insights, items=known)] if known else []
    return [
        *found,
        *([ContextSection(name="insights", tokens=of_insights, items=insights)] if insights else []),
    ]


def item(entry: Entry, sources: Mapping[str, str]) -> ContextItem:
    """One line of a bill."""
    return ContextItem(
        ref=entry.ref,
        tokens=entry.size.tokens,
        score=entry.score,
        source=sources.get(entry.ref),
        why=entry.reason,
    )
