"""How one gets in: one-time links and the cookies they become, and tokens of programs.

Links and cookies live as long as the server; only their hashes are kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from runtime.clock import Clock
from studio.roles import Credential
from studio.tokens import Tokens

LINK_LIVES_S = 600.0
"""A link that nobody opened works for ten minutes."""
COOKIE_LIVES_S = 30 * 86_400.0
MOST_LINKS = 100
LOCAL = Credential("local", "operator")
"""Who opens a link: the one person of their own machine."""


class Doors:
    """The open ways into one running server. `control` is the secret by which another process of the same
    person asks for a fresh link."""

    def __init__(self, clock: Clock, tokens: Tokens, port: Callable[[], int]) -> None:
        self._clock, self._tokens, self._port = clock, tokens, port
        self._links: dict[bytes, float] = {}
        self._cookies: dict[bytes, tuple[float, Credential]] = {}
        self.control = secrets.token_urlsafe(32)

    @property
    def cookie_name(self) -> str:
        """Cookies do not know ports, so their names do."""
        return f"farthing_{self._port()}"

    def new_link(self) -> str:
        """A token that opens the door once."""
        now = self._clock.monotonic()
        self._links = {key: until for key, until in self._links.items() if until > now}
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        token = secrets.token_urlsafe(32)
        self._links[digest(token)] = now + LINK_LIVES_S
        return token

    def exchange(self, token: str, response: Response, *, secure: bool) -> bool:
        """Turn a link's token into a cookie; False where it is used up, too old or made up."""
        until = self._links.pop(digest(token), None)
        if until is None or until <= self._clock.monotonic():
            return False
        value = secrets.token_urlsafe(32)
        self._cookies[digest(value)] = (self._clock.monotonic() + COOKIE_LIVES_S, LOCAL)
        response.set_cookie(
            self.cookie_name, value, path="/", httponly=True, samesite="strict", secure=secure
        )
        return True

    def leave(self, request: Request, response: Response) -> None:
        """Forget the request's cookie."""
        self._cookies.pop(digest(request.cookies.get(self.cookie_name, "")), None)
        response.delete_cookie(self.cookie_name, path="/", httponly=True, samesite="strict")

    def who(self, request: Request) -> Credential | None:
        """The credential of a request; a token where one is sent, else the cookie."""
        given = bearer(request)
        if given is not None:
            return self._tokens.who(given)
        value = request.cookies.get(self.cookie_name)
        found = self._cookies.get(digest(value)) if value else None
        if found is None or found[0] <= self._clock.monotonic():
            return None
        return found[1]

    def controls(self, request: Request) -> bool:
        """Whether the request carries this server's own control secret."""
        return hmac.compare_digest((bearer(request) or "").encode(), self.control.encode())


def bearer(request: Request) -> str | None:
    """The token of `Authorization: Bearer …`; empty where another scheme is used."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def digest(token: str) -> bytes:
    """What is kept of a token. It has 256 bits of chance, so a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
