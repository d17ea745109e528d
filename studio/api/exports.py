"""A session as one file: its timeline as a page, or all that is known of it as JSON."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from runtime.cli.events_chosen import Wanted, chosen
from runtime.record import SessionLine
from studio.api.errors import Refused
from studio.api.route import Call, Endpoint
from studio.api.sessions import SessionOut, session_of, session_out

MOST_EVENTS = 200_000
"""Events of a session that are put into one file; for more there is the command line."""
FORMAT = "farthing.session/1"
UNFIT = re.compile(r"[^\w.-]+", re.ASCII)
"""What a file is not called by on every system."""


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True):
    """As what, and of which run; null: all of the session."""

    form: Literal["json", "html"] = "json"
    run: str | None = None


class ExportOut(msgspec.Struct, frozen=True, kw_only=True):
    """A session with all its events as they are stored, in order."""

    format: str
    exported_at: datetime
    session: SessionOut
    events: list[dict[str, Any]]


class Export(msgspec.Struct, frozen=True):
    """The same, with the events' bytes as they are stored."""

    format: str
    exported_at: datetime
    session: SessionOut
    events: list[msgspec.Raw]


async def export(call: Call) -> Response:
    """A session as one file to keep or to send: JSON, or a page that has everything in it."""
    line, query = await session_of(call, call.path["uid"]), call.query
    if line.events > MOST_EVENTS:
        raise Refused(
            413,
            "session.too_large",
            f"The session has {line.events:,} events, more than the {MOST_EVENTS:,} of one file.",
            "Name a run, or use `farthing events --html` or `--json`."
            if query.run is None
            else "Use `farthing events --html` or `--json`.",
        )
    raws = await call.studio.record.events_json(line.uid, run_id=query.run)
    if query.form == "html":
        body, kind = await asyncio.to_thread(_page, line, raws), "text/html; charset=utf-8"
    else:
        now = call.studio.services.clock.now()
        whole = Export(FORMAT, now, session_out(line), [msgspec.Raw(raw) for raw in raws])
        body, kind = msgspec.json.encode(whole), "application/json"
    return Response(body, media_type=kind, headers={"content-disposition": _named(line, query.form)})


def _page(line: SessionLine, raws: list[bytes]) -> bytes:
    """The page that `farthing events --html` writes."""
    from runtime.cli.page.timeline import page
    from runtime.cli.timeline import fold

    return "".join(page(line, fold(chosen(raws, Wanted())))).encode("utf-8", "backslashreplace")


def _named(line: SessionLine, form: str) -> str:
    """A name for the file, plain and as it is."""
    plain = UNFIT.sub("_", line.name)[:80].strip("._") or line.uid
    full = quote(f"session-{line.name[:80]}.{form}".encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"session-{plain}.{form}\"; filename*=UTF-8''{full}"


ENDPOINTS = (
    Endpoint(
        "GET", "/sessions/{uid}/export", "viewer", export, query=ExportQuery, gives=ExportOut,
        tag="sessions", also=("text/html",),
    ),
)  # fmt: skip
