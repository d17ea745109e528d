"""A whole Farthing to run flows in: settings in a file, a database in a file, a provider over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.clock import SystemClock
from runtime.events import Entry
from runtime.record import CounterLine, LedgerFilter, LedgerRow
from runtime.run.services import OnDelta, Services
from runtime.run.start import Outcome, RunRequest, prepare, start
from runtime.settings import load_settings
from runtime.store.opening import open_record
from tests.flows import agent_flow

KEY = "fake-key-0123456789abcdef"
"""What the provider is sent as its key; it may stand nowhere in what is stored or shown."""
BUDGETS = (
    {"metric": "tokens", "period": "session", "limit": 1_000_000},
    {"metric": "spend", "period": "daily", "limit": "4.00"},
)


class SkippingClock(SystemClock):
    """The machine's clock, but a pause is jumped over: `pauses` says how long each would have been."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    @property
    def _skipped(self) -> float:
        return sum(self.pauses)

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._skipped)

    def monotonic(self) -> float:
        return super().monotonic() + self._skipped

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


class Happened(NamedTuple):
    """One run, as its caller, its timeline and the ledger have it."""

    outcome: Outcome
    events: list[dict[str, Any]]
    rows: list[LedgerRow]
    counters: list[CounterLine]
    deltas: list[str]

    def of(self, *types: str) -> list[dict[str, Any]]:
        """This run's events of these types, in order."""
        return [event for event in self.events if event["type"] in types]

    def settled(self) -> list[LedgerRow]:
        """The ledger's rows of usage."""
        return [row for row in self.rows if row.kind == "settle"]


class Place:
    """Runs flows one after another as a process would, on one database."""

    def __init__(self, services: Services, clock: SkippingClock) -> None:
        self.services, self.clock = services, clock

    async def run(
        self,
        flow: dict[str, Any],
        text: Any = "Hello",
        *,
        session: str = "one",
        model: str | None = None,
        streamed: bool = False,
        limits: tuple[str, ...] = (),
    ) -> Happened:
        """One run to its end, and everything about it checked that must hold however it ended."""
        deltas: list[str] = []
        heard: OnDelta | None = (lambda _, piece: deltas.append(piece)) if streamed else None
        entries: list[Entry] = []
        prepared = prepare(asked(flow, text, session, model, limits), self.services)
        outcome = await start(prepared, self.services, entries.append, heard).outcome()
        happened = await self.look(outcome, deltas)
        check_sound(happened)
        return happened

    async def look(self, outcome: Outcome, deltas: list[str] | None = None) -> Happened:
        """What the database has about a run that ended."""
        record = self.services.record
        events = [msgspec.json.decode(raw) for raw in await record.events_json(outcome.session_uid)]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        mine = [event for event in events if event["run_id"] == outcome.run_id]
        rows = await record.ledger(LedgerFilter(run_id=outcome.run_id))
        return Happened(outcome, mine, rows, await record.all_counters("real"), deltas or [])


def asked(
    flow: dict[str, Any],
    text: Any,
    session: str = "one",
    model: str | None = None,
    limits: tuple[str, ...] = (),
) -> RunRequest:
    """The request of a run of a document by a user."""
    return RunRequest(
        flow_bytes=msgspec.json.encode(flow), input=text, session=session, user="ada", model=model,
        limits=limits, trusted=True,
    )  # fmt: skip


def provider_settings(base_url: str, *, timeout_s: float = 5.0, more: str = "") -> str:
    """Settings with one provider, `fake`, at this address, with a key and prices."""
    return f"""
default_model = "fake:m"
[secrets.fake]
value = "{KEY}"
[providers.fake]
base_url = "{base_url}"
key = {{secret = "fake"}}
timeout_s = {timeout_s}
[providers.fake.prices.m]
input = "1.00"
output = "4.00"
{more}
"""


@asynccontextmanager
async def place(folder: Path, settings: str) -> AsyncIterator[Place]:
    """A place whose settings file holds this text, with a database beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.toml"
    config.write_text(settings, encoding="utf-8")
    config.chmod(0o600)
    env = {"FARTHING_CONFIG": str(config), "FARTHING_DB": str(folder / "data" / "farthing.db")}
    clock = SkippingClock()
    loaded = load_settings(env, folder=None)
    record = open_record(loaded.db, clock)
    await record.open()
    services = Services(record, loaded, clock)
    try:
        yield Place(services, clock)
    finally:
        await services.close()


def governed(**agent: Any) -> dict[str, Any]:
    """One agent with a memory, under a budget of tokens and one of money."""
    return agent_flow(agent=agent, memory={}, budgets=BUDGETS)


def check_sound(happened: Happened) -> None:
    """What holds of every run: it ended once, nothing is held, and timeline, ledger and outcome agree."""
    outcome, events = happened.outcome, happened.events
    assert [event["type"] for event in events].count("run.finished") == 1
    assert events[-1]["type"] == "run.finished" and events[-1]["state"] == outcome.state
    started = [event["node_id"] for event in happened.of("node.started")]
    ended = [event["node_id"] for event in happened.of("node.finished", "node.failed")]
    assert sorted(started) == sorted(ended)
    kinds = [row.kind for row in happened.rows]
    assert kinds.count("hold") == kinds.count("settle") + kinds.count("release")
    assert len(happened.of("model.called")) == len(happened.of("agent.usage"))
    assert len(happened.of("tool.request")) == len(happened.of("tool.response"))
    said = [event["usage"] for event in happened.of("agent.usage")]
    tokens = sum(usage.get("input", 0) + usage.get("output", 0) for usage in said)
    assert tokens == sum(row.usage.tokens for row in happened.settled()) == outcome.usage.tokens
    assert outcome.cost == sum(row.cost or 0 for row in happened.settled())
    assert all(line.counter.held == 0 for line in happened.counters)
    assert all(gauge.held == 0 for gauge in outcome.gauges)
    assert KEY not in msgspec.json.encode(events).decode()
    assert KEY not in repr(outcome)
