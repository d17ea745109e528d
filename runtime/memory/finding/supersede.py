"""Supersession: intervals of items that state the same (subject, attribute), and, for free text, which of the
candidates of one recall a later statement replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.memory.finding.columns import Array
from runtime.memory.finding.config import FindingConfig
from runtime.memory.finding.query import Query
from runtime.memory.finding.statements import Statement, Statements, best


@dataclass(frozen=True, slots=True)
class Standing:
    """What the statements among the candidates say about the query's subject.

    `replaced` maps a row to the row of the statement that replaces it; `asked` are the rows that state the
    attribute the query asks for.
    """

    replaced: dict[int, int]
    asked: frozenset[int]


NOTHING = Standing({}, frozenset())


def standing(
    rows: Sequence[int], starts: Array, query: Query, statements: Statements, config: FindingConfig
) -> Standing:
    """Sort the statements among `rows` by subject and attribute; the last that tells of a change replaces
    earlier ones. A query for more than what holds now replaces nothing. Statements of other subjects than the
    query's are never looked at.
    """
    if not query.names and not query.first_person:
        return NOTHING
    asked_topic = best(statements.votes(set(query.terms) - query.names), config.topic_floor)
    groups: dict[tuple[frozenset[str], str], list[int]] = {}
    asked: list[int] = []
    for row in rows:
        statement = statements.get(row)
        subject = None if statement is None else _subject(statement, query)
        if statement is None or subject is None:
            continue
        topic = _topic(statements.votes(statement.terms - query.names), asked_topic, config)
        if topic is None:
            continue
        groups.setdefault((subject, topic), []).append(row)
        if topic == asked_topic:
            asked.append(row)
    if query.wants_more:
        return Standing({}, frozenset(asked))
    replaced: dict[int, int] = {}
    for (_, topic), group in groups.items():
        replaced.update(_replaced(group, topic, starts, statements))
    return Standing(replaced, frozenset(asked))


def _subject(statement: Statement, query: Query) -> frozenset[str] | None:
    """The names that query and statement share; empty stands for the user; None: not what the query is
    about."""
    if query.names:
        return (query.names & statement.subjects) or None
    return frozenset() if query.first_person and statement.about_user else None


def _topic(votes: dict[str, float], asked: str | None, config: FindingConfig) -> str | None:
    if asked is not None:
        vote = votes.get(asked, 0.0)
        if vote >= config.topic_floor and vote >= config.topic_ratio * max(votes.values()):
            return asked
    return best(votes, config.topic_floor)


def _replaced(group: list[int], topic: str, starts: Array, statements: Statements) -> dict[int, int]:
    by_time = sorted(group, key=lambda row: float(starts[row]))
    while len(by_time) > 1:
        last = by_time.pop()
        statement = statements.get(last)
        if statement is not None and statements.changes(statement, topic):
            return {row: last for row in by_time if starts[row] < starts[last]}
    return {}
