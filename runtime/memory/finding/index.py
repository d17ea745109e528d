"""The index of one user's memory items: kept in step item by item, and asked with `recall`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import inf

import numpy as np

from runtime.memory.finding import cues, score
from runtime.memory.finding.columns import Array, Columns
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.embed import Embedder
from runtime.memory.finding.items import Hit, Item, Recalled, Skipped
from runtime.memory.finding.pack import pack
from runtime.memory.finding.postings import Postings
from runtime.memory.finding.tokens import Tokens, date_words
from runtime.memory.finding.vectors import Vectors


class MemoryIndex:
    def __init__(self, config: FindingConfig | None = None, embedder: Embedder | None = None) -> None:
        self.config = config or FindingConfig()
        self._embedder = embedder
        self._tokens = Tokens()
        self._columns = Columns()
        self._postings = Postings()
        self._vectors = Vectors()
        self._rows: dict[str, int] = {}
        self._items: dict[int, Item] = {}
        self._codes: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        self._speakers: dict[str, set[int]] = {}

    def _code(self, name: str) -> int:
        if not name:
            return 0
        return self._codes.setdefault(name, len(self._codes) + 1)

    def _terms(self, item: Item) -> list[str]:
        words = item.text
        if self.config.speaker_words:
            words = f"{item.speaker} {words}"
        if self.config.date_words:
            words += " " + " ".join(date_words(item.at))
        return self._tokens.terms(words)

    def add(self, items: Iterable[Item], vectors: Sequence[Sequence[float] | Array] | None = None) -> None:
        items = list(items)
        if vectors is None and self._embedder is not None and items:
            vectors = self._embedder([f"{i.speaker}: {i.text}" if i.speaker else i.text for i in items])
        for k, item in enumerate(items):
            row = self._columns.take()
            c = self._columns
            before = self._tails.get(item.session, 0) if item.session else 0
            length = self._postings.add(row, self._terms(item))
            c.set(
                row,
                alive=True,
                start=item.at.timestamp(),
                end=inf if item.ended is None else item.ended.timestamp(),
                tokens=item.tokens,
                length=length,
                speaker=self._code("s:" + item.speaker),
                session=self._code("c:" + item.session) if item.session else 0,
                before=before,
                by_user=item.by_user,
                standing=item.by_user and cues.is_standing(item.text),
            )
            if before:
                c.set(before, after=row)
            if item.session:
                self._tails[item.session] = row
            for t in self._tokens.terms(item.speaker):
                self._speakers.setdefault(t, set()).add(self._code("s:" + item.speaker))
            self._rows[item.id] = row
            self._items[row] = item
            if vectors is not None:
                self._vectors.set(row, vectors[k])

    def remove(self, ids: Iterable[str]) -> None:
        for i in ids:
            row = self._rows.pop(i, None)
            if row is None:
                continue
            item = self._items.pop(row)
            self._postings.remove(row, self._terms(item))
            c = self._columns
            b, a = int(c["before"][row]), int(c["after"][row])
            if b:
                c.set(b, after=a)
            if a:
                c.set(a, before=b)
            if self._tails.get(item.session) == row:
                self._tails[item.session] = b
            self._vectors.drop(row)
            c.give(row)
        self._tokens.forget()

    def recall(self, query: str, token_budget: int, now: datetime, vector=None) -> Recalled:
        cfg, c = self.config, self._columns
        terms = self._tokens.terms(query)
        qw: dict[str, float] = {}
        for t in terms:
            qw[t] = 1.0
        lex = self._postings.bm25(qw, c["length"], cfg.bm25_k1, cfg.bm25_b)
        when = now.timestamp()
        among = c["alive"] & (c["start"] <= when) & (c["end"] > when)
        near = score.with_neighbours(lex, c, cfg)
        named = {"lexical": cfg.lexical_weight * score.centred(near, among)}
        if vector is None and self._embedder is not None:
            vector = self._embedder([query])[0]
        if vector is not None and len(self._vectors):
            named["dense"] = cfg.dense_weight * score.centred(self._vectors.cosines(vector, c.size), among)
        codes = set().union(*(self._speakers.get(t, set()) for t in terms)) if terms else set()
        for code in codes:
            named["speaker"] = named.get("speaker", 0) + cfg.speaker_boost * (c["speaker"] == code)
        if cues.is_first_person(query):
            named["self"] = cfg.self_boost * c["by_user"]
        named["standing"] = cfg.standing_boost * c["standing"]
        total = sum(named.values())
        total = score.penalised(total, c, cfg, when)
        rows = np.flatnonzero(among)
        k = cfg.candidates
        if len(rows) > k:
            rows = rows[np.argpartition(-total[rows], k)[:k]]
        order = rows[np.argsort(-total[rows], kind="stable")]
        costs = c["tokens"][order].tolist()
        packed = pack(costs, token_budget)
        scores = total[order].tolist()
        ol = order.tolist()
        hits = tuple(Hit(self._items[ol[p]].id, scores[p], costs[p]) for p in packed.chosen)
        return Recalled(hits, (), packed.used)
