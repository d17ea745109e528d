"""Runs: start, look at, cancel, and the document that one went by."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from runtime.cli.files import EXAMPLE, read_flow
from runtime.errors import BadInput, Conflict, NotFound
from runtime.record import ACTIVE, RunLine, SessionLine
from runtime.run.services import script_beside
from runtime.run.start import RunRequest, prepare
from studio.api.route import LARGE_BODY, Call, Endpoint, forbidden
from studio.api.shapes import GaugeOut, UsageOut, cost_out, gauge_out, usage_out
from studio.gauges import run_gauges
from studio.needs import require, wanted
from studio.runs import Started

MAX_KEY_CHARS = 200


class RunIn(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: a saved flow by `path` (or `example:NAME`), or a document as `flow`, which may name by
    `base_path` the file that it is a draft of. `input` is a text or an object. `session` null: a new one.
    `user`: only an operator names another. `limits` are `metric=amount`. `allow`: the hash of the needs
    that an operator grants with it."""

    path: str | None = None
    flow: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    base_path: str | None = None
    input: Any = None
    session: str | None = None
    user: str | None = None
    model: str | None = None
    limits: list[str] = []
    allow: str | None = None

    @property
    def document(self) -> bytes | None:
        """The flow's bytes exactly as they were sent; null where there are none."""
        sent = bytes(self.flow)
        return None if sent in (b"", b"null") else sent

    def digest(self) -> bytes:
        """The same for the same request."""
        rest = {name: getattr(self, name) for name in self.__struct_fields__ if name != "flow"}
        return sha256(bytes(self.flow) + msgspec.json.encode(rest)).digest()


class StartedOut(msgspec.Struct, frozen=True):
    """A run that has begun; its events are at `/sessions/{session_uid}/events?run={run_id}`."""

    run_id: str
    session_uid: str
    session: str
    rehearsal: bool


class RunOut(msgspec.Struct, frozen=True, kw_only=True):
    """A run. `cost` sums the known costs, null where none is known; `unknown_cost` counts calls without."""

    run_id: str
    session_uid: str
    session: str
    user_id: str | None
    flow_id: str
    flow_name: str
    state: str
    rehearsal: bool
    here: bool
    outputs: dict[str, Any]
    usage: UsageOut
    cost: str | None
    unknown_cost: int
    error: dict[str, Any] | None
    flow_hash: str
    model: str | None
    input: Any
    started_at: datetime
    finished_at: datetime | None
    budgets: list[GaugeOut]


class CancelledOut(msgspec.Struct, frozen=True):
    """Cancelling was taken note of; `state` is that of this moment."""

    state: str


class _Source(NamedTuple):
    """A document to run and where it came from."""

    raw: bytes
    path: Path | None
    script: Path | None
    bundled: bool


async def start(call: Call) -> StartedOut:
    """Start a run. With an `Idempotency-Key` the same request starts one run however often it is sent."""
    body: RunIn = call.body
    if body.user is not None and body.user != call.who.user and not call.who.operator:
        raise forbidden("Only an operator runs flows for others.")
    if body.document is not None and not call.who.may("editor"):
        raise forbidden("Unsaved flows are run by editors.")
    key = call.request.headers.get("idempotency-key")
    if key is not None and len(key) > MAX_KEY_CHARS:
        raise BadInput(f"An Idempotency-Key has at most {MAX_KEY_CHARS} characters.", remedy="Send a UUID.")

    async def begin() -> Started:
        return await _begin(call, body)

    started = await call.studio.runs.once(call.who.user, key, body.digest(), begin)
    if started is None:
        raise Conflict(
            "This Idempotency-Key came with another request before.",
            code="run.key_reused",
            remedy="Use a new key for a new request.",
        )
    return StartedOut(*started)


async def _begin(call: Call, body: RunIn) -> Started:
    services, source = call.studio.services, _source(call, body)
    request = RunRequest(
        flow_bytes=source.raw,
        flow_path=source.path,
        input=body.input,
        session=body.session or None,
        user=call.who.user if body.user is None else body.user,
        model=body.model or None,
        limits=tuple(body.limits),
        allow=body.allow,
        script=source.script,
        trusted=source.bundled,
    )
    prepared = prepare(request, services)
    found = await wanted(call.studio, prepared.plan, source.path, bundled=source.bundled)
    await require(call.studio, call.who, prepared.plan, found, body.allow)
    return await call.studio.runs.begin(prepared, services)


def _source(call: Call, body: RunIn) -> _Source:
    document = body.document
    if (body.path is None) == (document is None):
        raise BadInput("A run needs either `path` or `flow`.", remedy="Send one of them.")
    if body.path is not None and body.base_path is not None:
        raise BadInput("`base_path` says where `flow` is from, not `path`.", remedy="Send one of them.")
    if body.path is not None:
        if body.path.startswith(EXAMPLE):
            file = read_flow(body.path)
            return _Source(file.raw, file.path, file.script, True)
        place = call.studio.folder.place(body.path)
        return _Source(call.studio.folder.read(body.path), place, script_beside(place), False)
    assert document is not None
    if body.base_path is None:
        return _Source(document, None, None, False)
    if body.base_path.startswith(EXAMPLE):
        file = read_flow(body.base_path)
        return _Source(document, None, file.script, False)
    place = call.studio.folder.place(body.base_path)
    return _Source(document, place, script_beside(place), False)


async def run_of(call: Call, run_id: str) -> tuple[RunLine, SessionLine]:
    """A run that the caller may see, with its session. Raises NotFound for others' too."""
    run = await call.studio.record.run(run_id)
    session = None if run is None else await call.studio.record.session(run.session_uid)
    if run is None or session is None or not call.who.sees(run.user_id):
        raise NotFound(f"There is no run {run_id!r}.", remedy="Check its id.")
    return run, session


async def get(call: Call) -> RunOut:
    """One run: its state, what it gave, what it used, and how its budgets stand."""
    run, session = await run_of(call, call.path["run_id"])
    gauges = [gauge_out(gauge) for gauge in await run_gauges(call.studio, run)]
    return await run_out(call, run, session.name, gauges)


async def run_out(call: Call, run: RunLine, session: str, gauges: list[GaugeOut]) -> RunOut:
    """A run as the API writes it."""
    totals = await call.studio.record.run_totals(run.run_id)
    return RunOut(
        run_id=run.run_id,
        session_uid=run.session_uid,
        session=session,
        user_id=run.user_id,
        flow_id=run.flow_id,
        flow_name=run.flow_name,
        state=run.state,
        rehearsal=run.partition == "rehearsal",
        here=call.studio.runs.has(run.run_id),
        outputs=run.outputs,
        usage=usage_out(totals.usage),
        cost=cost_out(totals.cost, totals.unknown),
        unknown_cost=totals.unknown,
        error=run.error,
        flow_hash=run.flow_hash,
        model=run.model,
        input=run.input,
        started_at=run.queued_at,
        finished_at=run.finished_at,
        budgets=gauges,
    )


async def cancel(call: Call) -> CancelledOut:
    """Cancel a run, here or in another process; a second time, and after its end, it is harmless."""
    run, _ = await run_of(call, call.path["run_id"])
    if not call.studio.runs.cancel(run.run_id) and run.state in ACTIVE:
        await call.studio.record.ask_cancel(run.run_id, call.who.user)
    return CancelledOut(run.state)


async def flow(call: Call) -> Response:
    """The document that a run went by, byte for byte."""
    run, _ = await run_of(call, call.path["run_id"])
    raw = await call.studio.record.flow_bytes(run.flow_hash)
    if raw is None:
        raise NotFound("The document of this run is not kept any more.", remedy="Open the flow as it is now.")
    return Response(raw, media_type="application/json")


ENDPOINTS = (
    Endpoint(
        "POST", "/runs", "runner", start, body=RunIn, gives=StartedOut, status=201, tag="runs",
        max_body=LARGE_BODY,
    ),
    Endpoint("GET", "/runs/{run_id}", "viewer", get, gives=RunOut, tag="runs"),
    Endpoint(
        "POST", "/runs/{run_id}/cancel", "runner", cancel, gives=CancelledOut, status=202, tag="runs"
    ),
    Endpoint("GET", "/runs/{run_id}/flow", "viewer", flow, gives=dict[str, Any], tag="runs"),
)  # fmt: skip
