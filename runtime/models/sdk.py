"""The one place that imports the openai SDK: a client that sends exactly what it is told and nothing else.

Import it late: the SDK takes about half a second.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, cast

import aiohttp
import openai
from httpx2 import HTTPError, Limits, Response, Timeout

from runtime.providers import Provider

CONNECT_S = 10.0
"""Seconds to reach a host; the whole call has its own bound."""
KEEP_IDLE_S = 15.0
"""Seconds that an idle connection is kept for the next call."""
CONNECTIONS = 1_000
"""Connections at once to one provider: the budgets, not the sockets, are to limit the calls."""
MAX_ERROR_BYTES = 64 * 1024
"""How much of an error's body is read."""
KEY_OF_NONE = "none"
"""Sent as key where none is set: the SDK demands one, local servers ignore it."""

# The SDK's aiohttp transport lets some of aiohttp's own errors through (bad HTTP, for one).
SendFailed = (openai.OpenAIError, HTTPError, aiohttp.ClientError)


class Declined(Exception):
    """The server answered with a status that is no success. `body` is its first MAX_ERROR_BYTES."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


class _Client(openai.AsyncOpenAI):
    """The SDK's client without what it takes from the environment or tells about the machine."""

    provider_headers: Mapping[str, str] = {}

    @property
    def default_headers(self) -> dict[str, Any]:
        return {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "farthing",
            **self.provider_headers,
        }


def open_client(provider: Provider, *, loopback: bool) -> openai.AsyncOpenAI:
    """A client for the provider: explicit key and URL, no retries.

    The machine's proxy settings hold for hosts elsewhere, never for loopback. Redirects are not followed:
    they would carry the key to a host that nobody named.
    """
    http = openai.DefaultAioHttpClient(
        follow_redirects=False,
        trust_env=not loopback,
        # Loading the certificates costs tens of milliseconds, and plain HTTP has no use for them.
        verify=not provider.base_url.startswith("http://"),
        timeout=Timeout(None, connect=CONNECT_S, pool=CONNECT_S),
        limits=Limits(max_connections=CONNECTIONS, keepalive_expiry=KEEP_IDLE_S),
        event_hooks={"response": [_decline]},
    )
    client = _Client(
        api_key=provider.key or KEY_OF_NONE, base_url=provider.base_url, max_retries=0, http_client=http
    )
    client.provider_headers = dict(provider.headers)
    return client


async def post(client: openai.AsyncOpenAI, url: str, body: bytes) -> Response:
    """Send a chat-completions body; the answer's body is still to be read and the response to be closed.

    `url` is absolute: the SDK takes longer to complete a relative one than to send the request.
    Raises Declined, or one of SendFailed.
    """
    answer: Any = await client.post(
        url, cast_to=Response, content=body, stream=True, stream_cls=openai.AsyncStream[Any]
    )
    return cast("Response", answer)


async def _decline(response: Response) -> None:
    """Comes before the SDK's own reading of an error's body, which has no bound."""
    if response.is_success:
        return
    body = bytearray()
    with contextlib.suppress(HTTPError, aiohttp.ClientError):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= MAX_ERROR_BYTES:
                break
    raise Declined(response.status_code, headers_of(response), bytes(body[:MAX_ERROR_BYTES]))


def headers_of(response: Response) -> dict[str, str]:
    """The answer's headers by lower-case name; a plain dict is many times cheaper to ask than the SDK's."""
    return {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers.raw}


def never_sent(error: BaseException) -> bool:
    """The connection was never made, so that nothing was asked.

    The transport under the SDK calls a connection that broke later a connect time-out too; the cause tells
    them apart.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return True
        cause = cause.__cause__
    return False


def reason(error: BaseException) -> str:
    """What the innermost cause says."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
