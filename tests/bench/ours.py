"""Farthing doing the same work: an agent with a memory and budgets, on a real database file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from runtime.clock import SystemClock
from runtime.messages import Message
from runtime.record import RunEnd, RunStart, SessionKey, Turn
from runtime.run.services import Services
from runtime.run.start import RunRequest, execute, prepare, start
from runtime.settings import load_settings
from runtime.spec import load_flow
from runtime.store.opening import open_record
from tests.bench.floor import conversation
from tests.flows import agent_flow, flow, node

BUDGETS: list[dict[str, Any]] = [
    {"metric": "tokens", "period": "session", "limit": 10**12},
    {"metric": "spend", "period": "daily", "limit": "1000000"},
]


class Ours:
    """Services on a database, with the fake endpoint as the provider of everything."""

    def __init__(self, services: Services) -> None:
        self.services = services

    @classmethod
    async def open(cls, folder: Path, url: str | None = None, *, stored: bool = True) -> Ours:
        clock = SystemClock()
        record = open_record(folder / "ours.db" if stored else None, clock)
        await record.open()
        config = folder / "config.toml"
        config.write_text(_config(url) if url else "", encoding="utf-8")
        settings = load_settings({"FARTHING_CONFIG": str(config)}, folder=None)
        return cls(Services(record, settings, clock))

    async def close(self) -> None:
        await self.services.close()

    def agent(self, steps: int) -> bytes:
        """An agent that makes exactly so many steps, since the fake model always asks for a tool."""
        agent = {"max_iterations": steps, "context": {"mode": "full"}, "instructions": "You help customers."}
        return msgspec.json.encode(agent_flow(agent=agent, memory={}, budgets=BUDGETS, name="bench"))

    async def session_of(self, turns: int, name: str) -> str:
        """A session whose history has so many turns."""
        if turns == 0:
            return name
        messages = [Message(m["role"], m["content"]) for m in conversation(turns)[1:-1]]
        record, clock = self.services.record, self.services.clock
        key = SessionKey("real", "bench", "bench", name)
        raw = self.agent(1)
        begin = RunStart(
            run_id=clock.new_id(), session=key, flow_name="bench", flow_hash=load_flow(raw).hash, flow=raw,
            at=clock.now(),
        )  # fmt: skip
        await record.claim(begin, [])
        turn = Turn(node_id="a", messages=tuple(messages))
        await record.finish(
            RunEnd(run_id=begin.run_id, state="completed", turns=(turn,), at=clock.now()), [], lambda _: []
        )
        return name

    async def run(self, raw: bytes, session: str | None, text: str = "What now?") -> Any:
        request = RunRequest(
            flow_bytes=raw, input=text, session=session, user="bench", model="fake:fake", trusted=True
        )
        return await execute(request, self.services)

    def prepared(self, raw: bytes) -> Any:
        return prepare(RunRequest(flow_bytes=raw, input="x", user="bench", trusted=True), self.services)

    async def drive(self, prepared: Any) -> Any:
        return await start(prepared, self.services).outcome()


def chain(nodes: int) -> bytes:
    """Nodes without a model, one behind the other."""
    names = [f"n{i}" for i in range(nodes)]
    return msgspec.json.encode(
        flow(
            [node("start", "input"), *(node(name, "output") for name in names)],
            list(zip(["start", *names], names, strict=False)),
            name="chain",
        )
    )


def _config(url: str) -> str:
    return f'[providers.fake]\nbase_url = "{url}"\nfree = true\ndefault_model = "fake"\n'
