"""One recall over a corpus: rank what is current, see what later statements replace, pack what is best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from runtime.memory.finding import query as queries
from runtime.memory.finding.columns import Array
from runtime.memory.finding.corpus import Corpus
from runtime.memory.finding.items import Hit, Recalled, Skipped
from runtime.memory.finding.pack import Candidate, pack
from runtime.memory.finding.query import Query
from runtime.memory.finding.ranking import Asked, Order, order
from runtime.memory.finding.supersede import NOTHING, Standing, standing


class Ranked(NamedTuple):
    """Candidates, best first: rows, scores, their places in the arrays of `order.parts`, the lift that each
    got as a current statement, and which row replaces which."""

    rows: list[int]
    scores: list[float]
    places: list[int]
    order: Order
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
        return Recalled((), (), 0)
    query = queries.read(asked.text, corpus.tokens)
    # Where every row is current nothing has to be picked out.
    found = order(corpus, asked, query, current if there < columns.size - 1 else None)
    return _pack(corpus, _with_standing(corpus, query, found), asked.budget)


def _with_standing(corpus: Corpus, query: Query, order: Order) -> Ranked:
    """Lift statements on what is asked, and give a current statement the best score of those it replaces."""
    rows, values = order.rows.tolist(), order.scores.tolist()
    found = NOTHING
    if corpus.config.supersede:
        checked = rows[: corpus.config.statements]
        found = standing(checked, corpus.columns["start"], query, corpus.statements, corpus.config)
    places = list(range(len(rows)))
    if not found.asked and not found.replaced:
        return Ranked(rows, values, places, order, {}, {})
    scores = dict(zip(rows, values, strict=True))
    lifts = _lifts(found, scores, corpus.config.topic_boost)
    for row, lift in lifts.items():
        scores[row] += lift
    places.sort(key=lambda place: -scores[rows[place]])
    sorted_rows = [rows[place] for place in places]
    return Ranked(sorted_rows, [scores[row] for row in sorted_rows], places, order, lifts, found.replaced)


def _lifts(found: Standing, scores: dict[int, float], boost: float) -> dict[int, float]:
    lifts = dict.fromkeys(found.asked, boost)
    for old, current in found.replaced.items():
        high = scores[old] + lifts.get(old, 0.0)
        lifts[current] = max(lifts.get(current, 0.0), high - scores[current])
    return lifts


def _pack(corpus: Corpus, ranked: Ranked, budget: int) -> Recalled:
    rows, scores, items = ranked.rows, ranked.scores, corpus.items
    costs: list[int] = corpus.columns["tokens"][rows].tolist()
    packed = pack(_candidates(corpus, ranked, costs), budget)
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


def _candidates(corpus: Corpus, ranked: Ranked, costs: list[int]) -> list[Candidate]:
    rows, columns = ranked.rows, corpus.columns
    digests: list[int] = columns["digest"][rows].tolist()
    times: list[float] = columns["start"][rows].tolist()
    return list(zip(rows, costs, digests, times, map(ranked.replaced.get, rows), strict=True))


def _explained(ranked: Ranked, chosen: list[int]) -> list[dict[str, float]]:
    """The parts of the scores of those chosen, by name."""
    names, parts = ranked.order.names, ranked.order.parts
    values: list[list[float]] = parts[:, [ranked.places[place] for place in chosen]].T.tolist()
    explained = [dict(zip(names, each, strict=True)) for each in values]
    for place, each in zip(chosen, explained, strict=True):
        each["topic"] = ranked.lifts.get(ranked.rows[place], 0.0)
    return explained
