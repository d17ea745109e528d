"""Finding a session or a flow by what people call it; where a name is not unique, the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from runtime.cli.plain import one_line
from runtime.cli.streams import say
from runtime.cli.when import stamp, zone
from runtime.errors import NotFound
from runtime.facts import Partition
from runtime.record import Record, SessionFilter, SessionLine

SHOWN = 8
"""Candidates listed at most."""
PARTITIONS: tuple[Partition, ...] = ("real", "rehearsal")
SHORTEST = 6
"""Letters of an id or a name that may stand for all of it."""
INTERNAL = "@"
"""Sessions of Farthing's own (`@admin`, `@maintenance`) begin so; they are found by name or id only."""


async def find_session(
    record: Record,
    name: str | None,
    *,
    partition: Partition | None = None,
    user_id: str | None = None,
    flow: str | None = None,
) -> SessionLine:
    """The session of that uid or name, or the latest where none is named.

    `partition` null: real ones, and rehearsals only where no real one fits. Raises NotFound with candidates.
    """
    if name is not None:
        by_uid = await record.session(name)
        if by_uid is not None:
            return by_uid
    partitions: tuple[Partition, ...] = ("real", "rehearsal") if partition is None else (partition,)
    for each in partitions:
        flow_id = await flow_id_of(record, flow, each) if flow is not None else None
        found = await _named(record, SessionFilter(each, user_id, flow_id, name))
        if len(found) > 1:
            raise NotFound(
                f"{len(found)} sessions are called {name!r}:\n{_listed(found)}",
                code="session.ambiguous",
                remedy="Give one of these ids, or narrow it with --user or --flow.",
            )
        if found:
            return found[0]
        begun = await _begun(record, SessionFilter(each, user_id, flow_id, name))
        if begun is not None:
            return begun
    raise await _none(record, partitions, SessionFilter("real", user_id, None, name))


async def session_of_run(record: Record, run_id: str) -> str:
    """The uid of a run's session. Raises NotFound."""
    run = await record.run(run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id!r}.", remedy="`farthing events --json` shows run ids.")
    return run.session_uid


async def tell_kind(
    record: Record, shown: SessionLine, *, latest: bool, user_id: str | None = None, flow: str | None = None
) -> None:
    """Say that a rehearsal is shown though none was asked for, or, where the `latest` was meant, that one is
    newer than the real session that is shown."""
    if shown.partition == "rehearsal":
        say("No real session fits; this is a rehearsal.", "yellow")
    elif latest and await newer_rehearsal(record, shown, user_id=user_id, flow=flow):
        say("A rehearsal is newer; --rehearsal shows it.", "yellow")


async def newer_rehearsal(
    record: Record, shown: SessionLine, *, user_id: str | None = None, flow: str | None = None
) -> bool:
    """Whether a rehearsal of that user and flow is newer than the real session that is shown."""
    flow_id = await flow_id_of(record, flow, "rehearsal") if flow is not None else None
    latest = await _named(record, SessionFilter("rehearsal", user_id, flow_id))
    return shown.partition == "real" and bool(latest) and latest[0].last_at > shown.last_at


async def _named(record: Record, which: SessionFilter) -> list[SessionLine]:
    """Sessions of that name; without a name the latest one that is not Farthing's own."""
    if which.name is not None:
        return await record.sessions(which)
    lines = await record.sessions(msgspec.structs.replace(which, limit=100))
    return [x for x in lines if not x.flow_id.startswith(INTERNAL) and not x.name.startswith(INTERNAL)][:1]


async def _like(record: Record, which: SessionFilter) -> list[SessionLine]:
    """Sessions with this in their name or id, else those whose names are nearest to it."""
    found = await record.sessions(msgspec.structs.replace(which, name=None, text=which.name, limit=SHOWN))
    if found or which.name is None:
        return found
    from difflib import get_close_matches

    lines = await record.sessions(msgspec.structs.replace(which, name=None, limit=200))
    names = get_close_matches(which.name, {line.name for line in lines}, n=SHOWN)
    return [line for line in lines if line.name in names][:SHOWN]


async def _begun(record: Record, which: SessionFilter) -> SessionLine | None:
    """The one session whose id or name begins so: tables shorten long ones."""
    begin = (which.name or "").removesuffix("…")
    if len(begin) < SHORTEST:
        return None
    like = await record.sessions(msgspec.structs.replace(which, name=None, text=begin, limit=100))
    found = [line for line in like if line.uid.startswith(begin) or line.name.startswith(begin)]
    return found[0] if len(found) == 1 else None


async def _none(record: Record, partitions: Sequence[Partition], which: SessionFilter) -> NotFound:
    if which.name is None:
        return NotFound(
            "There are no sessions yet.", remedy='`farthing run example:support "Hello"` makes one.'
        )
    near: list[SessionLine] = []
    for each in partitions:
        near = near or await _like(record, msgspec.structs.replace(which, partition=each))
    if near:
        return NotFound(
            f"There is no session {which.name!r}; these are like it:\n{_listed(near)}",
            remedy="Give one of these.",
        )
    return NotFound(f"There is no session {which.name!r}.", remedy="`farthing sessions` lists them.")


def _listed(found: Sequence[SessionLine]) -> str:
    lines = [
        f"  {line.uid}  {one_line(line.name)}  user {_name(line.user_id)}  flow {one_line(line.flow_name)}"
        f"  {stamp(line.last_at)} {zone()}"
        for line in found[:SHOWN]
    ]
    return "\n".join([*lines, f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else lines)


def _name(user_id: str | None) -> str:
    return "(none)" if user_id is None else one_line(user_id)


async def flow_id_of(record: Record, given: str, partition: Partition = "real") -> str:
    """A flow's id from its id, its name in what was run, or its file."""
    if _is_file(given):
        return flow_id_in(given)
    partitions: tuple[Partition, ...] = (
        ("real", "rehearsal") if partition == "real" else ("rehearsal", "real")
    )
    for each in partitions:
        if await record.sessions(SessionFilter(each, flow_id=given, limit=1)):
            return given
        named = await record.sessions(SessionFilter(each, text=given, limit=200))
        ids = sorted({line.flow_id for line in named if line.flow_name == given})
        if len(ids) > 1:
            raise NotFound(
                f"{len(ids)} flows are called {given!r}: {', '.join(ids)}.",
                remedy="Give the id, or the file.",
            )
        if ids:
            return ids[0]
    raise NotFound(f"No flow {given!r} was run here.", remedy=await _near_flow(record, given))


async def _near_flow(record: Record, given: str) -> str:
    """What to do where no flow is called so."""
    from difflib import get_close_matches

    lines = [
        line
        for each in PARTITIONS
        for line in await record.sessions(SessionFilter(each, limit=200))
        if not line.flow_id.startswith(INTERNAL)
    ]
    names = sorted({line.flow_name for line in lines})
    near = get_close_matches(given, names, n=1)
    if near:
        return f"Did you mean {one_line(near[0])}?"
    if names:
        more = ", …" if len(names) > SHOWN else ""
        return f"There are: {', '.join(map(one_line, names[:SHOWN]))}{more}. Or give its file."
    return "Give its file, or run it first."


def _is_file(given: str) -> bool:
    return given.startswith("example:") or (given.endswith(".json") and Path(given).exists())


def flow_id_in(given: str) -> str:
    """The id of the flow in a file."""
    from runtime.cli.files import read_flow
    from runtime.spec import load_flow

    file = read_flow(given)
    return load_flow(file.raw, name=file.name).spec.flow_id


async def unknown_user(record: Record, user_id: str | None) -> str | None:
    """That nothing here is of this user, and who is meant perhaps; null where somebody is called so."""
    if user_id is None:
        return None
    from difflib import get_close_matches

    known = {
        line.user_id for each in PARTITIONS for line in await record.sessions(SessionFilter(each, limit=200))
    }
    for each in PARTITIONS:
        known |= {shelf.owner for shelf, _ in await record.shelves(each) if shelf.scope == "user"}
        if await record.sessions(SessionFilter(each, user_id, limit=1)):
            return None
    if user_id in known:
        return None
    near = get_close_matches(user_id, sorted(name for name in known if name), n=1)
    return f"Nothing here is of a user {user_id!r}." + (f" Did you mean {near[0]!r}?" if near else "")
