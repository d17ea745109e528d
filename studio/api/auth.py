"""Coming in and going out: a link's token becomes a cookie."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from studio.api.errors import Refused, json_response
from studio.api.route import Call, Endpoint


class TokenIn(msgspec.Struct, frozen=True):
    """The one-time token of a link."""

    token: str


class LinkOut(msgspec.Struct, frozen=True):
    """A fresh one-time token."""

    token: str


async def exchange(call: Call) -> Response:
    """Exchange the one-time token of an opened link for a cookie."""
    response = Response(status_code=204)
    secure = call.request.url.scheme == "https"
    if not call.studio.doors.exchange(call.body.token, response, secure=secure):
        raise Refused(
            401,
            "auth.link_used",
            "This link was used already or is too old.",
            "Print a fresh one with `farthing studio --link`.",
        )
    return response


async def logout(call: Call) -> Response:
    """Forget the cookie of this browser."""
    response = Response(status_code=204)
    call.studio.doors.leave(call.request, response)
    return response


async def link(call: Call) -> Response:
    """Make a fresh link; only for another process of the same person, by the server's own secret."""
    if not call.studio.doors.controls(call.request):
        raise Refused(401, "auth.missing", "Only `farthing studio --link` may ask for this.")
    return json_response(LinkOut(call.studio.doors.new_link()))


ENDPOINTS = (
    Endpoint("POST", "/auth/exchange", None, exchange, body=TokenIn, status=204, tag="auth"),
    Endpoint("POST", "/auth/logout", "viewer", logout, status=204, tag="auth"),
    Endpoint("POST", "/auth/link", None, link, gives=LinkOut, tag="auth"),
)
