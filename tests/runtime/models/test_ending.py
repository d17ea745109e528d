"""How calls end: time-outs, cancelling, nobody there."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import pytest

from runtime.clock import VirtualClock
from runtime.models.openai_compatible import OpenAICompatible
from runtime.providers import Provider
from tests.fake_model.plays import Play, answer, stream
from tests.fake_model.server import FakeModel
from tests.runtime.models.asking import ask, failing, request


async def until(true: Callable[[], bool], seconds: float = 1.0) -> None:
    """Wait until something is so, at most so long."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        await asyncio.sleep(0.005)


class TestEnding:
    @pytest.mark.parametrize(
        ("play", "streamed", "text"),
        [
            (answer(delay_s=30), False, None),
            (answer(delay_s=30), True, None),
            (answer("a " * 300, drip=True, gap_s=0.01), False, None),
            (stream(*(answer("Half an").frames or ())[:3], ending="hang"), True, "Half an"),
        ],
        ids=["hang", "streamed hang", "slow drip", "hang in the middle"],
    )
    async def test_bounds_the_whole_call(
        self, model: OpenAICompatible, fake_model: FakeModel, play: Play, streamed: bool, text: str | None
    ) -> None:
        await ask(model)
        fake_model.play(play)
        began = time.monotonic()
        found = await failing(model, streamed=streamed, timeout_s=0.2)
        assert time.monotonic() - began < 1.0
        assert (found.kind, found.retryable, found.maybe_billed) == ("timeout", False, True)
        assert "0.2 s" in found.message and "timeout_s" in (found.remedy or "")
        assert (found.partial and found.partial.text) == text
        await until(lambda: fake_model.disconnects == 1)

    @pytest.mark.parametrize(
        ("play", "streamed"),
        [
            (answer(delay_s=30), False),
            (answer(delay_s=30), True),
            (answer("word " * 50, gap_s=0.05), True),
        ],
        ids=["plain", "before the stream", "in the stream"],
    )
    async def test_cancelling_frees_the_connection_at_once(
        self, model: OpenAICompatible, fake_model: FakeModel, play: Play, streamed: bool
    ) -> None:
        fake_model.play(play)
        heard: list[str] = []
        task = asyncio.create_task(model.complete(request(), heard.append if streamed else None))
        await until(lambda: fake_model.count == 1 and (play.gap_s == 0 or len(heard) > 2), 3.0)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: fake_model.disconnects == 1 and fake_model.open_connections == 0)
        assert time.monotonic() - began < 1.0
        assert (await ask(model)).text == "Hello there."

    async def test_says_that_nobody_answers_there(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            provider = Provider(name="gone", base_url=f"http://127.0.0.1:{port}/v1", key="k")
            model = OpenAICompatible(provider, VirtualClock())
            found = await failing(model)
            await model.close()
        assert (found.kind, found.retryable, found.maybe_billed) == ("unreachable", True, False)
        assert f"127.0.0.1:{port}" in found.message and "farthing doctor" in (found.remedy or "")

    @pytest.mark.parametrize(
        ("scheme", "kind", "billed"), [("http", "connection_lost", True), ("https", "unreachable", False)]
    )
    async def test_says_that_something_else_answers_there(self, scheme: str, kind: str, billed: bool) -> None:
        async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(hello, "127.0.0.1", 0)
        url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = OpenAICompatible(Provider(name="ssh", base_url=url, key="k"), VirtualClock())
        found = await failing(model)
        await model.close()
        server.close()
        assert (found.kind, found.maybe_billed) == (kind, billed)

    async def test_closes_twice_without_harm(self, model: OpenAICompatible, fake_model: FakeModel) -> None:
        await ask(model)
        await model.close()
        await model.close()
        await until(lambda: fake_model.open_connections == 0)
