"""`python -m tests.fake_model --port N`: the fake server in a process of its own; prints its base URL."""

from __future__ import annotations

import argparse
import asyncio

from tests.fake_model.plays import PLAYS
from tests.fake_model.server import FakeModel


async def serve(port: int, play: str) -> None:
    server = FakeModel(PLAYS[play], keep_calls=False)
    await server.serve(port)
    print(server.url, flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.fake_model", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--play", choices=sorted(PLAYS), default="ok", help="the answer to every call")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.play))


if __name__ == "__main__":
    main()
