"""A process of its own for tests: `python -m tests.runtime.store.sqlite.worker PATH NAME WHAT [ARG]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from runtime.clock import SystemClock
from runtime.ledger import Blocked
from runtime.record import CallHeld, CallOpened
from tests.runtime.store.support import Scene, dollars, open_scene, rule


async def start(scene: Scene, name: str, _: str) -> None:
    """Only open the database."""


async def sessions(scene: Scene, name: str, count: str) -> None:
    """Many sessions at a time, each with calls and events; some shared with the other processes."""
    limit = rule("all", 10**9, everyone=True, period="lifetime")

    async def one(number: int) -> None:
        run_id = f"{name}-{number}"
        await scene.claim(run_id, f"session-{number}")
        for step in range(3):
            answer = await scene.open(f"k{step}", limit, run_id=run_id, tokens=5)
            while isinstance(answer, CallHeld):
                assert isinstance(answer.admission, Blocked)
                await scene.record.wait_settled(20.0)
                answer = await scene.open(f"k{step}", limit, run_id=run_id, tokens=5, ticket=answer.ticket)
            assert isinstance(answer, CallOpened)
            await scene.say(run_id, "between")
            await scene.close(answer, 10, 100, run_id=run_id)
        await scene.finish(run_id)

    await asyncio.gather(*(one(number) for number in range(int(count))))


async def tell(scene: Scene, name: str, count: str) -> None:
    """Runs that each say two hundred events."""

    async def one(number: int) -> None:
        run_id = f"{name}-{number}"
        await scene.claim(run_id, f"session-{number % 5}")
        for step in range(200):
            await scene.say(run_id, f"n{step}")
        await scene.finish(run_id)

    await asyncio.gather(*(one(number) for number in range(int(count))))


async def spend(scene: Scene, name: str, count: str) -> None:
    """Runs of one session that each want one call of $0.40 under a cap of $1.00; says how many got it."""
    limit = rule("cap", "1.00", period="session")

    async def one(number: int) -> bool:
        run_id = f"{name}-{number}"
        await scene.claim(run_id, "shared")
        answer = await scene.open("k", limit, run_id=run_id)
        while isinstance(answer, CallHeld) and isinstance(answer.admission, Blocked):
            await scene.record.wait_settled(20.0)
            answer = await scene.open("k", limit, run_id=run_id, ticket=answer.ticket)
        if not isinstance(answer, CallOpened):
            await scene.finish(run_id, "failed")
            return False
        await asyncio.sleep(0.05)
        await scene.close(answer, 10, dollars("0.40"), run_id=run_id)
        await scene.finish(run_id)
        return True

    print(sum(await asyncio.gather(*(one(number) for number in range(int(count))))))


async def hang(scene: Scene, name: str, _: str) -> None:
    """Open a call and never come back."""
    limit = rule("cap", 1000, period="lifetime")
    await scene.claim(name, "doomed")
    await scene.call("k0", limit, run_id=name, tokens=10, cost=3)
    await scene.opened("k1", limit, run_id=name, tokens=40, cost=7)
    print("open", flush=True)
    await asyncio.sleep(600)


async def main(path: str, name: str, what: str, argument: str = "") -> None:
    scene = await open_scene(Path(path), SystemClock())
    await {"start": start, "sessions": sessions, "tell": tell, "spend": spend, "hang": hang}[what](
        scene, name, argument
    )
    await scene.record.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
