"""A model behind any endpoint that speaks the OpenAI chat-completions format."""

from __future__ import annotations

import asyncio
import ipaddress
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from runtime.clock import Clock
from runtime.errors import ModelFailure
from runtime.messages import OnDelta, Reply, Request
from runtime.models.failures import failure, status_failure
from runtime.models.receive import Receiver
from runtime.models.usable import unusable
from runtime.models.wire import completions_url, output_limit_field, request_body
from runtime.providers import Provider

if TYPE_CHECKING:
    import openai


class OpenAICompatible:
    """One provider's models. Connections are kept between calls, in the event loop of the first one.

    Nothing is retried here. Every failure is a ModelFailure whose message holds neither key nor headers.
    """

    def __init__(self, provider: Provider, clock: Clock) -> None:
        self._provider = provider
        self._clock = clock
        self._client: openai.AsyncOpenAI | None = None

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """Make one call; streamed exactly when somebody listens. `request.timeout_s` bounds all of it."""
        body = self._body(request, stream=on_delta is not None)
        receiver = Receiver(self._provider, self._clock.new_id, on_delta)
        client = self._client or await self._open()
        try:
            async with asyncio.timeout(request.timeout_s) as bound:
                return await self._call(client, body, request, receiver, bound)
        except TimeoutError:
            if receiver.whole:
                return receiver.streamed()
            raise self._timed_out(request, receiver.partial) from None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _body(self, request: Request, *, stream: bool) -> bytes:
        """The request's bytes. Raises ModelFailure where nothing can be sent at all."""
        fault = unusable(self._provider)
        if fault is not None:
            raise fault
        limit_field = output_limit_field(self._provider.base_url)
        try:
            return request_body(request, stream=stream, limit_field=limit_field)
        except ValueError:
            what = "the request holds text that is not valid Unicode."
            raise failure("bad_request", self._provider, what, remedy="Mend the input.") from None

    async def _open(self) -> openai.AsyncOpenAI:
        """Open the client at the first call. Loading the SDK takes long enough to be felt by what else runs
        in this loop, so it happens in a thread, and outside of the call's time."""
        sdk = await asyncio.to_thread(_load)
        if self._client is None:
            self._client = sdk.open_client(self._provider, loopback=is_loopback(self._provider.base_url))
        client: openai.AsyncOpenAI = self._client
        return client

    async def _call(
        self,
        client: openai.AsyncOpenAI,
        body: bytes,
        request: Request,
        receiver: Receiver,
        bound: asyncio.Timeout,
    ) -> Reply:
        from runtime.models import sdk

        try:
            response = await sdk.post(client, completions_url(self._provider.base_url), body)
            try:
                return await receiver.receive(response, sdk.headers_of(response), bound)
            finally:
                await response.aclose()
        except sdk.Declined as no:
            now = self._clock.now()
            raise status_failure(self._provider, no.status, no.headers, no.body, now, request.model) from None
        except sdk.SendFailed as error:
            raise self._broken(error, receiver) from None

    def _broken(self, error: BaseException, receiver: Receiver) -> ModelFailure:
        from runtime.models import sdk

        said = sdk.reason(error)
        if sdk.never_sent(error):
            return failure("unreachable", self._provider, f"{self._where} cannot be reached: {said}")
        if receiver.begun:
            what = f"the stream broke off: {said}"
            return failure("stream_broken", self._provider, what, partial=receiver.partial)
        return failure("connection_lost", self._provider, f"the connection broke off: {said}")

    def _timed_out(self, request: Request, partial: Reply | None) -> ModelFailure:
        what = f"no whole answer of {request.model!r} came within {request.timeout_s:g} s."
        return failure("timeout", self._provider, what, partial=partial)

    @property
    def _where(self) -> str:
        """Host and port alone: a URL may carry more than a message should show."""
        parts = urlsplit(self._provider.base_url)
        return f"{parts.hostname or 'the host'}" + (f":{parts.port}" if parts.port else "")


def _load() -> ModuleType:
    from runtime.models import sdk

    return sdk


def is_loopback(url: str) -> bool:
    """The URL is of this machine itself, by name or address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
