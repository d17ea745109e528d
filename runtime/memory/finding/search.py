"""One recall over a corpus: score every current row, see what later statements replace, pack what is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.memory.finding import query as queries
from runtime.memory.finding import score
from runtime.memory.finding.columns import Array
from runtime.memory.finding.corpus import Corpus
from runtime.memory.finding.items import Hit, Recalled, Skipped
from runtime.memory.finding.pack import pack
from runtime.memory.finding.query import Query
from runtime.memory.finding.supersede import standing


class Asked(NamedTuple):
    """What a recall is given: text, budget in tokens, time (POSIX seconds), the text's vector if there are
    vectors, and the code of a session to leave out (0: none)."""

    text: str
    budget: int
    now: float
    vector: Sequence[float] | Array | None
    without_session: int


class Ranked(NamedTuple):
    """Candidates, best first: rows, scores, their positions in the arrays of `parts`, the lift that each
    got as a current statement, and which row replaces which."""

    rows: list[int]
    scores: list[float]
    positions: list[int]
    parts: dict[str, Array]
    lifts: dict[int, float]
    replaced: dict[int, int]


def recall(corpus: Corpus, asked: Asked) -> Recalled:
    """Rank and pack."""
    columns = corpus.columns
    current = columns["alive"] & (columns["start"] <= asked.now) & (columns["end"] > asked.now)
    if asked.without_session:
        current &= columns["session"] != asked.without_session
    rows = np.flatnonzero(current)
    if not len(rows) or asked.budget <= 0:
        return Recalled((), (), 0)
    return _pack(corpus, rank(corpus, asked, rows), asked.budget)


def rank(corpus: Corpus, asked: Asked, rows: Array) -> Ranked:
    """Order the rows by their score."""
    config, columns = corpus.config, corpus.columns
    query = queries.read(asked.text, corpus.tokens)
    # Where every row is current, columns are sliced and not copied.
    pick = slice(1, None) if len(rows) == columns.size - 1 else rows
    parts = _parts(corpus, query, asked, pick)
    raw = sum(parts.values(), np.zeros(len(rows), dtype=np.float32))
    factor: Array = columns["factor"][pick]
    if config.half_life_days > 0:
        factor = factor * score.decay(columns["start"][pick], asked.now, config.half_life_days)
    total = np.where(raw > 0, raw * factor, raw)
    parts["length"] = total - raw
    best = score.top(total, config.candidates)
    best = best[: score.reach(columns["tokens"][pick][best], asked.budget)]
    ranked = Ranked(rows[best].tolist(), total[best].tolist(), best.tolist(), parts, {}, {})
    return _with_standing(corpus, query, ranked) if config.supersede else ranked


def _parts(corpus: Corpus, query: Query, asked: Asked, pick: slice | Array) -> dict[str, Array]:
    config, columns = corpus.config, corpus.columns
    lexical = corpus.postings.bm25(query.terms, columns["length"], config.bm25_k1, config.bm25_b)
    near = score.with_neighbours(lexical, columns, config)
    near = score.with_session(near, columns["session"], config.session_share)[pick]
    parts: dict[str, Array] = {"lexical": config.lexical_weight * score.centred(near)}
    if asked.vector is not None and len(corpus.vectors):
        cosines = corpus.vectors.cosines(asked.vector, columns.size)
        cosines = score.with_session(cosines, columns["session"], config.dense_session_share)[pick]
        parts["dense"] = config.dense_weight * score.centred(cosines)
    named = _named_speakers(corpus, query)
    if named:
        boosts = np.zeros(int(columns["speaker"].max()) + 1, dtype=np.float32)
        boosts[named] = config.speaker_boost
        parts["speaker"] = boosts[columns["speaker"][pick]]
    if query.first_person:
        parts["self"] = np.float32(config.self_boost) * columns["by_user"][pick]
    parts["standing"] = np.float32(config.standing_boost) * columns["standing"][pick]
    return parts


def _named_speakers(corpus: Corpus, query: Query) -> list[int]:
    words = set(query.terms)
    return [code for name, code in corpus.speakers.items() if words.intersection(corpus.tokens.terms(name))]


def _with_standing(corpus: Corpus, query: Query, ranked: Ranked) -> Ranked:
    """Lift statements on what is asked, and give a current statement the best score of those it replaces."""
    checked = ranked.rows[: corpus.config.statements]
    found = standing(checked, corpus.columns["start"], query, corpus.statements, corpus.config)
    if not found.asked and not found.replaced:
        return ranked
    scores = dict(zip(ranked.rows, ranked.scores, strict=True))
    lifts = dict.fromkeys(found.asked, corpus.config.topic_boost)
    for old, current in found.replaced.items():
        high = scores[old] + lifts.get(old, 0.0)
        lifts[current] = max(lifts.get(current, 0.0), high - scores[current])
    for row, lift in lifts.items():
        scores[row] += lift
    entries = sorted(zip(ranked.rows, ranked.positions, strict=True), key=lambda entry: -scores[entry[0]])
    rows = [row for row, _ in entries]
    positions = [position for _, position in entries]
    return Ranked(rows, [scores[row] for row in rows], positions, ranked.parts, lifts, found.replaced)


def _pack(corpus: Corpus, ranked: Ranked, budget: int) -> Recalled:
    rows, scores, items = ranked.rows, ranked.scores, corpus.items
    costs: list[int] = corpus.columns["tokens"][rows].tolist()
    digests: list[int] = corpus.columns["digest"][rows].tolist()
    times: list[float] = corpus.columns["start"][rows].tolist()
    replaced = map(ranked.replaced.get, rows)
    packed = pack(list(zip(rows, costs, digests, times, replaced, strict=True)), budget)
    skipped = tuple(
        Skipped(
            items[rows[place]].id, scores[place], costs[place], reason, None if by is None else items[by].id
        )
        for place, reason, by in packed.left
    )
    hits = tuple(
        Hit(items[rows[place]].id, scores[place], costs[place], parts)
        for place, parts in zip(packed.chosen, _explained(ranked, packed.chosen), strict=True)
    )
    return Recalled(hits, skipped, packed.used)


def _explained(ranked: Ranked, places: list[int]) -> list[dict[str, float]]:
    """The parts of the scores at these places, by name."""
    at = [ranked.positions[place] for place in places]
    names = [*ranked.parts, "topic"]
    values = [part[at].tolist() for part in ranked.parts.values()]
    values.append([ranked.lifts.get(ranked.rows[place], 0.0) for place in places])
    return [dict(zip(names, each, strict=True)) for each in zip(*values, strict=True)]
