"""Facts as tables, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.cli.plain import one_line
from runtime.cli.streams import result_csv, result_json, say
from runtime.cli.table import Column, show
from runtime.cli.when import stamp, zone
from runtime.facts import Fact, Shelf, restored_from

if TYPE_CHECKING:
    from runtime.memory_service.marks import Mark

CSV_HEADER = (
    "namespace", "scope", "owner", "key", "value", "kind", "version", "state", "origin", "confidence",
    "actor", "source", "recorded_at", "valid_from", "valid_to", "seen",
)  # fmt: skip


def value_text(value: Any) -> str:
    """A fact's value for people: null is an empty value, not an absent one."""
    if value is None:
        return "(empty)"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def print_facts(
    found: list[tuple[Shelf, Fact]],
    *,
    as_json: bool,
    as_csv: bool,
    versions: bool,
    marks: Sequence[Mark] = (),
) -> None:
    """Facts, or with `versions` every version of one, and the marks of contradictions among them."""
    if as_json:
        sides = _sides(marks)
        result_json([_json(shelf, fact, sides) for shelf, fact in found])
    elif as_csv:
        result_csv(CSV_HEADER, (_csv(shelf, fact) for shelf, fact in found))
    elif not found:
        say("No facts.")
    else:
        (_versions_table if versions else _table)(found)
        for mark in marks:
            say(_told(mark), "yellow")


def _told(mark: Mark) -> str:
    key, other = one_line(mark.key), one_line(mark.other)
    return (
        f"{key} and {other} of {one_line(mark.shelf.owner)} contradict each other ({one_line(mark.why)}):"
        f" farthing facts settle {key} --over {other}, or --beside it if both are right"
    )


_Sides = dict[tuple[Shelf, str, int], list[dict[str, str]]]


def _sides(marks: Sequence[Mark]) -> _Sides:
    """What each marked version contradicts, and why."""
    found: _Sides = {}
    for mark in marks:
        for key, version, other in (
            (mark.key, mark.version, mark.other),
            (mark.other, mark.other_version, mark.key),
        ):
            found.setdefault((mark.shelf, key, version), []).append({"key": other, "why": mark.why})
    return found


def _json(shelf: Shelf, fact: Fact, sides: _Sides) -> dict[str, Any]:
    place = {"namespace": shelf.namespace, "scope": shelf.scope, "owner": shelf.owner}
    marked = sides.get((shelf, fact.key, fact.version))
    contradicts = {} if marked is None else {"contradicts": marked}
    return {**place, **{name: getattr(fact, name) for name in fact.__struct_fields__}, **contradicts}


def _csv(shelf: Shelf, fact: Fact) -> tuple[object, ...]:
    times = (fact.recorded_at, fact.valid_from, fact.valid_to)
    return (
        shelf.namespace, shelf.scope, shelf.owner, fact.key, value_text(fact.value), fact.kind, fact.version,
        fact.state, fact.origin, fact.confidence, fact.actor, fact.source,
        *(None if at is None else at.isoformat() for at in times), fact.seen,
    )  # fmt: skip


def _table(found: list[tuple[Shelf, Fact]]) -> None:
    several = len({shelf.namespace for shelf, _ in found}) > 1
    columns = [
        Column("key", flexible=True, style="bold"),
        Column("value", flexible=True),
        Column("of", flexible=True),
        *([Column("namespace", flexible=True)] if several else []),
        Column("from"),
        Column("version", right=True, spare=True),
        Column(f"when ({zone()})"),
    ]
    rows = [
        (
            fact.key,
            value_text(fact.value),
            f"{shelf.scope} {shelf.owner}",
            *((shelf.namespace,) if several else ()),
            fact.origin,
            str(fact.version),
            stamp(fact.recorded_at),
        )
        for shelf, fact in found
    ]
    show(columns, rows)


def _versions_table(found: list[tuple[Shelf, Fact]]) -> None:
    columns = (
        Column("version", right=True),
        Column("value", flexible=True, style="bold"),
        Column("state"),
        Column("from"),
        Column("by", flexible=True),
        Column(f"recorded ({zone()})", spare=True),
        Column(f"until ({zone()})"),
    )
    rows = [
        (
            str(fact.version),
            value_text(fact.value),
            fact.state,
            fact.origin,
            _by(fact),
            stamp(fact.recorded_at),
            "" if fact.valid_to is None else stamp(fact.valid_to),
        )
        for _, fact in found
    ]
    show(columns, rows)


def _by(fact: Fact) -> str:
    back = restored_from(fact)
    if back is not None:
        return f"{fact.actor or 'somebody'}, from version {back}"
    return fact.actor or (f"run {fact.source}" if fact.source else "")
