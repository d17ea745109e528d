"""Supersession in free text: which of the candidates of one recall a later statement about the same thing
replaces, or makes doubtful. No list says what things there are: likeness of words, of the company they keep,
of what is possessed and, where there are embeddings, of meaning decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from runtime.memory.finding.columns import Array
from runtime.memory.finding.company import Known, Profile, alike, likeness
from runtime.memory.finding.config import FindingConfig
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
    """One statement about the query's subject."""

    row: int
    at: float
    statement: Statement
    known: Known
    asked: float


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
    groups: dict[frozenset[str], list[tuple[int, Statement]]] = {}
    if query.names or query.first_person:
        for row in rows:
            statement = statements.get(row)
            subject = None if statement is None else _subject(statement, query)
            if statement is not None and subject is not None:
                groups.setdefault(subject, []).append((row, statement))
    if not groups:
        return NOTHING
    found = Standing({}, {}, {})
    company, without = statements.company, query.names
    wanted = company.profile(statements.telling(frozenset(query.terms)), without)
    for group in groups.values():
        if len(group) < 2:
            continue
        told: list[_Told] = []
        for at, row, statement in sorted((float(starts[row]), row, statement) for row, statement in group):
            known = company.known(statement.terms, without)
            found.asked[row] = likeness(wanted, known.profile)
            told.append(_Told(row, at, statement, known, found.asked[row]))
        if not query.wants_more:
            vectors = None if meaning is None else meaning([one.row for one in told])
            _compare(told, vectors, _Rule(statements, without, config), found)
    return found


def _subject(statement: Statement, query: Query) -> frozenset[str] | None:
    """The names that query and statement share; empty stands for the user; None: not what the query is
    about."""
    if query.names:
        return (query.names & statement.subjects) or None
    return frozenset() if query.first_person and statement.about_user else None


class _Rule(NamedTuple):
    """What comparing goes by."""

    statements: Statements
    without: frozenset[str]
    config: FindingConfig

    def likes(self, told: Sequence[_Told], vectors: Array | None) -> Array:
        """How surely each two statements are about the same thing, by the likeness of their words and of
        their meaning among other things; 1 and more is beyond doubt."""
        config = self.config
        asked = np.sqrt([one.asked for one in told])
        likes = alike([one.known for one in told]) + config.asked_weight * np.outer(asked, asked)
        headed = [place for place, one in enumerate(told) if one.statement.heads]
        for place in headed:
            heads = told[place].statement.heads
            apart = [heads.isdisjoint(told[other].statement.heads) for other in headed]
            likes[place, headed] += np.where(apart, -config.other_head, config.same_head)
        if vectors is not None:
            likes += config.meaning_weight * np.maximum(0.0, vectors @ vectors.T - config.meaning_floor)
        found: Array = likes
        return found

    def touched(self, new: _Told) -> Profile | None:
        """What the statement says has changed; None: nothing."""
        if new.statement.change:
            return new.known.profile
        company = self.statements.company
        near = self.statements.telling(new.statement.near_change)
        known = [term for term in near if company.shared(term)]
        return company.profile(known, self.without) if known else None


def _compare(told: Sequence[_Told], vectors: Array | None, rule: _Rule, found: Standing) -> None:
    """Find what each statement, the last first, replaces of those before it."""
    config, likes = rule.config, rule.likes(told, vectors)
    at_times = np.array([one.at for one in told])
    for place in range(len(told) - 1, 0, -1):
        new = told[place]
        older = np.flatnonzero(at_times[:place] < new.at)
        if not len(older):
            continue
        near = likes[older, place]
        floor = max(config.like_floor, config.like_ratio * float(near.max()))
        touched = rule.touched(new)
        for at in older[near >= floor].tolist():
            old, like = told[at], float(likes[at, place])
            if old.row in found.replaced:
                continue
            if touched is None:
                found.outdated.setdefault(old.row, Newer(new.row, 0.0))
            elif likeness(old.known.profile, touched) >= config.touched_floor:
                _put(found, old.row, new.row, like, config)


def _put(found: Standing, old: int, new: int, like: float, config: FindingConfig) -> None:
    if like >= config.replace_floor:
        found.replaced[old] = found.replaced.get(new, new)
        found.outdated.pop(old, None)
    elif old not in found.outdated or not found.outdated[old].sure:
        ahead = found.outdated.get(new)
        found.outdated[old] = Newer(new if ahead is None else ahead.row, like)
