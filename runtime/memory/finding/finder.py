"""The index as the evaluation asks it: a conversation's turns in, ids of turns out."""

from __future__ import annotations

from datetime import datetime

from runtime.memory.evaluation import Shown
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.embed import Embedder
from runtime.memory.finding.index import MemoryIndex
from runtime.memory.finding.items import Item
from runtime.memory.finding.scenarios import Conversation


class IndexFinder:
    """A `Finder` over a fresh `MemoryIndex`."""

    def __init__(self, config: FindingConfig | None = None, embedder: Embedder | None = None) -> None:
        self._index = MemoryIndex(config, embedder)

    def add(self, conversation: Conversation) -> None:
        self._index.add(
            Item(
                turn.id,
                turn.text,
                turn.at,
                turn.tokens,
                speaker=turn.speaker,
                session=conversation.id,
                by_user=turn.role == "user",
            )
            for turn in conversation.turns
        )

    def recall(self, query: str, token_budget: int, now: datetime) -> list[Shown]:
        return [Shown((hit.id,)) for hit in self._index.recall(query, token_budget, now).hits]
