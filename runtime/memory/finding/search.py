"""One recall over a corpus: rank what is current, see what later statements replace, pack what is best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from runtime.memory.finding import query as queries
from runtime.memory.finding.columns import Array
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.corpus import Corpus
from runtime.memory.finding.items import Hit, Parts, Recalled, Skipped
from runtime.memory.finding.pack import Out, Packed, pack, repeats
from runtime.memory.finding.query import Query
from runtime.memory.finding.ranking import Asked, Order, explained, order
from runtime.memory.finding.supersede import Standing, standing

_AHEAD = 1e-3


class Ranked(NamedTuple):
    """Candidates, best first: rows and scores, the lift that each got as a current statement, and which row
    replaces which."""

    rows: Array
    scores: Array
    lifts: dict[int, float]
    replaced: dict[int, int]


def recall(corpus: Corpus, asked: Asked) -> Recalled:
    """Rank and pack."""
    columns = corpus.columns
    current: Array = columns["alive"] & (columns["start"] <= asked.now) & (columns["end"] > asked.now)
    if asked.without_session:
        current &= columns["session"] != asked.without_session
    there = int(np.count_nonzero(current))
    if not there or asked.budget <= 0:
        return Recalled()
    query = queries.parse(asked.text, corpus.tokens)
    # Where every row is current nothing has to be picked out.
    found = order(corpus, asked, query, current if there < columns.size - 1 else None)
    ranked = _with_standing(corpus, query, found)
    return _packed(corpus, asked, found, ranked)


def _with_standing(corpus: Corpus, query: Query, order: Order) -> Ranked:
    """Lift statements on what is asked, give a current statement the best score of those it replaces, and
    move back what is probably outdated."""
    config, vectors = corpus.config, corpus.vectors
    if not config.supersede:
        return Ranked(order.rows, order.scores, {}, {})
    checked, meaning = order.rows[: config.statements].tolist(), vectors.centred if len(vectors) else None
    found = standing(checked, corpus.columns["start"], query, corpus.statements, config, meaning)
    if not found.asked:
        return Ranked(order.rows, order.scores, {}, {})
    lifts = _lifts(found, dict(zip(checked, order.scores.tolist(), strict=False)), config)
    scores = order.scores.astype(np.float64)
    scores[: len(checked)] += [lifts.get(row, 0.0) for row in checked]
    best = np.argsort(-scores, kind="stable")
    return Ranked(order.rows.take(best), scores.take(best), lifts, found.replaced)


def _lifts(found: Standing, scores: dict[int, float], config: FindingConfig) -> dict[int, float]:
    lifts = {row: config.asked_boost * min(1.0, 3 * like) for row, like in found.asked.items() if like}
    newer = [*found.replaced.items(), *((old, one.row) for old, one in found.outdated.items())]
    best: dict[int, float] = {}
    for old, new in newer:
        best[new] = max(best.get(new, scores[new]), scores[old] + lifts.get(old, 0.0))
    for new, high in best.items():
        lifts[new] = max(lifts.get(new, 0.0), high - scores[new] + _AHEAD)
    for old, one in found.outdated.items():
        if one.sure:
            lifts[old] = min(lifts.get(old, 0.0), 0.0) - config.outdated_weight * one.sure
    return lifts


def _packed(corpus: Corpus, asked: Asked, order: Order, ranked: Ranked) -> Recalled:
    items = corpus.items
    costs: list[int] = corpus.columns["tokens"].take(ranked.rows).tolist()
    out = _out(corpus, ranked)
    packed = pack(costs, out, asked.budget)
    rows: list[int] = ranked.rows.tolist()
    scores: list[float] = ranked.scores.tolist()
    hits = tuple([Hit(items[rows[place]].id, scores[place], costs[place]) for place in packed.chosen])
    if not asked.explain:
        return Recalled(hits, used=packed.used)
    skipped: list[Skipped] = []
    for place in packed.left:
        why = out.get(place)
        reason, by = ("too_large", None) if why is None else (why.reason, items[rows[why.by]].id)
        skipped.append(Skipped(items[rows[place]].id, scores[place], costs[place], reason, by))
    return Recalled(hits, tuple(skipped), packed.used, _parts(order, ranked, packed))


def _out(corpus: Corpus, ranked: Ranked) -> dict[int, Out]:
    """The candidates that are not to be shown, by place."""
    columns = corpus.columns
    same = repeats(columns["digest"].take(ranked.rows), columns["start"].take(ranked.rows))
    out = {place: Out("repeated", by) for place, by in same.items()}
    if ranked.replaced:
        places = {row: place for place, row in enumerate(ranked.rows.tolist())}
        for old, new in ranked.replaced.items():
            out[places[old]] = Out("superseded", places[new])
    return out


def _parts(order: Order, ranked: Ranked, packed: Packed) -> Parts:
    """What the scores of the chosen are made of."""
    rows = ranked.rows.take(np.array(packed.chosen, dtype=np.intp))
    said = explained(order, rows)
    lifts = tuple(ranked.lifts.get(row, 0.0) for row in rows.tolist())
    return Parts((*said.names, "topic"), (*said.values, lifts))
