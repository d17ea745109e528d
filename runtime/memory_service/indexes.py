"""Search indexes of this process: a shelf's facts and a user's past exchanges, kept in step with the store.

What finds is loaded when something is searched for, which a run whose facts all fit never does.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from runtime.facts import Fact, Shelf
from runtime.memory.estimate import Estimator
from runtime.memory_service.exchanges import Exchange, exchange_of
from runtime.memory_service.showing import fact_text
from runtime.record import Record, TurnLine

if TYPE_CHECKING:
    from runtime.memory.finding.index import MemoryIndex
    from runtime.memory.finding.tokens import Tokens

MOST_INDEXES = 16
"""Indexes that are kept; the one that was used longest ago makes room."""
AT_ONCE = 25
"""Facts or exchanges taken in before others get a turn: a few milliseconds' worth."""
LOOKED_AT = 60
"""Exchanges of a search that are looked at more closely, best first."""
ENOUGH_TOKENS = 6_000
"""Tokens' worth of exchanges that a search looks at; only a few of them are shown."""


class Whose(msgspec.Struct, frozen=True):
    """Whose exchanges: one user's with one flow, by these nodes."""

    partition: str
    user_id: str
    flow_id: str
    node_ids: tuple[str, ...]


class Indexes:
    """Every index by what it holds; no two users share one."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Shelf | Whose, FactIndex | TurnIndex] = OrderedDict()

    def facts(self, shelf: Shelf) -> FactIndex:
        """The index of a shelf's facts."""
        found = self._kept.get(shelf)
        if not isinstance(found, FactIndex):
            found = FactIndex()
        self._keep(shelf, found)
        return found

    def turns(self, whose: Whose) -> TurnIndex:
        """The index of a user's exchanges."""
        found = self._kept.get(whose)
        if not isinstance(found, TurnIndex):
            found = TurnIndex(whose)
        self._keep(whose, found)
        return found

    def _keep(self, key: Shelf | Whose, index: FactIndex | TurnIndex) -> None:
        self._kept[key] = index
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_INDEXES:
            self._kept.popitem(last=False)


class FactIndex:
    """Facts by their keys."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._index: MemoryIndex | None = None
        self._known: dict[str, Fact] = {}

    async def rank(self, facts: Sequence[Fact], query: str, now: datetime, count: Estimator) -> list[Fact]:
        """The facts, those first that fit the query best; the others follow in the given order."""
        async with self._lock:
            index = await self._sync({fact.key: fact for fact in facts}, count)
            budget = sum(max(1, count(fact_text(fact))) for fact in facts)
            place = {hit.id: number for number, hit in enumerate(index.recall(query, budget, now).hits)}
            return sorted(facts, key=lambda fact: place.get(fact.key, len(place)))

    async def _sync(self, facts: dict[str, Fact], count: Estimator) -> MemoryIndex:
        """Take in what is new or changed, let go of what is no longer there."""
        from runtime.memory.finding.index import MemoryIndex

        if self._index is None:
            self._index = MemoryIndex()
        gone = sorted(self._known.keys() - facts.keys())
        if gone:
            self._index.remove(gone)
            for key in gone:
                del self._known[key]
        changed = [fact for key, fact in facts.items() if self._known.get(key) != fact]
        for start in range(0, len(changed), AT_ONCE):
            self._take(self._index, changed[start : start + AT_ONCE], count)
            await asyncio.sleep(0)
        return self._index

    def _take(self, index: MemoryIndex, facts: Sequence[Fact], count: Estimator) -> None:
        from runtime.memory.finding.items import Item

        index.add(
            Item(fact.key, text := fact_text(fact), fact.recorded_at, max(1, count(text)), by_user=True)
            for fact in facts
        )
        self._known.update((fact.key, fact) for fact in facts)


class Found(msgspec.Struct, frozen=True):
    """An exchange and how well it fits. `likeness`: share of the question's words that it has."""

    exchange: Exchange
    score: float
    likeness: float


class TurnIndex:
    """A user's exchanges. Every search first takes in what came since the last one; where anything was
    erased or is missing, all is read anew."""

    def __init__(self, whose: Whose) -> None:
        self.whose = whose
        self._lock = asyncio.Lock()
        self._clear()

    def _clear(self) -> None:
        self._index: MemoryIndex | None = None
        self._exchanges: dict[int, Exchange] = {}
        self._tokens: Tokens | None = None
        self._words: dict[int, frozenset[str]] = {}
        self._last = 0
        self._erasures: int | None = None

    async def recall(
        self,
        record: Record,
        session_uid: str,
        query: str,
        now: datetime,
        count: Estimator,
        left_out: str | None = None,
    ) -> list[Found]:
        """Exchanges of other sessions than this one that share a word with the query, best first.
        `left_out`: the session that does not count, in place of this one."""
        async with self._lock:
            await self._sync(record, session_uid, count)
            if self._index is None:
                return []
            without = session_uid if left_out is None else left_out
            return self._search(self._index, without, query, now)

    def _search(self, index: MemoryIndex, session_uid: str, query: str, now: datetime) -> list[Found]:
        wanted = self._terms(query)
        found: dict[int, Found] = {}
        for hit in index.recall(query, ENOUGH_TOKENS, now, without_session=session_uid).hits:
            exchange = self._exchanges[int(hit.id.partition(":")[0])]
            if exchange.id in found:
                continue
            if len(found) == LOOKED_AT:
                break
            common = wanted & self._words_of(exchange)
            if not wanted or common:
                likeness = len(common) / len(wanted) if wanted else 1.0
                found[exchange.id] = Found(exchange, hit.score, likeness)
        return list(found.values())

    def _words_of(self, exchange: Exchange) -> frozenset[str]:
        """The words of an exchange; taken apart once."""
        words = self._words.get(exchange.id)
        if words is None:
            text = "\n".join(said.text for said in exchange.said)
            words = self._words[exchange.id] = self._terms(text)
        return words

    def _terms(self, text: str) -> frozenset[str]:
        from runtime.memory.finding.tokens import Tokens

        if self._tokens is None:
            self._tokens = Tokens()
        return frozenset(self._tokens.terms(text))

    async def _sync(self, record: Record, session_uid: str, count: Estimator) -> None:
        nodes = self.whose.node_ids
        turns = await record.user_turns(session_uid, nodes, after=self._last)
        expected = len(self._exchanges) + len(turns.lines)
        if self._last and (turns.erasures != self._erasures or turns.total != expected):
            self._clear()
            turns = await record.user_turns(session_uid, nodes)
        self._erasures = turns.erasures
        for start in range(0, len(turns.lines), AT_ONCE):
            self._take(turns.lines[start : start + AT_ONCE], count)
            await asyncio.sleep(0)

    def _take(self, lines: Sequence[TurnLine], count: Estimator) -> None:
        from runtime.memory.finding.index import MemoryIndex
        from runtime.memory.finding.items import Item

        if self._index is None:
            self._index = MemoryIndex()
        exchanges = [exchange_of(line) for line in lines]
        self._index.add(
            Item(
                f"{exchange.id}:{number}",
                said.text,
                exchange.at,
                max(1, count(said.text)),
                speaker=said.role,
                session=exchange.session_uid,
                by_user=said.role == "user",
            )
            for exchange in exchanges
            for number, said in enumerate(exchange.said)
        )
        self._exchanges.update((exchange.id, exchange) for exchange in exchanges)
        self._last = lines[-1].id
