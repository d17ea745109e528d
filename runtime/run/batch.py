"""A batch: one flow on many inputs, some at the same time, under the same budgets, from one store.

It stops early once a budget that governs every line is used up. Begun again with the results so far, it runs
only what is missing; a run that ended just before its process was killed is found in the store by the name of
its session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from runtime.errors import FarthingError, StoreError
from runtime.events import AgentError, CallError, Entry, Gauge
from runtime.ledger import Rule
from runtime.record import RunLine, SessionFilter
from runtime.run.batch_lines import Line
from runtime.run.batch_result import Result, State, Summary, summed
from runtime.run.limits import parse_limit
from runtime.run.services import Services
from runtime.run.start import ActiveRun, Outcome, Prepared, RunRequest, check_trust, prepare, start
from runtime.usage import decimal_text

INVALID = "input.invalid"
"""The code of an input that does not fit its flow; all else that is refused concerns the whole batch."""

OnResult = Callable[[Result], None]


class BatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: `run` on each of `lines`, at most `concurrency` at the same time.

    `batch` names it; lines without a session get one that is called by it. The limits of `run` hold for the
    whole batch. `kept` are results of earlier attempts by line; those that answer a line stand, with
    `retry_failed` only those of lines that did not fail.
    """

    run: RunRequest
    lines: tuple[Line, ...]
    batch: str
    concurrency: int = 8
    kept: dict[int, Result] = {}
    retry_failed: bool = False


class Batch:
    """A batch under way."""

    def __init__(self, request: BatchRequest, services: Services, on_result: OnResult) -> None:
        self._request, self._services, self._on_result = request, services, on_result
        self._base = msgspec.structs.replace(request.run, limits=(), rules=self._rules())
        self._results: dict[int, Result] = {}
        self._to_do: deque[Line] = deque()
        self._active: set[ActiveRun] = set()
        self._spent: dict[str | None, str] = {}
        self._cancelled = False

    def cancel(self) -> None:
        """End every run at once and begin no further one; twice is harmless."""
        self._cancelled = True
        for active in self._active:
            active.cancel()

    async def run(self) -> Summary:
        """Run what is missing, to the end. Raises what would be refused for every line."""
        for line in self._request.lines:
            known = self._request.kept.get(line.number)
            if known is not None and known.answers(line, retry_failed=self._request.retry_failed):
                self._results[line.number] = known
            else:
                self._to_do.append(line)
        kept = len(self._results)
        await self._check()
        workers = min(self._request.concurrency, len(self._to_do))
        await self._together(workers)
        found = summed(self._results.values())
        why = next(iter(self._spent.values()), None)
        return found._replace(kept=kept, cancelled=self._cancelled, stopped=bool(self._spent), why=why)

    async def _together(self, workers: int) -> None:
        """Work off the lines. What breaks one worker (the store, the place of the results) ends them all."""
        work = [asyncio.create_task(self._work()) for _ in range(workers)]
        if not work:
            return
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            if not all(task.done() for task in work):
                self.cancel()
                await asyncio.wait(work)
        for task in work:
            task.result()

    def _rules(self) -> tuple[Rule, ...]:
        """The limits of the command line as ones of the whole batch, whoever its lines are for."""
        rules = []
        for rule in map(parse_limit, self._request.run.limits):
            pot = f"limit/batch/{self._request.batch}/{rule.metric}"
            rules.append(msgspec.structs.replace(rule, pot=pot, period="lifetime", everyone=True))
        return (*self._request.run.rules, *rules)

    async def _check(self) -> None:
        """Refuse at once what concerns every line: the flow, its models, its grants, its user."""
        for line in self._to_do:
            if line.wrong is not None:
                continue
            try:
                prepared = prepare(self._asked(line), self._services)
            except FarthingError as error:
                if error.code == INVALID:
                    continue
                raise
            await check_trust(prepared, self._services)
            return

    async def _work(self) -> None:
        while self._to_do:
            line = self._to_do.popleft()
            result = await self._result(line)
            self._results[line.number] = result
            self._on_result(result)

    async def _result(self, line: Line) -> Result:
        user = line.user or self._base.user
        if line.wrong is not None:
            return self._failed(line, "invalid", CallError(code=INVALID, message=f"{line.wrong}."))
        if self._cancelled:
            return self._failed(
                line, "not_run", CallError(code="cancelled", message="The batch was cancelled.")
            )
        spent = self._spent.get(None) or self._spent.get(user)
        if spent is not None:
            return self._failed(line, "not_run", CallError(code="budget.exceeded", message=spent))
        try:
            prepared = prepare(self._asked(line), self._services)
            earlier = await self._found(line, prepared)
            return earlier or await self._run(line, prepared)
        except StoreError:
            raise
        except FarthingError as error:
            told = CallError(code=error.code, message=error.message, remedy=error.remedy)
            return self._failed(line, "invalid" if error.code == INVALID else "failed", told)

    def _asked(self, line: Line) -> RunRequest:
        return msgspec.structs.replace(
            self._base,
            input=line.input,
            session=line.session or self._base.session or f"batch {self._request.batch}/{line.number}",
            user=line.user or self._base.user,
        )

    async def _run(self, line: Line, prepared: Prepared) -> Result:
        stops: list[Gauge] = []

        def see(entry: Entry) -> None:
            event = entry.event
            if isinstance(event, AgentError) and event.gauge is not None:
                stops.append(event.gauge)

        active = start(prepared, self._services, see)
        self._active.add(active)
        try:
            outcome = await active.outcome()
        finally:
            self._active.discard(active)
        if outcome.exit_code == 3 and outcome.error is not None:
            for gauge in stops:
                self._used_up(gauge, prepared, outcome.error.message)
        return self._ended(line, outcome)

    def _used_up(self, gauge: Gauge, prepared: Prepared, why: str) -> None:
        """Take note of a budget that will stop every other line of its user, or of anybody, as well."""
        if gauge.period in ("run", "session") or gauge.limit is None or gauge.used < gauge.limit:
            return
        everyone = True
        for given in prepared.assignments.values():
            rules = [
                rule
                for rule in given[0].rules
                if (rule.pot, rule.metric, rule.period) == (gauge.pot, gauge.metric, gauge.period)
            ]
            if not rules:
                return
            everyone = everyone and all(rule.everyone for rule in rules)
        self._spent.setdefault(None if everyone else prepared.session.user_id, why)

    async def _found(self, line: Line, prepared: Prepared) -> Result | None:
        """The completed run of this line in an earlier attempt that died before it could say so."""
        if not self._request.kept or line.session or self._base.session:
            return None
        record, key = self._services.record, prepared.session
        which = SessionFilter(key.partition, key.user_id, key.flow_id, key.name)
        for session in await record.sessions(which):
            if session.name != key.name:
                continue
            for run in await record.runs(session.uid):
                if run.state == "completed" and run.input == prepared.value:
                    return await self._told(line, run, key.name)
        return None

    async def _told(self, line: Line, run: RunLine, session: str) -> Result:
        totals = await self._services.record.run_totals(run.run_id)
        return Result(
            **self._about(line, "completed"),
            outputs=run.outputs,
            usage=totals.usage,
            tokens=totals.usage.tokens,
            cost=_cost(totals.cost, totals.unknown),
            unknown_cost=totals.unknown,
            run_id=run.run_id,
            session=session,
            rehearsal=run.partition == "rehearsal",
        )

    def _ended(self, line: Line, outcome: Outcome) -> Result:
        states: dict[str, State] = {"completed": "completed", "cancelled": "cancelled"}
        return Result(
            **self._about(line, states.get(outcome.state, "failed")),
            outputs=outcome.outputs,
            error=outcome.error,
            usage=outcome.usage,
            tokens=outcome.usage.tokens,
            cost=_cost(outcome.cost, outcome.unknown),
            unknown_cost=outcome.unknown,
            run_id=outcome.run_id,
            session=outcome.session_name,
            rehearsal=outcome.rehearsal,
        )

    def _failed(self, line: Line, state: State, error: CallError) -> Result:
        return Result(**self._about(line, state), error=error)

    def _about(self, line: Line, state: State) -> dict[str, Any]:
        return {
            "line": line.number,
            "id": line.id,
            "state": state,
            "batch": self._request.batch,
            "hash": line.hash,
        }


def _cost(cost: int, unknown: int) -> str | None:
    """Dollars; null where not one call has a known cost."""
    return None if unknown and not cost else decimal_text(cost)


def lines_in_order(lines: Sequence[Line], on_result: OnResult) -> OnResult:
    """A listener that is told results as they end and hands them on in the order of the lines."""
    waiting: dict[int, Result] = {}
    expected = deque(line.number for line in lines)

    def listen(result: Result) -> None:
        waiting[result.line] = result
        while expected and expected[0] in waiting:
            on_result(waiting.pop(expected.popleft()))

    return listen
