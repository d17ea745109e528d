"""What stands before every route: which Host and Origin are answered, and the headers of every answer.

Pure ASGI, so that streams pass through untouched.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.api.errors import refuse

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names under which a server on this machine is reached."""
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""No inline script or style and nothing from anywhere else."""
ALWAYS = (
    ("content-security-policy", CSP),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
)


class Guard:
    """Refuses other names of this host (DNS rebinding) and what another site's page sends."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self.app = app
        self.hosts = frozenset(name.lower() for name in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host_name(host) not in self.hosts:
            problem = refuse(
                400,
                "host.refused",
                "This server does not answer to that host name.",
                "Use the address that the server printed, or start it with --allow-host NAME.",
            )
            await problem(scope, receive, send)
            return
        if self._foreign(scope, headers, host):
            problem = refuse(
                403,
                "origin.refused",
                "Another site's page sent this.",
                "Use the studio's own page, or a program with a token.",
            )
            await problem(scope, receive, send)
            return
        await self.app(scope, receive, send)

    @staticmethod
    def _foreign(scope: Scope, headers: Headers, host: str) -> bool:
        """Whether a browser says that the request comes from a page of another origin. Pages may be opened
        from anywhere; the API, and whatever changes something, only from its own page."""
        unsafe = scope["type"] == "websocket" or scope["method"] not in SAFE
        if not unsafe and not scope["path"].startswith("/api/"):
            return False
        if headers.get("sec-fetch-site") not in (None, "same-origin", "none"):
            return True
        origin = headers.get("origin")
        return origin is not None and _netloc(origin) != host.lower()


def _netloc(origin: str) -> str:
    """Host and port of an Origin header; empty for one that is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


class SecurityHeaders:
    """Puts the headers on every answer, errors and streams too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        private = not scope["path"].startswith("/static/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS:
                    headers[name] = value
                if private:
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)
