"""The index of one user's memory items: kept in step item by item, and asked with `recall`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from runtime.memory.finding.columns import Array
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.corpus import Corpus
from runtime.memory.finding.embed import Embedder
from runtime.memory.finding.items import Item, Recalled
from runtime.memory.finding.ranking import Asked
from runtime.memory.finding.search import recall


class MemoryIndex:
    """Up to about 100,000 items of one user, in memory. Not to be shared between threads while it changes.

    With an `embedder` every item gets a vector when it is added; vectors made elsewhere can be given instead.
    """

    def __init__(self, config: FindingConfig | None = None, embedder: Embedder | None = None) -> None:
        self._corpus = Corpus(config or FindingConfig())
        self._embedder = embedder

    def __len__(self) -> int:
        return len(self._corpus.rows)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._corpus.rows

    def add(self, items: Iterable[Item], vectors: Sequence[Sequence[float] | Array] | None = None) -> None:
        """Take items in, in the order in which they were said.

        An id that is there already is replaced and keeps its place among its neighbours. An item with subject
        and attribute ends the interval of the one before it. `vectors`: one an item, in place of the
        embedder's.
        """
        batch = list(items)
        if vectors is None and self._embedder is not None and batch:
            vectors = self._embedder([_spoken(item) for item in batch])
        rows = [self._corpus.put(item) for item in batch]
        if vectors is not None:
            self._corpus.vectors.set(rows, vectors)

    def retire(self, item_id: str, at: datetime) -> None:
        """End the interval in which an item is current; recalls as of an earlier time still find it."""
        self._corpus.retire(item_id, at)

    def remove(self, item_ids: Iterable[str]) -> None:
        """Erase items: nothing of their text, words, names or vectors stays. Unknown ids are ignored.

        What an erased item had superseded stays superseded: erasing the new never brings back the old.
        """
        for item_id in item_ids:
            self._corpus.erase(item_id)
        self._corpus.forget_words()

    def recall(
        self,
        query: str,
        token_budget: int,
        now: datetime,
        *,
        vector: Sequence[float] | Array | None = None,
        without_session: str = "",
        explain: bool = False,
    ) -> Recalled:
        """What is current at `now` and best answers `query`, best first, within `token_budget` tokens.

        A `now` in the past answers as of then. `vector`: the query's embedding, where vectors were given with
        the items. `without_session` leaves one session out: the one that is going on. `explain`: tell as well
        what was skipped and what the scores are made of.
        """
        if vector is None and self._embedder is not None and len(self._corpus.vectors):
            vector = self._embedder([query])[0]
        without = self._corpus.sessions.get(without_session)
        return recall(self._corpus, Asked(query, token_budget, now.timestamp(), vector, without, explain))


def _spoken(item: Item) -> str:
    return f"{item.speaker}: {item.text}" if item.speaker else item.text
