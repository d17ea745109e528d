"""Supersession in free text: which of the candidates of one recall a later statement about the same thing
replaces, or makes doubtful. No list says what things there are: likeness of words, of the company they keep,
of what is possessed and, where there are embeddings, of meaning decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array
from runtime.memory.finding.company import Known
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.profiles import Joined, Profile, product
from runtime.memory.finding.query import Query
from runtime.memory.finding.statements import Statement, Statements

Meaning = Callable[[Sequence[int]], Array]
"""The centred vectors of rows."""


class Newer(NamedTuple):
    """The row that follows an older one about the same thing; how sure that is, 0 where nothing tells of a
    change: the newer then only goes first."""

    row: int
    sure: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What the statements among the candidates say about the query's subject.

    `replaced` maps a row to the row of the statement that surely replaces it, `outdated` one to what probably
    does; `asked` is how much like the query each statement is, from 0 to 1.
    """

    replaced: dict[int, int]
    outdated: dict[int, Newer]
    asked: dict[int, float]


NOTHING = Standing({}, {}, {})


class _Told(NamedTuple):
    """The statements about one subject, in order of time: row, time, what is known of each, what all are
    about, and how much like the query each is."""

    rows: list[int]
    at: Array
    statements: list[Statement]
    known: list[Known]
    abouts: Joined
    asked: Array


def standing(
    rows: Sequence[int],
    starts: Array,
    query: Query,
    statements: Statements,
    config: FindingConfig,
    meaning: Meaning | None = None,
) -> Standing:
    """Compare the statements among `rows` that are about the query's subject; others are never looked at. A
    query for more than what holds now replaces nothing.
    """
    if not (query.names or query.first_person):
        return NOTHING
    groups = [group for group in statements.about(rows, query.names) if len(group) > 1]
    if not groups:
        return NOTHING
    found = Standing({}, {}, {})
    company = statements.company
    wanted = company.wanted(statements.telling(frozenset(query.terms)), query.names)
    for some in groups:
        group = [row for _, row in sorted(zip(starts.take(some).tolist(), some, strict=True))]
        known = company.known(group, query.names)
        abouts = Joined.join([one.about for one in known])
        asked = abouts.like(wanted)
        found.asked.update(zip(group, asked.tolist(), strict=True))
        if not query.wants_more:
            told = _Told(group, starts.take(group), statements.all(group), known, abouts, asked)
            _compare(told, None if meaning is None else meaning(group), config, found)
    return found


def _compare(told: _Told, vectors: Array | None, config: FindingConfig, found: Standing) -> None:
    """Find what each statement, the last first, replaces of those before it."""
    size = len(told.rows)
    # What a statement says is not as before: all that it is about, where it tells of a change outright.
    says = {place: place for place, statement in enumerate(told.statements) if statement.change}
    more: list[Profile] = []
    for place, one in enumerate(told.known):
        if place not in says and one.changed:
            says[place] = size + len(more)
            more.append(one.changed)
    words = told.abouts.alike(more)
    likes = words[:, :size] + _besides(told, vectors, config)
    near = np.where(told.at[:, None] < told.at, likes, -np.inf)
    floors = np.maximum(config.like_floor, config.like_ratio * near.max(axis=0))
    for new, old in np.argwhere((near >= floors).T)[::-1].tolist():
        row, by = told.rows[old], told.rows[new]
        if row in found.replaced:
            continue
        if new not in says:
            found.outdated.setdefault(row, Newer(by, 0.0))
        elif words[old, says[new]] >= config.touched_floor:
            _put(found, row, by, float(likes[old, new]), config)


def _besides(told: _Told, vectors: Array | None, config: FindingConfig) -> Array:
    """What else than the likeness of their words says how surely each two statements are about the same
    thing: both are like the query, name the same thing, are of one meaning."""
    asked = np.sqrt(told.asked)
    likes: Array = config.asked_weight * np.outer(asked, asked)
    likes += _by_heads([statement.heads for statement in told.statements], config)
    if vectors is not None:
        likes += config.meaning_weight * np.maximum(0.0, product(vectors, vectors) - config.meaning_floor)
    return likes


def _by_heads(heads: Sequence[frozenset[str]], config: FindingConfig) -> Array:
    """What it says of each two statements whether they name the same thing."""
    places = {head: place for place, head in enumerate(dict.fromkeys(chain.from_iterable(heads)))}
    has = np.zeros((len(heads), len(places)), dtype=np.float32)
    has.flat[[at * len(places) + places[head] for at, some in enumerate(heads) for head in some]] = 1
    named = np.array([bool(some) for some in heads])
    said = np.where(product(has, has) > 0, config.same_head, -config.other_head)
    return np.where(np.logical_and.outer(named, named), said, 0.0)


def _put(found: Standing, old: int, new: int, like: float, config: FindingConfig) -> None:
    if like >= config.replace_floor:
        found.replaced[old] = found.replaced.get(new, new)
        found.outdated.pop(old, None)
    elif old not in found.outdated or not found.outdated[old].sure:
        ahead = found.outdated.get(new)
        found.outdated[old] = Newer(new if ahead is None else ahead.row, like)
