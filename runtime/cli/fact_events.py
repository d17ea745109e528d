"""What is said on the timeline of changes that people make to facts by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from runtime.events import Event, MemoryErased, MemoryMoved, MemoryWrite
from runtime.facts import Erased, Shelf, Shelved, Written


def written_by(shelf: Shelf, actor: str, at: datetime) -> Callable[[Written], Sequence[Event]]:
    """The event of a fact that a person wrote, put back or settled."""

    def build(written: Written) -> Sequence[Event]:
        fact = written.fact
        return [
            MemoryWrite(
                at=at,
                namespace=shelf.namespace,
                scope=shelf.scope,
                keys=(fact.key,),
                outcome=written.outcome,
                version=fact.version,
                value=fact.value,
                kind=fact.kind,
                origin=fact.origin,
                actor=actor,
                valid_to=fact.valid_to,
            )
        ]

    return build


def erased_by(shelf: Shelf, actor: str, at: datetime) -> Callable[[Erased], Sequence[Event]]:
    """The event of an erasure: its receipt, without the content."""

    def build(erased: Erased) -> Sequence[Event]:
        return [
            MemoryErased(
                at=at,
                namespace=shelf.namespace,
                scope=shelf.scope,
                keys=erased.keys,
                receipt=erased.receipt,
                actor=actor,
                places=erased.places,
            )
        ]

    return build


def moved_by(shelf: Shelf, to: Shelf, keys: tuple[str, ...], actor: str, at: datetime) -> MemoryMoved:
    """The event of a move."""
    return MemoryMoved(
        at=at,
        namespace=shelf.namespace,
        scope=shelf.scope,
        keys=keys,
        to_scope=to.scope,
        to_owner=to.owner,
        to_namespace=to.namespace,
        actor=actor,
    )


def imported_by(actor: str, at: datetime) -> Callable[[Shelved], Sequence[Event]]:
    """The event of a key that was imported."""

    def build(item: Shelved) -> Sequence[Event]:
        last = item.versions[-1]
        write = written_by(item.shelf, actor, at)
        return write(Written("created", last))

    return build
