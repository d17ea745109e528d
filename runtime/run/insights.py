"""Care of derived facts when old turns are summed up: what repeats a newer one goes, what is used stays."""

from __future__ import annotations

from datetime import datetime

from runtime.calls import Account
from runtime.events import MemoryConsolidated, Retired
from runtime.facts import Ageing, Shelf
from runtime.memory.compaction_rules import Compaction
from runtime.memory.insights import Duplicate, Insight, duplicates, promotions
from runtime.memory_service.showing import fact_text


async def tidy(account: Account, shelf: Shelf, rules: Compaction) -> Ageing:
    """Retire derived facts that say what a newer one says; those that `promote_hits` runs used become facts
    that stay. One transaction with its event; nothing is said where nothing was done."""
    journal = account.journal
    now = journal.clock.now()
    facts = [
        fact
        for fact in await journal.record.facts(shelf)
        if fact.origin == "derived" and not fact.internal and not fact.expired(now)
    ]
    if not facts:
        return Ageing()
    used = await journal.record.accesses(shelf)
    hits = {fact.key: used[fact.key].hits if fact.key in used else 0 for fact in facts}
    insights = [Insight(f.key, fact_text(f), f.recorded_at, hits=hits[f.key]) for f in facts]
    repeated = {found.ref: found for found in duplicates(insights, rules)}
    stay = promotions([each for each in insights if each.ref not in repeated], rules)
    versions = {fact.key: fact.version for fact in facts}
    ends = {fact.key: fact.valid_to for fact in facts}
    wish = Ageing(
        retire={key: versions[key] for key in repeated}, promote={key: versions[key] for key in stay}
    )

    def told(done: Ageing) -> list[MemoryConsolidated]:
        merged = tuple(_merged(repeated[key], version, ends[key]) for key, version in done.retire.items())
        earned = tuple(
            Retired(key=key, version=version, action="promote", why=f"{hits[key]} runs used it")
            for key, version in done.promote.items()
        )
        return [
            MemoryConsolidated(
                at=now, run_id=account.run_id, node_id=account.node_id, namespace=shelf.namespace,
                scope=shelf.scope, owner=shelf.owner, keys=(*done.retire, *done.promote),
                merged=len(merged), promoted=len(earned), batch=account.run_id, changes=(*merged, *earned),
            )
        ]  # fmt: skip

    return await journal.age_facts(shelf, wish, told)


def _merged(found: Duplicate, version: int, until: datetime | None) -> Retired:
    why = f"{found.superseded_by} says the same ({found.likeness:.0%} alike)"
    return Retired(
        key=found.ref, version=version, action="merge", why=why, by=found.superseded_by, until=until
    )
