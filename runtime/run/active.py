"""A run under way: claimed, driven, finished; it always ends with a state, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from runtime.calls import to_the_end
from runtime.errors import FarthingError, StoreError
from runtime.events import CallError, Entry, Event, Gauge, RunFinished, RunStarted
from runtime.journal import Journal
from runtime.ledger import Rule, Subject, counter_key, gauge
from runtime.messages import Message
from runtime.record import Claimed, RunEnd, RunStart, RunTotals
from runtime.run.prepare import Prepared, check_trust
from runtime.run.schedule import Run
from runtime.run.services import OnDelta, Services
from runtime.usage import Usage

OnEvent = Callable[[Entry], None]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run. `cost` sums the known costs in nano-dollars; `unknown` counts those without."""

    run_id: str
    session_uid: str
    session_name: str
    state: str
    outputs: dict[str, Any] = {}
    usage: Usage = Usage()
    cost: int = 0
    unknown: int = 0
    gauges: tuple[Gauge, ...] = ()
    error: CallError | None = None
    rehearsal: bool = False
    exit_code: int = 0


class ActiveRun:
    """A run under way: it can be awaited and cancelled; twice is harmless."""

    def __init__(
        self, prepared: Prepared, services: Services, on_event: OnEvent | None, on_delta: OnDelta | None
    ) -> None:
        self.run_id = services.clock.new_id()
        self.prepared, self._services = prepared, services
        self._on_delta = on_delta
        self._journal = Journal(services.record, self.run_id, services.clock, on_event)
        self._cancelled = False
        self._cancelled_by: str | None = None
        self._driving: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._began = services.clock.monotonic()
        self.claimed: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._see_through())

    def cancel(self) -> None:
        """Ask the run to end at once; its model request is aborted and settled."""
        self._cancelled = True
        for each in (self._waiting, self._driving):
            if each is not None:
                each.cancel()

    async def outcome(self) -> Outcome:
        """Wait for the end."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait([self._task])
            raise

    async def _see_through(self) -> Outcome:
        """Claim, drive, finish. Only the driving is ever cancelled: what was claimed is always finished."""
        claimed = await self._claim()
        listening = asyncio.create_task(self._listen())
        run: Run | None = None
        state, error = "cancelled", None
        try:
            run = await self._run(claimed)
            if not self._cancelled:
                self._driving = asyncio.create_task(run.drive())
                await self._driving
                state, error = ("failed" if run.failure else "completed"), run.failure
        except asyncio.CancelledError:
            state = "cancelled"
        except FarthingError as failure:
            state, error = "failed", failure
        finally:
            listening.cancel()
        if state == "cancelled" and self._cancelled_by is not None:
            error = FarthingError(
                f"Cancelled by {self._cancelled_by}.", code="run.cancelled", remedy="Start it again to go on."
            )
        outcome, _ = await to_the_end(self._finish(claimed, run, state, error))
        if run is not None and state == "completed":
            self._maintain(run)
        return outcome

    async def _listen(self) -> None:
        """Whoever may not reach this process asks through the store."""
        self._cancelled_by = await self._services.record.cancel_asked(self.run_id)
        self.cancel()

    def _maintain(self, run: Run) -> None:
        """Begin in the background what this turn calls for: extraction, compaction, ageing."""
        if not any(_cared_for(memory.config) for _, memory in run.memories):
            return
        from runtime.run.maintaining import Care, jobs_of

        care = Care(self.prepared, self._services, jobs_of(run))
        self._services.maintenance.begin(self.prepared.session, care)

    async def _claim(self) -> Claimed:
        """Begin the run in the store, once its flow may do what it needs. Whoever waits for `claimed` is told
        an error too."""
        try:
            await check_trust(self.prepared, self._services)
            await self._maintained()
            claimed = await self._claim_now()
        except BaseException as error:
            self.claimed.set_exception(error)
            self.claimed.exception()  # the task tells it too; nobody need ask here
            raise
        self.claimed.set_result(claimed)
        return claimed

    async def _maintained(self) -> None:
        """Wait until no maintenance of this session is under way, here or in another process, or this run is
        cancelled."""
        memories = [node.memory for node in self.prepared.plan.reasoners if node.memory is not None]
        busy = self._services.maintenance.busy(self.prepared.session)
        if not self._cancelled and (busy or any(_cared_for(memory.config) for memory in memories)):
            self._waiting = asyncio.ensure_future(self._until_maintained())
            await asyncio.wait([self._waiting])
            if not self._waiting.cancelled():
                self._waiting.result()

    async def _until_maintained(self) -> None:
        from runtime.run.leasing import care_of, until_free

        services, session = self._services, self.prepared.session
        await services.maintenance.settled(session)
        await until_free(services.record, services.clock, care_of(session))

    async def _claim_now(self) -> Claimed:
        prepared, services, now = self.prepared, self._services, self._services.clock.now()
        plan, request = prepared.plan, prepared.request
        begin = RunStart(
            run_id=self.run_id,
            session=prepared.session,
            flow_name=plan.name,
            flow_hash=plan.hash,
            flow=plan.raw,
            flow_path=None if request.flow_path is None else str(request.flow_path.resolve()),
            model=prepared.model,
            input=self._clean(prepared.value),
            at=now,
        )
        said = RunStarted(
            at=now,
            run_id=self.run_id,
            flow_id=plan.flow_id,
            flow_name=plan.name,
            flow_hash=plan.hash,
            model=prepared.model,
            rehearsal=prepared.rehearsal,
            input=begin.input,
        )
        (claimed, entries), _ = await to_the_end(services.record.claim(begin, [said]))
        self._journal.publish(entries)
        return claimed

    async def _run(self, claimed: Claimed) -> Run:
        prepared, services = self.prepared, self._services
        histories: dict[str, list[Message]] = {}
        for node in prepared.plan.reasoners if not claimed.session_new else ():
            context = getattr(node.config, "context", None)
            if context is not None and context.mode != "none":
                whole = context.mode != "buffer" or (node.memory and node.memory.config.compaction.enabled)
                last = None if whole else context.keep
                histories[node.id] = await services.record.history(claimed.session_uid, node.id, last=last)
        return Run(
            prepared.plan,
            services,
            self._journal,
            run_id=self.run_id,
            session_uid=claimed.session_uid,
            user=prepared.session.user_id,
            partition=prepared.session.partition,
            assignments=prepared.assignments,
            value=self._clean(prepared.value),
            histories=histories,
            on_delta=self._on_delta,
            real_tools=prepared.request.real_tools,
        )

    async def _finish(
        self, claimed: Claimed, run: Run | None, state: str, failure: FarthingError | None
    ) -> Outcome:
        services, now = self._services, self._services.clock.now()
        outputs = dict(run.outputs) if run is not None and state == "completed" else {}
        error = None
        if failure is not None:
            error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
        totals = RunTotals(Usage(), 0, 0)

        def said(found: RunTotals) -> list[Event]:
            nonlocal totals
            totals = found
            return [
                RunFinished(
                    at=now,
                    run_id=self.run_id,
                    state=state,
                    outputs=outputs,
                    usage=found.usage,
                    cost=found.cost,
                    unknown_cost=found.unknown,
                    error=error,
                    ms=round((services.clock.monotonic() - self._began) * 1000),
                )
            ]

        end = RunEnd(
            run_id=self.run_id,
            state=state,  # type: ignore[arg-type]
            outputs=outputs,
            error=None if error is None else msgspec.to_builtins(error),
            turns=tuple(run.turns) if run is not None and state == "completed" else (),
            accesses=run.accesses(now) if run is not None else (),
            at=now,
        )
        await self._journal.finish(end, said)
        return Outcome(
            run_id=self.run_id,
            session_uid=claimed.session_uid,
            session_name=self.prepared.session.name,
            state=state,
            outputs=outputs,
            usage=totals.usage,
            cost=totals.cost,
            unknown=totals.unknown,
            gauges=await self._gauges(claimed),
            error=error,
            rehearsal=self.prepared.rehearsal,
            exit_code=130 if state == "cancelled" else failure.exit_code if failure is not None else 0,
        )

    async def _gauges(self, claimed: Claimed) -> tuple[Gauge, ...]:
        """How the budgets that governed the run stand after it, each once, in plan order."""
        services, session, now = self._services, self.prepared.session, self._services.clock.now()
        rules: dict[tuple[Any, ...], Rule] = {}
        for given in (first for first, *_ in self.prepared.assignments.values()):
            for rule in given.rules:
                rules.setdefault((rule.pot, rule.metric, rule.period, rule.limit), rule)
        if not rules:
            return ()
        subject = Subject(session.partition, session.user_id, claimed.session_uid, self.run_id)
        keys = [counter_key(rule, subject, now) for rule in rules.values()]
        try:
            counters = await services.record.counters(keys)
        except StoreError:  # the run has ended and is recorded; its gauges can be read later
            return ()
        return tuple(gauge(rule, c, now) for rule, c in zip(rules.values(), counters, strict=True))

    def _clean(self, value: Any) -> Any:
        """The input with every configured secret's value replaced."""
        redactor = self._services.redactor
        return value if redactor is None else redactor.value(value)


def _cared_for(memory: Any) -> bool:
    """Whether this Memory's settings ask for maintenance after a turn."""
    return bool(memory.compaction.enabled or memory.extraction.enabled or memory.lifecycle.enabled)
