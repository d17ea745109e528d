"""Sessions: the list with its filters, one with its runs, and its events as a page or as a stream."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from runtime.cli.events_chosen import Stored, stored_of
from runtime.errors import BadInput, NotFound
from runtime.facts import Partition
from runtime.record import SessionFilter, SessionLine
from runtime.usage import parse_money
from studio.api.route import Call, Endpoint, time_of
from studio.api.runs import RunOut, run_out
from studio.api.shapes import UsageOut, cost_out, partition_of, usage_out
from studio.feeds import seq_of
from studio.stream import open_stream

INTERNAL = "@"
"""Flow ids of Farthing's own sessions begin so; they are shown to those who ask for them."""
MOST_LOOKED_AT = 2_000
"""Sessions looked at for one page where a filter is applied after reading."""
MOST_RUNS = 200
MOST_EVENTS = 5_000
LARGEST_SEQ = 2**53
"""The largest number that every JSON reader keeps whole."""


class SessionOut(msgspec.Struct, frozen=True, kw_only=True):
    """A session; `state` is that of its newest run."""

    uid: str
    name: str
    user_id: str | None
    flow_id: str
    flow_name: str
    partition: str
    state: str
    opened_at: datetime
    last_at: datetime
    runs: int
    events: int
    usage: UsageOut
    cost: str | None
    unknown_cost: int


class SessionsOut(msgspec.Struct, frozen=True):
    """A page of sessions, the latest active first. `next` is the `before` of the next page."""

    sessions: list[SessionOut]
    next: str | None
    hidden_rehearsals: int


class SessionDetailOut(msgspec.Struct, frozen=True, kw_only=True):
    """A session and its newest runs, oldest first; `run_count` counts all of them."""

    uid: str
    name: str
    user_id: str | None
    flow_id: str
    flow_name: str
    partition: str
    state: str
    opened_at: datetime
    last_at: datetime
    events: int
    first_seq: int
    usage: UsageOut
    cost: str | None
    unknown_cost: int
    run_count: int
    runs: list[RunOut]


class SessionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters; all that are given must match. `flow` is a flow's id, or its name where no id is like it.
    `text` is looked for in names and ids, `min_cost` is in dollars, `before` is the `next` of the page
    before. `internal`: also Farthing's own sessions."""

    flow: str | None = None
    user: str | None = None
    state: str | None = None
    text: str | None = None
    min_cost: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: str | None = None
    limit: int = 50
    rehearsal: bool = False
    internal: bool = False


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after a number. `run`: only that run's; of a stream, which shows all, that it ends with it."""

    after: str | None = None
    limit: int = 1000
    run: str | None = None
    stream: bool = False


def session_out(line: SessionLine) -> SessionOut:
    """A session as the API writes it."""
    return SessionOut(
        uid=line.uid,
        name=line.name,
        user_id=line.user_id,
        flow_id=line.flow_id,
        flow_name=line.flow_name,
        partition=line.partition,
        state=line.state,
        opened_at=line.opened_at,
        last_at=line.last_at,
        runs=line.runs,
        events=line.events,
        usage=usage_out(line.usage),
        cost=cost_out(line.cost, line.unknown),
        unknown_cost=line.unknown,
    )


class _Cursor(msgspec.Struct, frozen=True):
    """Where a page ended: at this time, after these sessions of the same microsecond."""

    at: datetime
    uids: tuple[str, ...] = ()

    def text(self) -> str:
        """As the next page is asked for."""
        return f"{self.at.isoformat().replace('+00:00', 'Z')}~{','.join(self.uids)}"


def _cursor(text: str | None) -> _Cursor | None:
    if text is None:
        return None
    at, _, uids = text.partition("~")
    return _Cursor(time_of(at, "before"), tuple(uid for uid in uids.split(",") if uid))


async def sessions(call: Call) -> SessionsOut:
    """List sessions, the latest active first."""
    query: SessionsQuery = call.query
    limit = _bounded(query.limit, 500)
    partition = partition_of(query.rehearsal)
    cursor = _cursor(query.before)
    least = None if query.min_cost is None else parse_money(query.min_cost, field="min_cost")
    flow = await _flow(call, query.flow, partition)
    found: list[SessionLine] = []
    looked, more = 0, True
    while more and len(found) < limit and looked < MOST_LOOKED_AT:
        before = None if cursor is None else cursor.at + timedelta(microseconds=1)
        if query.until is not None:
            before = query.until if before is None else min(before, query.until)
        known = () if cursor is None else cursor.uids
        asked = limit + len(known)
        which = SessionFilter(
            partition=partition,
            user_id=call.who.scope(query.user),
            flow_id=flow.id,
            state=query.state,
            text=flow.name if query.text is None else query.text,
            before=before,
            limit=asked,
        )
        lines = await call.studio.record.sessions(which)
        more = len(lines) == asked
        for line in lines:
            if line.uid in known:
                continue
            if query.since is not None and line.last_at < query.since:
                more = False
                break
            if len(found) == limit:
                more = True
                break
            looked += 1
            same = cursor is not None and cursor.at == line.last_at
            cursor = _Cursor(line.last_at, (*(cursor.uids if same and cursor else ()), line.uid))
            if _shown(line, query, least) and flow.name in (None, line.flow_name.casefold()):
                found.append(line)
    following = cursor.text() if more and cursor is not None else None
    hidden = 0
    if partition == "real":
        hidden = await call.studio.record.hidden_rehearsals(call.who.scope(query.user))
    return SessionsOut([session_out(line) for line in found], following, hidden)


class _Flow(NamedTuple):
    """The flow that was asked for: by its id, or by its name in small letters."""

    id: str | None = None
    name: str | None = None


async def _flow(call: Call, given: str | None, partition: Partition) -> _Flow:
    if given is None:
        return _Flow()
    known = await call.studio.record.sessions(SessionFilter(partition, flow_id=given, limit=1))
    return _Flow(id=given) if known else _Flow(name=given.casefold())


def _shown(line: SessionLine, query: SessionsQuery, least: int | None) -> bool:
    if least is not None and line.cost < least:
        return False
    return query.internal or query.flow is not None or not line.flow_id.startswith(INTERNAL)


def _bounded(limit: int, most: int) -> int:
    if limit < 1:
        raise BadInput("`limit` is at least 1.", remedy="Leave it out, or ask for more.")
    return min(limit, most)


async def session_of(call: Call, uid: str) -> SessionLine:
    """A session that the caller may see. Raises NotFound for others' too."""
    line = await call.studio.record.session(uid)
    if line is None or not call.who.sees(line.user_id):
        raise NotFound(f"There is no session {uid!r}.", remedy="Check its id.")
    return line


async def event_of(call: Call, line: SessionLine, seq: int | None) -> Stored:
    """The event of that number, or the last one. Raises NotFound."""
    if seq is None:
        seq = await call.studio.record.first_seq(line.uid) + line.events - 1
    known = 0 < seq <= LARGEST_SEQ
    there = await call.studio.record.events_json(line.uid, after=seq - 1, limit=1) if known else []
    if not there or (found := stored_of(there[0])).seq != seq:
        raise NotFound(f"There is no event {seq} in this session.", remedy="GET its events.")
    return found


async def session(call: Call) -> SessionDetailOut:
    """One session with its runs."""
    line = await session_of(call, call.path["uid"])
    found = await call.studio.record.runs(line.uid)
    fields: dict[str, Any] = msgspec.structs.asdict(session_out(line))
    del fields["runs"]
    return SessionDetailOut(
        **fields,
        first_seq=await call.studio.record.first_seq(line.uid),
        run_count=len(found),
        runs=[await run_out(call, run, line.name, []) for run in found[-MOST_RUNS:]],
    )


class EventsOut(msgspec.Struct, frozen=True):
    """A page of events in order. `next` is the `after` of the next page, null at the end."""

    events: list[dict[str, Any]]
    next: int | None
    first_seq: int


async def events(call: Call) -> Response:
    """A session's events: a page of JSON, or a stream (`Accept: text/event-stream` or `stream=1`)."""
    line, query, record = await session_of(call, call.path["uid"]), call.query, call.studio.record
    headers = call.request.headers
    wants = query.stream or "text/event-stream" in headers.get("accept", "")
    if wants and call.request.method != "HEAD":
        cursor = headers.get("last-event-id") or query.after
        return await open_stream(call.studio.feeds, record, line.uid, cursor, query.run)
    if query.after is not None and not (query.after.isascii() and query.after.isdigit()):
        raise BadInput("`after` is the number of an event.", remedy="Leave it out to begin at the first.")
    limit, after = _bounded(query.limit, MOST_EVENTS), min(int(query.after or 0), 2**62)
    found = await record.events_json(line.uid, after=after, limit=limit, run_id=query.run)
    following = b"%d" % seq_of(found[-1]) if len(found) == limit else b"null"
    first = await record.first_seq(line.uid)
    body = b'{"events":[%b],"next":%b,"first_seq":%d}' % (b",".join(found), following, first)
    return Response(body, media_type="application/json")


ENDPOINTS = (
    Endpoint("GET", "/sessions", "viewer", sessions, query=SessionsQuery, gives=SessionsOut, tag="sessions"),
    Endpoint("GET", "/sessions/{uid}", "viewer", session, gives=SessionDetailOut, tag="sessions"),
    Endpoint(
        "GET", "/sessions/{uid}/events", "viewer", events, query=EventsQuery, gives=EventsOut,
        tag="sessions", streams=True,
    ),
)  # fmt: skip
