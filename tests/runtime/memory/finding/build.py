"""Short ways to make items and an index for the tests of finding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.index import MemoryIndex
from runtime.memory.finding.items import Item, Recalled

START = datetime(2025, 1, 1, 9, 0, tzinfo=UTC)
LATER = START + timedelta(days=3650)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def item(item_id: str, text: str, on: int = 0, **more: object) -> Item:
    """An item said by the user, costing a token for four characters."""
    values: dict[str, object] = {"tokens": max(1, len(text) // 4), "speaker": "user", "by_user": True}
    values.update(more)
    return Item(id=item_id, text=text, at=day(on), **values)  # type: ignore[arg-type]


def index_of(*items: Item, config: FindingConfig | None = None) -> MemoryIndex:
    index = MemoryIndex(config)
    index.add(items)
    return index


def ids(recalled: Recalled) -> list[str]:
    return [hit.id for hit in recalled.hits]
