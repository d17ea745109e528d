"""The flow of a session, ready for maintenance of what its agents remember."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.errors import BadInput, NotFound
from runtime.facts import Partition, Shelf
from runtime.record import Record, SessionLine

if TYPE_CHECKING:
    from runtime.plan import MemoryBinding
    from runtime.run.prepare import Prepared
    from runtime.run.services import Services


async def prepared_of(
    record: Record, services: Services, line: SessionLine, model: str | None, *, as_then: bool = False
) -> Prepared:
    """The session's flow as its last run went by it, ready to run for its user; `as_then`: with the
    model of that run, where none is named."""
    from runtime.run.prepare import RunRequest, prepare

    runs = [run for run in await record.runs(line.uid) if run.kind == "flow"]
    raw = await record.flow_bytes(runs[-1].flow_hash) if runs else None
    if raw is None:
        raise NotFound(f"The session {line.name!r} has no run.", remedy="`farthing sessions` lists them.")
    if model is None and as_then:
        model = runs[-1].model
    if model is None and line.partition == "rehearsal":
        model = "scripted"
    request = RunRequest(
        flow_bytes=raw, input=runs[-1].input, session=line.name, user=line.user_id, model=model, trusted=True
    )
    prepared = prepare(request, services)
    if prepared.session.partition != line.partition:
        raise BadInput(
            f"The session {line.name!r} is {line.partition}, its models now {prepared.session.partition}.",
            remedy="Name the model with --model.",
        )
    return prepared


def shelf_of(memory: MemoryBinding, line: SessionLine, partition: Partition) -> Shelf:
    """Where the facts of this Memory lie in this session."""
    owner = line.uid if memory.config.scope == "session" else line.user_id or ""
    return Shelf(partition, memory.namespace, memory.config.scope, owner)
