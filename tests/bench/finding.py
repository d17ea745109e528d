"""Finding: one recall by words and with embeddings, the index's build, upkeep and size."""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from statistics import median

import numpy as np

from runtime.clock import SystemClock
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.embed import Embedder, StaticEmbedder
from runtime.memory.finding.index import MemoryIndex
from runtime.memory.finding.items import Item
from runtime.memory_service.indexes import TurnIndex, Whose
from runtime.messages import Message
from runtime.record import TurnLine, UserTurns
from runtime.store.memory.record import MemoryRecord
from tests.bench.measure import Figure

MANY, FEW, BUDGET, QUERIES = 100_000, 1_000, 1_500, 60
NOW = datetime(2030, 1, 1, tzinfo=UTC)
FUNCTION_WORDS = (
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "it",
    "you",
    "was",
    "for",
    "with",
    "I",
    "my",
    "did",
)


class Texts:
    """Sentences of made-up words, the few common ones far more often than the rest (Zipf), a third of each
    text function words: what a conversation's words are spread like."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        sounds = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        self._words = [
            "".join(self._chance.choices(sounds, k=self._chance.randint(2, 4))) for _ in range(20_000)
        ]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def text(self, least: int, most: int) -> str:
        count = self._chance.randint(least, most)
        words = self._chance.choices(self._words, cum_weights=self._weights, k=count)
        return " ".join(
            word
            for pair in zip(words, self._chance.choices(FUNCTION_WORDS, k=count), strict=True)
            for word in pair
        )

    def items(self, count: int) -> Iterator[Item]:
        """Turns of sessions of twenty."""
        for number in range(count):
            text = self.text(4, 20)
            role = ("user", "assistant")[number % 2]
            yield Item(
                f"{number}",
                text,
                NOW - timedelta(minutes=count - number),
                max(1, len(text) // 4),
                role,
                f"session {number // 20}",
                role == "user",
            )


class Turns(MemoryRecord):
    """A record whose user said so much."""

    def __init__(self, lines: Sequence[TurnLine]) -> None:
        super().__init__(SystemClock())
        self._lines = tuple(lines)

    async def user_turns(self, session_uid: str, node_ids: Sequence[str], *, after: int = 0) -> UserTurns:
        return UserTurns(self._lines[after:], len(self._lines), 0)


async def figures(_: Path) -> list[Figure]:
    found = [*_of(None, "by words"), *await _pauses()]
    if find_spec("wordllama") is not None:
        found += [*_of(StaticEmbedder(), "with embeddings"), _agreement(StaticEmbedder())]
    return found


def _of(embedder: Embedder | None, how: str) -> list[Figure]:
    texts = Texts()
    few, many = MemoryIndex(embedder=embedder), MemoryIndex(embedder=embedder)
    some, items = list(texts.items(FEW)), list(texts.items(MANY))
    few.add(some)
    gc.collect()
    before, began = _resident(), time.process_time()
    for start in range(0, MANY, 1000):
        many.add(items[start : start + 1000])
    built, held = time.process_time() - began, _resident() - before
    queries = [texts.text(3, 6) for _ in range(QUERIES)]
    return [
        _recall(few, Plain(some, embedder), queries, f"recall among 1,000, {how}, p50", 1),
        _recall(many, Plain(items, embedder), queries, f"recall among 100,000, {how}, p50", 10),
        Figure(f"after a write, among 1,000, {how}, p50", _after_writes_ms(few, texts, queries), "ms CPU"),
        Figure(f"after a write, among 100,000, {how}, p50", _after_writes_ms(many, texts, queries), "ms CPU"),
        Figure(f"build of 100,000, {how}", built, "s CPU"),
        Figure(f"index of 100,000, {how}, without the items", held, "MB"),
        *_upkeep(many, list(texts.items(20)), how),
    ]


def _upkeep(index: MemoryIndex, items: list[Item], how: str) -> list[Figure]:
    """One item replaced, one erased, among 100,000, each with the recall that follows."""
    written: list[float] = []
    erased: list[float] = []
    for item in items:
        written.append(_seconds(index.add, [item]))
        began = time.process_time()
        index.remove([item.id])
        index.recall("once more", BUDGET, NOW)
        erased.append(time.process_time() - began)
    return [
        Figure(f"one of 100,000 replaced, {how}, p50", median(written) * 1e3, "ms CPU"),
        Figure(f"one of 100,000 erased, and a recall, {how}, p50", median(erased) * 1e3, "ms CPU"),
    ]


class Plain:
    """The floor: SQLite's own ranking by words, and the product with every whole vector."""

    def __init__(self, items: Sequence[Item], embedder: Embedder | None) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")
        self._db.executemany("INSERT INTO said VALUES (?)", [(item.text,) for item in items])
        self._embedder = embedder
        self._vectors = np.zeros((0, 0), dtype=np.float32)
        if embedder is not None:
            self._vectors = np.array(embedder([item.text for item in items]), dtype=np.float32)

    def recall(self, query: str) -> None:
        words = " OR ".join(word for word in query.split() if word not in FUNCTION_WORDS)
        best = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT 256"
        self._db.execute(best, (words,)).fetchall()
        if self._embedder is not None:
            cosines = self._vectors @ np.asarray(self._embedder([query])[0])
            np.argpartition(cosines, -min(256, len(cosines)))


def _recall(index: MemoryIndex, plain: Plain, queries: list[str], name: str, target: float) -> Figure:
    """All queries by one and all by the other, in turns; not query by query, since the floor reads all
    vectors, which would push the index out of the processor's memory each time."""
    times: list[float] = []
    floor: list[float] = []
    for query in queries:
        index.recall(query, BUDGET, NOW)
    for _ in range(3):
        times += [_seconds(index.recall, query, BUDGET, NOW) for query in queries]
        floor += [_seconds(plain.recall, query) for query in queries]
    note = f"{median(times) / median(floor):.2f} of the floor"
    return Figure(name, median(times) * 1e3, "ms CPU", target, note)


def _seconds(call: Callable[..., object], *args: object) -> float:
    began = time.process_time()
    call(*args)
    return time.process_time() - began


def _after_writes_ms(index: MemoryIndex, texts: Texts, queries: list[str]) -> float:
    """A recall as a running conversation has it: two turns were written since the last one."""
    times: list[float] = []
    for number, query in enumerate(queries):
        index.add(replace(item, id=f"{number} {item.id}", session="now") for item in texts.items(2))
        times.append(_seconds(index.recall, query, BUDGET, NOW))
    return median(times) * 1e3


async def _pauses() -> list[Figure]:
    """The longest time for which the first search of a user's 10,000 exchanges holds the loop."""
    texts = Texts()
    lines = [
        TurnLine(
            number + 1,
            f"s{number // 10}",
            "s",
            "agent",
            f"r{number}",
            NOW,
            False,
            (Message("user", texts.text(4, 20)), Message("assistant", texts.text(4, 20))),
        )
        for number in range(10_000)
    ]
    index, longest, running = TurnIndex(Whose("real", "ann", "flow", ("agent",))), 0.0, True

    async def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while running:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    watching = asyncio.create_task(watch())
    await index.recall(Turns(lines), "none", texts.text(3, 6), NOW, lambda text: len(text) // 4)
    running = False
    await watching
    return [
        Figure("longest pause of the loop in a first search", longest * 1e3, "ms", note="10,000 exchanges")
    ]


def _agreement(embedder: Embedder) -> Figure:
    """How many of the recalled are not those that comparing every vector whole recalls."""
    texts = Texts()
    items, queries = list(texts.items(20_000)), [texts.text(3, 6) for _ in range(QUERIES)]
    answers: list[list[set[str]]] = []
    for config in (FindingConfig(), FindingConfig(exact_vectors=len(items))):
        index = MemoryIndex(config, embedder)
        index.add(items)
        answers.append([{hit.id for hit in index.recall(query, BUDGET, NOW).hits} for query in queries])
    missed = [1 - len(rough & exact) / len(exact) for rough, exact in zip(*answers, strict=True)]
    return Figure("recalled by estimates, not by whole vectors", sum(missed) / len(missed), "share", 0.05)


def _resident() -> float:
    """Megabytes of this process in memory; 0 where that is not told."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4096 / 1e6 if path.exists() else 0.0
