"""What a route takes and gives and which role it needs: said once, for the server and for OpenAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.errors import BadInput
from studio.api.errors import Refused, json_response
from studio.roles import Credential, RoleName

if TYPE_CHECKING:
    from studio.state import Studio

BASE = "/api/v1"
MAX_BODY = 64 * 1024
"""Bytes of a request's body at most, where a route does not say otherwise."""
LARGE_BODY = 9 * 1024 * 1024
"""For routes that take a flow document, which may have 8 MiB, or a run's input."""


TIMES = frozenset({"since", "until", "as_of"})
"""Parameters that are times."""
YEARS = range(1970, 9000)
SHOWN_OF_NAME = 100
"""Characters of an unknown name that an error repeats at most."""


class Nothing(msgspec.Struct, frozen=True):
    """Takes nothing."""


class Call(NamedTuple):
    """One request, checked: who asks, and what the route's models made of query and body."""

    studio: Studio
    request: Request
    who: Credential
    query: Any
    body: Any

    @property
    def path(self) -> dict[str, Any]:
        """The parts of the address that the route names."""
        return self.request.path_params


Handler = Callable[[Call], Awaitable[Any]]


class Endpoint(NamedTuple):
    """One method of one address. `role` null: open to everybody. `gives` null: no body (204), or a response
    that the handler makes itself. `also`: other kinds of body that it may give."""

    method: str
    path: str
    role: RoleName | None
    handler: Handler
    query: type[msgspec.Struct] = Nothing
    body: type[msgspec.Struct] | None = None
    gives: Any = None
    status: int = 200
    tag: str = ""
    max_body: int = MAX_BODY
    streams: bool = False
    also: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first sentence of what the handler says of itself."""
        return " ".join((self.handler.__doc__ or "").split("\n\n")[0].split())


NOBODY = Credential("", "viewer")


def route_of(endpoint: Endpoint, studio: Studio) -> Route:
    """The framework's route of an endpoint."""

    async def answer(request: Request) -> Response:
        who = NOBODY if endpoint.role is None else await admit(studio, request, endpoint.role)
        call = Call(studio, request, who, query_of(request, endpoint.query), await body_of(request, endpoint))
        result = await endpoint.handler(call)
        if isinstance(result, Response):
            return result
        if endpoint.gives is None:
            return Response(status_code=endpoint.status)
        return json_response(result, endpoint.status)

    return Route(BASE + endpoint.path, answer, methods=[endpoint.method], name=endpoint.handler.__name__)


async def admit(studio: Studio, request: Request, role: RoleName) -> Credential:
    """The request's credential. Raises 401 without one and 403 where its role is too small."""
    who = studio.doors.who(request)
    if who is None:
        raise Refused(
            401,
            "auth.missing",
            "This needs a credential.",
            "Open the link that `farthing studio --link` prints, or send a token of `farthing token create`.",
        )
    if not who.may(role):
        raise forbidden(f"This needs the role {role}, and yours is {who.role}.")
    return who


def forbidden(message: str) -> Refused:
    """403, with what would help."""
    return Refused(403, "auth.role", message, "Ask an operator for a token with a larger role.")


def query_of(request: Request, model: type[msgspec.Struct]) -> Any:
    """The query's parameters by the route's model; empty ones count as absent. Raises BadInput."""
    known = names_of(model)
    for name in request.query_params:
        if name not in known:
            raise unknown("query parameter", name, known)
        if len(request.query_params.getlist(name)) > 1:
            raise BadInput(f"The query parameter `{name}` is given more than once.", remedy="Give it once.")
    given: dict[str, Any] = {name: value for name, value in request.query_params.items() if value != ""}
    for name in TIMES & given.keys():
        given[name] = time_of(given[name], name)
    try:
        return msgspec.convert(given, model, strict=False)
    except msgspec.ValidationError as error:
        raise bad(str(error), "query") from None


async def body_of(request: Request, endpoint: Endpoint) -> Any:
    """The body by the route's model. Raises BadInput, or 413 as soon as it is too large."""
    if endpoint.body is None:
        return None
    raw = await read_body(request, endpoint.max_body) or b"{}"
    try:
        known = names_of(endpoint.body)
        for name in msgspec.json.decode(raw, type=dict[str, msgspec.Raw]):
            if name not in known:
                raise unknown("field of the body", name, known)
        return msgspec.json.decode(raw, type=endpoint.body)
    except msgspec.ValidationError as error:
        raise unknown_inside(raw, endpoint.body) or bad(str(error), "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error) or "it is nested too deeply"
        raise BadInput(f"The body is not sound JSON: {text}.", remedy="Send one JSON object.") from None


@cache
def names_of(model: type[msgspec.Struct]) -> tuple[str, ...]:
    """What a model's fields are called in a query or a body."""
    return tuple(field.encode_name for field in msgspec.structs.fields(model))


def unknown(what: str, name: str, known: Sequence[str]) -> BadInput:
    """A name that nothing has: dropped silently, it would ask for something else than was meant."""
    from difflib import get_close_matches

    near = get_close_matches(name.rpartition(".")[2], known, n=1)
    there = f"There are: {', '.join(known)}." if known else "This address takes none."
    return BadInput(
        f"There is no {what} `{name[:SHOWN_OF_NAME]}`.",
        code="input.unknown_name",
        remedy=f"Did you mean `{near[0]}`?" if near else there,
    )


def unknown_inside(raw: bytes, model: type[msgspec.Struct]) -> BadInput | None:
    """The first unknown field within a body that does not fit its model; null where there is none."""
    from runtime.shape import Misfit
    from runtime.shape.faults import faults

    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # a part that nobody looked into
        return None
    for fault in faults(Misfit(model, value)):
        if fault.kind == "unknown":
            return unknown("field of the body", ".".join(map(str, fault.place)), fault.words.split(", "))
    return None


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body. Raises 413 before more than `limit` bytes were kept."""
    too_large = Refused(
        413, "http.413", f"The body has more than {limit:,} bytes.", "Send less, or split it."
    )
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > limit:
        raise too_large
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise too_large
            parts.append(part)
    except ClientDisconnect:
        raise BadInput("The request broke off.", remedy="Send it again.") from None
    return b"".join(parts)


def time_of(text: str, name: str) -> datetime:
    """A time as people and programs write it: a date or ISO time, in UTC without a zone. Raises BadInput."""
    try:
        at = datetime.fromisoformat(text.replace(" ", "+"))
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        at = datetime.min.replace(tzinfo=UTC)
    if at.year not in YEARS:
        raise BadInput(f"`{name}` is no time.", remedy="Write 2026-03-01 or 2026-03-01T12:00:00Z.")
    return at


def bad(message: str, where: str) -> BadInput:
    """A wrong shape in words."""
    return BadInput(
        f"The {where} is not as asked for: {message}.", remedy="GET /api/v1/openapi.json says how."
    )
