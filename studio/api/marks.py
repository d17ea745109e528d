"""Marks of contradictions between two facts of a shelf, and a person's word on one."""

from __future__ import annotations

import msgspec

from runtime.facts import Scope, Shelf
from runtime.memory_service.marks import Mark, Settling, marks_on
from runtime.memory_service.marks import settle as settle_mark
from studio.api.facts import shelf_of
from studio.api.route import Call, Endpoint


class MarkOut(msgspec.Struct, frozen=True, kw_only=True):
    """Two current facts that cannot both be true, and why; `judged_in`: the run in which a model said so."""

    key: str
    version: int
    other: str
    other_version: int
    why: str
    judged_in: str | None


class SettleMarkIn(msgspec.Struct, frozen=True, kw_only=True):
    """Two marked facts of one shelf: `right` is, and `other` is too where `both`; else it is retired."""

    namespace: str
    scope: Scope
    owner: str
    right: str
    other: str
    both: bool = False
    rehearsal: bool = False


async def settle(call: Call) -> MarkOut:
    """Say which of two facts that contradict each other is right, or that both are. It can be taken back as a
    consolidation is."""
    body: SettleMarkIn = call.body
    shelf, clock = await shelf_of(call, body), call.studio.services.clock
    wish = Settling(body.right, body.other, body.both, call.who.user)
    return _out(await settle_mark(call.studio.record, shelf, wish, clock.new_id(), clock.now()))


async def marks_out(call: Call, shelf: Shelf) -> list[MarkOut]:
    """The marks that hold on a shelf."""
    return [_out(mark) for mark in await marks_on(call.studio.record, [shelf])]


def _out(mark: Mark) -> MarkOut:
    return MarkOut(
        key=mark.key,
        version=mark.version,
        other=mark.other,
        other_version=mark.other_version,
        why=mark.why,
        judged_in=mark.judged_in,
    )


ENDPOINTS = (
    Endpoint("POST", "/memory/settle", "runner", settle, body=SettleMarkIn, gives=MarkOut, tag="memory"),
)
