"""A small stage for store tests: runs, calls and facts with as few words as possible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from runtime.clock import Clock, SystemClock, VirtualClock
from runtime.events import (
    BudgetReserved,
    BudgetSettled,
    BudgetWaiting,
    Entry,
    Event,
    NodeStarted,
    RunFinished,
    RunStarted,
)
from runtime.facts import Fact, FactWrite, Partition, Shelf, Written
from runtime.ledger import Admission, Blocked, Counter, Estimate, Metric, Period, Rule, gauge
from runtime.messages import Message
from runtime.record import (
    CallClose,
    CallDone,
    CallHeld,
    CallIntent,
    CallOpened,
    Claimed,
    Record,
    RunEnd,
    RunStart,
    RunTotals,
    SessionKey,
    Settled,
    Turn,
)
from runtime.store.opening import open_record
from runtime.usage import Usage, parse_money

START = datetime.fromisoformat("2026-03-04T10:00:00+00:00")
CENT = 10_000_000


def dollars(text: str) -> int:
    return parse_money(text)


def rule(
    name: str = "daily",
    limit: int | str = 100,
    *,
    metric: Metric = "tokens",
    period: Period = "daily",
    pot: str | None = None,
    strict: bool = False,
    everyone: bool = False,
    unknown_cost: Any = "warn",
) -> Rule:
    """A rule on the pot `flow/NAME`; a limit given as text is in dollars."""
    return Rule(
        name=name,
        pot=pot or f"flow/{name}",
        metric="spend" if isinstance(limit, str) else metric,
        period=period,
        limit=dollars(limit) if isinstance(limit, str) else limit,
        threshold_pct=Decimal(80),
        strict=strict,
        everyone=everyone,
        unknown_cost=unknown_cost,
    )


class Scene:
    """A record with short verbs. Every event that it says is numbered by `text` or the call's key."""

    def __init__(self, record: Record, clock: Clock) -> None:
        self.record = record
        self.clock: Any = clock
        self.builds: list[Admission] = []
        self.sessions: dict[str, str] = {}

    @property
    def at(self) -> datetime:
        now: datetime = self.clock.now()
        return now

    async def claim(
        self,
        run_id: str = "run-1",
        session: str = "s1",
        *,
        user: str | None = "ann",
        flow: str = "flow",
        partition: Partition = "real",
        body: bytes = b"{}",
        path: str | None = None,
        charged: str | None = None,
    ) -> Claimed:
        started = RunStarted(at=self.at, run_id=run_id, flow_id=flow, flow_name=flow, flow_hash="h")
        claimed, entries = await self.record.claim(
            RunStart(
                run_id=run_id,
                session=SessionKey(partition, user, flow, session),
                flow_name=f"The {flow}",
                flow_hash=f"hash of {flow}",
                flow=body,
                flow_path=path,
                charged=charged,
                input={"text": "hello"},
                at=self.at,
            ),
            [started],
        )
        assert [entry.event for entry in entries][-1] == started
        self.sessions[run_id] = claimed.session_uid
        return claimed

    async def say(self, run_id: str, *names: str) -> tuple[Entry, ...]:
        return await self.record.append(run_id, [self.event(run_id, name) for name in names])

    def event(self, run_id: str, name: str) -> Event:
        return NodeStarted(at=self.at, run_id=run_id, node_id=name)

    async def open(
        self,
        key: str,
        *rules: Rule,
        run_id: str = "run-1",
        tokens: int = 10,
        cost: int | None = 0,
        model: str | None = "m",
        ticket: int | None = None,
        before: Sequence[Event] = (),
        sent: int | None = None,
        **more: Any,
    ) -> CallOpened | CallHeld | CallDone:
        intent = CallIntent(
            run_id=run_id,
            key=key,
            rules=rules,
            counted=Estimate(tokens, cost),
            input=tokens if sent is None else sent,
            model=model,
            provider="p",
            node_id="agent",
            at=self.at,
            **more,
        )

        def build(admission: Admission, counters: tuple[Counter, ...]) -> list[Event]:
            self.builds.append(admission)
            gauges = tuple(gauge(r, c, self.at) for r, c in zip(rules, counters, strict=True))
            if isinstance(admission, Blocked):
                return [BudgetWaiting(at=self.at, run_id=run_id, call=key, gauges=gauges)]
            return [
                BudgetReserved(
                    at=self.at,
                    run_id=run_id,
                    call=key,
                    purpose="main",
                    estimate_tokens=admission.estimate.tokens,
                    estimate_cost=admission.estimate.cost,
                )
            ]

        return await self.record.open_call(intent, before, build, ticket=ticket)

    async def opened(self, key: str, *rules: Rule, **more: Any) -> CallOpened:
        answer = await self.open(key, *rules, **more)
        assert isinstance(answer, CallOpened), answer
        return answer

    async def held(self, key: str, *rules: Rule, **more: Any) -> CallHeld:
        answer = await self.open(key, *rules, **more)
        assert isinstance(answer, CallHeld), answer
        return answer

    async def close(
        self,
        call: CallOpened | int,
        tokens: int = 10,
        cost: int | None = 0,
        *,
        run_id: str = "run-1",
        **more: Any,
    ) -> Settled:
        call_id = call if isinstance(call, int) else call.call_id

        def build(counters: tuple[Counter, ...], over: bool) -> list[Event]:
            return [
                BudgetSettled(
                    at=self.at, run_id=run_id, call=str(call_id), tokens=tokens, cost=cost, over_estimate=over
                )
            ]

        usage = more.pop("usage", Usage(input=tokens - tokens // 4, output=tokens // 4))
        return await self.record.close_call(
            CallClose(call_id=call_id, run_id=run_id, usage=usage, cost=cost, at=self.at, **more), build
        )

    async def call(
        self, key: str, *rules: Rule, tokens: int = 10, cost: int | None = 0, **more: Any
    ) -> Settled:
        """Open and close a call."""
        run_id = more.get("run_id", "run-1")
        opened = await self.opened(key, *rules, **more)
        return await self.close(opened, tokens, cost, run_id=run_id)

    async def finish(
        self, run_id: str = "run-1", state: Any = "completed", *, turns: Sequence[Turn] = ()
    ) -> tuple[Entry, ...]:
        def build(totals: RunTotals) -> list[Event]:
            return [
                RunFinished(
                    at=self.at,
                    run_id=run_id,
                    state=state,
                    usage=totals.usage,
                    cost=totals.cost,
                    unknown_cost=totals.unknown,
                )
            ]

        end = RunEnd(run_id=run_id, state=state, turns=tuple(turns), at=self.at)
        return await self.record.finish(end, [], build)

    async def write(
        self, shelf: Shelf, key: str, value: Any, *, run_id: str | None = None, **more: Any
    ) -> Written:
        written, _ = await self.record.write_fact(
            shelf, FactWrite(key=key, value=value, **more), self.at, lambda _: [], run_id=run_id
        )
        return written

    async def current(self, shelf: Shelf) -> dict[str, Any]:
        return {fact.key: fact.value for fact in await self.record.facts(shelf)}

    async def versions(self, shelf: Shelf, key: str) -> list[Fact]:
        return await self.record.fact_versions(shelf, key)

    async def events(self, run_id: str = "run-1") -> list[dict[str, Any]]:
        uid = self.sessions[run_id]
        return [json.loads(body) for body in await self.record.events_json(uid)]

    async def types(self, run_id: str = "run-1") -> list[str]:
        return [event["type"] for event in await self.events(run_id)]


def turn(*texts: str, node_id: str = "agent") -> Turn:
    roles: list[Any] = ["user", "assistant"]
    messages = tuple(Message(role=roles[i % 2], content=text) for i, text in enumerate(texts))
    return Turn(node_id=node_id, messages=messages)


async def open_scene(path: Path | None, clock: Clock | None = None) -> Scene:
    clock = clock or VirtualClock(START)
    record = open_record(path, clock)
    await record.open()
    return Scene(record, clock)


def with_db(path: Path, work: Callable[[Record], Awaitable[Any]]) -> Any:
    """What some work with the database at `path` gives, which is closed afterwards."""

    async def main() -> Any:
        record = open_record(path, SystemClock())
        await record.open()
        try:
            return await work(record)
        finally:
            await record.close()

    return asyncio.run(main())
