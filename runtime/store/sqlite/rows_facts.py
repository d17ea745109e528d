"""Rows of facts."""

from __future__ import annotations

from typing import Any

from runtime.facts import Fact, Shelf
from runtime.store.rows import FactRow
from runtime.store.sqlite.transaction import Transaction
from runtime.store.values import from_json, instant, instant_or_none, micros, micros_or_none, to_json

FACT = """SELECT id, key, value, kind, version, state, origin, confidence, recorded_at, valid_from, valid_to,
source, step, actor, subject, attribute, seen, ends FROM fact
WHERE partition = ? AND namespace = ? AND scope = ? AND owner = ? """


def fact_of(row: tuple[Any, ...]) -> Fact:
    return Fact(
        key=row[1],
        value=from_json(row[2]),
        kind=row[3],
        version=row[4],
        state=row[5],
        origin=row[6],
        confidence=row[7],
        recorded_at=instant(row[8]),
        valid_from=instant_or_none(row[9]),
        valid_to=instant_or_none(row[10]),
        source=row[11],
        step=row[12],
        actor=row[13],
        subject=row[14],
        attribute=row[15],
        seen=row[16],
        ends=instant_or_none(row[17]),
    )


class FactRows(Transaction):
    """Facts of a shelf."""

    def fact_rows(self, shelf: Shelf, key: str) -> list[FactRow]:
        found = self.execute(FACT + "AND key = ? ORDER BY version", (*shelf, key)).fetchall()
        return [FactRow(row[0], fact_of(row)) for row in found]

    def facts_about(self, shelf: Shelf, subject: str, attribute: str) -> list[FactRow]:
        sql = FACT + "AND subject = ? AND attribute = ? AND state = 'current' ORDER BY key"
        found = self.execute(sql, (*shelf, subject, attribute)).fetchall()
        return [FactRow(row[0], fact_of(row)) for row in found]

    def add_fact(self, shelf: Shelf, fact: Fact) -> None:
        self.execute(
            f"INSERT INTO fact VALUES (NULL{', ?' * 21})",
            (
                *shelf,
                fact.key,
                fact.version,
                fact.state,
                to_json(fact.value),
                fact.kind,
                fact.origin,
                fact.confidence,
                micros(fact.recorded_at),
                micros_or_none(fact.valid_from),
                micros_or_none(fact.valid_to),
                fact.source,
                fact.step,
                fact.actor,
                fact.subject,
                fact.attribute,
                fact.seen,
                micros_or_none(fact.ends),
            ),
        )

    def put_fact(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        self.execute(
            "UPDATE fact SET state = ?, valid_to = ?, seen = ?, ends = ? WHERE id = ?",
            (fact.state, micros_or_none(fact.valid_to), fact.seen, micros_or_none(fact.ends), row.id),
        )
