"""Ageing of what lies on one shelf: which derived facts fade or stay, and which past exchanges fade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from runtime.events import Retired
from runtime.facts import Ageing, Fact, FactWrite, Shelf
from runtime.memory.ageing import Derived, Verdict, kept_score, verdict, verdicts
from runtime.memory.lifecycle import Inclusion, Lifecycle, hours_between, inclusion
from runtime.memory_service.exchanges import Exchange
from runtime.memory_service.uses import access_key
from runtime.record import Access, Record

KEY = "__lifecycle"


class Looked(msgspec.Struct, frozen=True):
    """What is kept of the looks at a shelf: when the last was, and the versions that faded, with the time."""

    at: datetime | None = None
    faded: dict[str, tuple[int, datetime]] = {}


class Standing(msgspec.Struct, frozen=True):
    """How the derived facts of a shelf stand: a verdict on each, its version, the end that it was given, and
    the former ones that have been kept long enough."""

    shelf: Shelf
    verdicts: tuple[Verdict, ...]
    versions: dict[str, int]
    ends: dict[str, datetime | None]
    over: dict[str, int]
    looked: Looked

    @property
    def wish(self) -> Ageing:
        """What would be changed."""
        chosen = {action: self._keys(action) for action in ("fade", "promote")}
        return Ageing(retire=chosen["fade"], empty=self.over, promote=chosen["promote"])

    def _keys(self, action: str) -> dict[str, int]:
        return {v.key: self.versions[v.key] for v in self.verdicts if v.action == action}

    def changes(self, done: Ageing) -> tuple[Retired, ...]:
        """What was changed, as an event tells it."""
        by_key = {verdict.key: verdict for verdict in self.verdicts}
        faded = [
            Retired(
                key=key, version=version, action="fade", why=f"its score is {by_key[key].score:.2f}",
                until=self.ends[key],
            )
            for key, version in done.retire.items()
        ]  # fmt: skip
        earned = [
            Retired(
                key=key, version=version, action="promote",
                why=f"it has earned {by_key[key].promotion:.2f}",
            )
            for key, version in done.promote.items()
        ]  # fmt: skip
        return (*faded, *earned)


def rules_of(config: Any) -> Lifecycle:
    """The Memory's `lifecycle` settings for the arithmetic."""
    fields = {name: getattr(config, name) for name in config.__struct_fields__ if name != "inclusion"}
    return Lifecycle(**fields)


def inclusion_of(config: Any) -> Inclusion | None:
    """The Memory's `lifecycle.inclusion` settings for the arithmetic; None where it is off."""
    chosen = config.inclusion
    if not chosen.enabled:
        return None
    return Inclusion(decay_rate=chosen.decay_rate, usage_boost=chosen.usage_boost, threshold=chosen.threshold)


async def looked(record: Record, shelf: Shelf) -> Looked:
    """What is kept of the looks at a shelf; nothing where there is nothing, or it was erased."""
    found = await record.facts(shelf, keys=[KEY])
    try:
        return msgspec.convert(found[0].value, Looked) if found else Looked()
    except msgspec.ValidationError:
        return Looked()


def is_due(looked: Looked, now: datetime, rules: Lifecycle) -> bool:
    """Whether it is time to look again."""
    if not rules.enabled:
        return False
    return looked.at is None or hours_between(looked.at, now) >= rules.decay_check_interval_hours


async def standing(record: Record, shelf: Shelf, now: datetime, rules: Lifecycle) -> Standing:
    """How the derived facts of a shelf stand at `now`. Whose time is over is not among them."""
    kept = await looked(record, shelf)
    facts = [fact for fact in await record.facts(shelf) if not fact.internal and not fact.expired(now)]
    used = await record.accesses(shelf)
    derived = [fact for fact in facts if fact.origin == "derived"]
    items = [_derived(fact, facts, used.get(fact.key)) for fact in derived]
    until = now - timedelta(days=rules.decayed_retention_days)
    over = {key: version for key, (version, at) in kept.faded.items() if at <= until}
    versions = {fact.key: fact.version for fact in derived}
    ends = {fact.key: fact.valid_to for fact in derived}
    return Standing(shelf, verdicts(items, now, rules), versions, ends, over, kept)


def _derived(fact: Fact, facts: Sequence[Fact], used: Access | None) -> Derived:
    links = 0
    if fact.subject is not None:
        links = sum(other.subject == fact.subject and other.key != fact.key for other in facts)
    return _item(fact.key, fact.recorded_at, used, confidence=fact.confidence, links=links)


def _item(key: str, at: datetime, used: Access | None, *, confidence: float = 1.0, links: int = 0) -> Derived:
    score = kept_score(at, used.score if used else None, used.at if used else None)
    return Derived(key, at, confidence, used.hits if used else 0, score, links)


def note_of(before: Standing, done: Ageing, at: datetime) -> FactWrite:
    """What is kept of a look: its time, and what has faded and still has its value."""
    faded = {key: kept for key, kept in before.looked.faded.items() if before.over.get(key) != kept[0]}
    faded |= {key: (version, at) for key, version in done.retire.items()}
    value = msgspec.to_builtins(Looked(at, faded))
    return FactWrite(key=KEY, value=value, origin="derived", valid_from=at)


class Freshness:
    """Which past exchanges may still be recalled, and which of those that were found may not."""

    def __init__(self, config: Any, used: Mapping[str, Access], now: datetime) -> None:
        self._rules, self._inclusion = rules_of(config), inclusion_of(config)
        self._used, self._now = used, now
        self.faded: list[Exchange] = []

    def keeps(self, exchange: Exchange, likeness: float) -> bool:
        """Whether it has not faded and, where that is asked, qualifies. `likeness`: share of the question's
        words that it has."""
        key = access_key(exchange.ref)
        item = _item(key, exchange.at, self._used.get(key))
        kept = verdict(item, self._now, self._rules).action != "fade"
        if kept and self._inclusion is not None:
            age = hours_between(exchange.at, self._now)
            kept = inclusion(likeness, age, item.hits, self._inclusion).include
        if not kept:
            self.faded.append(exchange)
        return kept
