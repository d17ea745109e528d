"""The order of the current rows for one query: what each ingredient says of a row, and their sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime.memory.finding import score
from runtime.memory.finding.columns import Array, Runs
from runtime.memory.finding.corpus import Corpus
from runtime.memory.finding.items import Parts
from runtime.memory.finding.query import Query
from runtime.memory.finding.score import Part

Vector = Sequence[float] | Array


class Asked(NamedTuple):
    """What a recall is given: text, budget in tokens, time (POSIX seconds), the text's vector if there are
    vectors, the code of a session to leave out (0: none), and whether to explain the outcome."""

    text: str
    budget: int
    now: float
    vector: Vector | None
    without_session: int
    explain: bool


class Order(NamedTuple):
    """The best rows, best first, with their scores; what the scores of all rows are made of, and the length
    penalty of all rows."""

    rows: Array
    scores: Array
    parts: dict[str, Part]
    factor: Array


class _Meaning(NamedTuple):
    """Cosines of all rows, the query they are with, and whether they are estimates."""

    cosines: Array
    aim: Array
    rough: bool


def order(corpus: Corpus, asked: Asked, query: Query, current: Array | None) -> Order:
    """The best `candidates` of the `current` rows (none given: of all but row 0)."""
    columns, config = corpus.columns, corpus.config
    meaning = _meaning(corpus, asked)
    parts = _parts(corpus, query, meaning, current)
    factor: Array = columns["factor"]
    if config.half_life_days > 0:
        factor = (factor * score.decay(columns["start"], asked.now, config.half_life_days)).astype(np.float32)
    scores = score.shortened(score.total(list(parts.values()), columns.size), factor)
    if current is None:
        scores[0] = -np.inf
    else:
        scores[~current] = -np.inf
    there = columns.size - 1 if current is None else int(np.count_nonzero(current))
    most, rough = min(config.candidates, there), meaning is not None and meaning.rough
    # An estimate may be wrong by some places, not by as many as there are.
    rows = score.top(scores, columns["tokens"], most, asked.budget, spare=2 if rough else 1)
    if meaning is None or not rough:
        return Order(rows, scores.take(rows), parts, factor)
    _sharpen(corpus, parts["dense"], meaning, rows)
    exact = score.shortened(_raw(parts, rows).sum(axis=0), factor.take(rows))
    best = np.lexsort((rows, -exact))
    return Order(rows[best], exact[best], parts, factor)


def explained(order: Order, rows: Array) -> Parts:
    """What each part adds to the scores of these rows, and what the length penalty takes away."""
    said = _raw(order.parts, rows)
    raw = said.sum(axis=0)
    lost = score.shortened(raw, order.factor.take(rows)) - raw
    return Parts((*order.parts, "length"), tuple(map(tuple, (*said.tolist(), lost.tolist()))))


def _raw(parts: dict[str, Part], rows: Array) -> Array:
    said = np.empty((len(parts), len(rows)), dtype=np.float32)
    for place, part in enumerate(parts.values()):
        said[place] = part.of(rows)
    return said


def _meaning(corpus: Corpus, asked: Asked) -> _Meaning | None:
    vectors, size = corpus.vectors, corpus.columns.size
    if asked.vector is None or not len(vectors):
        return None
    aim = vectors.aim(asked.vector)
    return _Meaning(vectors.cosines(aim, size), aim, vectors.is_rough(size))


def _parts(corpus: Corpus, query: Query, meaning: _Meaning | None, current: Array | None) -> dict[str, Part]:
    config, columns = corpus.config, corpus.columns
    runs, codes = columns.runs(), corpus.sessions.limit
    lexical = corpus.postings.bm25(query.terms, columns["length"], config.bm25_k1, config.bm25_b)
    near = score.with_neighbours(lexical, columns, config)
    near = score.with_session(near, runs, codes, config.session_share)
    parts = {"lexical": score.centred(near, current, config.lexical_weight)}
    if meaning is not None:
        shared = score.with_session(meaning.cosines, runs, codes, config.dense_session_share)
        parts["dense"] = score.centred(shared, current, config.dense_weight)
    named = _named_speakers(corpus, query)
    if named:
        boosts = np.zeros(corpus.speakers.limit, dtype=np.float32)
        boosts[named] = config.speaker_boost
        parts["speaker"] = Part(boosts.take(columns["speaker"]), 1.0)
    if query.first_person:
        parts["self"] = Part(columns["by_user"], config.self_boost)
    parts["standing"] = Part(columns["standing"], config.standing_boost)
    return parts


def _sharpen(corpus: Corpus, dense: Part, meaning: _Meaning, rows: Array) -> None:
    """Put the exact cosines of these rows, and the best of their sessions among them, in place of the
    estimates."""
    runs = Runs.of(corpus.columns["session"].take(rows))
    exact = corpus.vectors.exact(meaning.aim, rows)
    dense.values[rows] = score.with_session(
        exact, runs, corpus.sessions.limit, corpus.config.dense_session_share
    )


def _named_speakers(corpus: Corpus, query: Query) -> list[int]:
    words = set(query.terms)
    return [code for name, code in corpus.speakers.items() if words.intersection(corpus.name(name))]
