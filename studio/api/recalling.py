"""Memory as a model would be given it for a question: through the same code as a run's."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from runtime.errors import BadInput
from runtime.facts import Scope, Shelf
from runtime.journal import Journal
from runtime.memory_service.indexes import Whose
from runtime.memory_service.others import OtherSessions
from runtime.memory_service.service import MemoryService
from runtime.memory_service.shared import ForContext
from runtime.record import SessionFilter
from studio.api.facts import shelf_of
from studio.api.route import Call, Endpoint
from studio.memories import Bindings

MOST_TOKENS = 100_000
MAX_QUESTION_CHARS = 4_000
MOST_SESSIONS = 200
"""Sessions that are looked at for the flows of a shelf."""


class RecallQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question to one shelf. `tokens`: the allowance in place of the Memory's own. `flow`: the id of the
    flow whose Memory it is; absent, the one of the latest run that has facts here."""

    namespace: str
    scope: Scope
    owner: str
    q: str = ""
    tokens: int | None = None
    flow: str | None = None
    rehearsal: bool = False


class RecalledOut(msgspec.Struct, frozen=True, kw_only=True):
    """One item in the order sent, or one that was left out, with why."""

    section: str
    ref: str
    tokens: int
    score: float | None
    source: str | None
    why: str | None


class OfFlowOut(msgspec.Struct, frozen=True):
    """A flow with a Memory that keeps its facts on the shelf: its id, and what it is called."""

    id: str
    name: str


class RecallOut(msgspec.Struct, frozen=True, kw_only=True):
    """What the model would read: `stable` stays the same from question to question, `recalled` is chosen for
    this one. `tokens` count both by our own count. `allowance`: of them at most. `flow`: whose Memory was
    asked; `flows`: all that may be asked for, the latest run first. `known` false: no run of this user with
    this Memory is kept, so that a Memory's defaults hold."""

    stable: str
    recalled: str
    tokens: int
    allowance: int
    items: list[RecalledOut]
    left_out: list[RecalledOut]
    warnings: list[str]
    known: bool
    flow: str
    flows: list[OfFlowOut]


async def recall(call: Call) -> RecallOut:
    """What a model would be given of a Memory for a question, within an allowance of tokens."""
    query: RecallQuery = call.query
    if len(query.q) > MAX_QUESTION_CHARS:
        raise BadInput(f"A question has at most {MAX_QUESTION_CHARS:,} characters.", remedy="Shorten `q`.")
    if query.tokens is not None and not 0 <= query.tokens <= MOST_TOKENS:
        raise BadInput(f"`tokens` is from 0 to {MOST_TOKENS:,}.", remedy="Leave it out for the Memory's own.")
    shelf = await shelf_of(call, query)
    line = await call.studio.record.session(shelf.owner) if shelf.scope == "session" else None
    user_id = shelf.owner if line is None else line.user_id
    flows = await _flows(call, shelf, user_id) if line is None else []
    asked = query.flow or next((flow.id for flow in flows), shelf.namespace)
    flow_id = asked if line is None else line.flow_id
    bindings = await call.studio.memories.of_flow(shelf, flow_id, user_id)
    config = next((each.config for each in bindings.values()), None) or call.studio.memories.default()
    if query.tokens is not None:
        limits = msgspec.structs.replace(config.injection, tokens=query.tokens)
        config = msgspec.structs.replace(config, injection=limits)
    memory = await _memory(call, shelf, flow_id, bindings, config)
    counter, model = call.studio.services.gate.counter, ""
    given = await memory.inject(lambda text: counter.text(model, text), query=query.q)
    tokens = sum(counter.text(model, text) for text in (given.text, given.recall) if text)
    whose = _Whose(flow_id, flows, bool(bindings))
    return _out(given, tokens, config.injection.tokens, whose)


async def _flows(call: Call, shelf: Shelf, user_id: str | None) -> list[OfFlowOut]:
    """The flows of this user's latest sessions whose Memory keeps its facts on this shelf."""
    which = SessionFilter(shelf.partition, user_id, limit=MOST_SESSIONS)
    names: dict[str, str] = {}
    for line in await call.studio.record.sessions(which):
        names.setdefault(line.flow_id, line.flow_name)
    memories = call.studio.memories
    return [
        OfFlowOut(flow_id, name)
        for flow_id, name in names.items()
        if await memories.of_flow(shelf, flow_id, user_id)
    ]


async def _memory(call: Call, shelf: Shelf, flow_id: str, bindings: Bindings, config: Any) -> MemoryService:
    """The Memory of a run in a new session of the shelf's user; nothing is said on any timeline."""
    services = call.studio.services
    others = None
    if shelf.scope == "user":
        which = SessionFilter(shelf.partition, shelf.owner, flow_id, limit=1)
        lines = await services.record.sessions(which)
        if lines and bindings:
            nodes = tuple(bindings)
            whose = Whose(shelf.partition, shelf.owner, flow_id, nodes)
            others = OtherSessions(
                services.record, services.indexes, whose, lines[0].uid, nodes[0], with_own=True
            )
    journal = Journal(services.record, "", services.clock)
    return MemoryService(config, shelf, journal, indexes=services.indexes, others=others)


class _Whose(NamedTuple):
    """Which flow's Memory was asked, among which, and whether a run of it is kept."""

    flow: str
    flows: list[OfFlowOut]
    known: bool


def _out(given: ForContext, tokens: int, allowance: int, whose: _Whose) -> RecallOut:
    return RecallOut(
        stable=given.text,
        recalled=given.recall,
        tokens=tokens,
        allowance=allowance,
        items=[
            _item(section.name, item)
            for section in (*given.sections, *given.recalled)
            for item in section.items
        ],
        left_out=[_item("", item) for item in given.left_out],
        warnings=list(given.warnings),
        known=whose.known,
        flow=whose.flow,
        flows=whose.flows,
    )


def _item(section: str, item: Any) -> RecalledOut:
    return RecalledOut(
        section=section,
        ref=item.ref,
        tokens=item.tokens,
        score=item.score,
        source=item.source,
        why=item.why,
    )


ENDPOINTS = (
    Endpoint("GET", "/memory/recall", "viewer", recall, query=RecallQuery, gives=RecallOut, tag="memory"),
)
