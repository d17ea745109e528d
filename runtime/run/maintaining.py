"""A maintenance run: extraction from a turn and compaction of a session's history, on the agents' behalf.

Its calls are charged to the budgets that govern the agent, run budgets excepted, and to the user's own, as
calls of the session that it serves; its events stand in the session `@maintenance` of that flow and user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from runtime.calls import Account, Whose
from runtime.facts import Shelf
from runtime.memory.monitor import Reading
from runtime.memory_service import MemoryService
from runtime.plan import PlanNode
from runtime.record import Turn
from runtime.run.ageing import ShelfAgeing
from runtime.run.beside import BesideRun, Purpose
from runtime.run.compacting import Compacting
from runtime.run.extraction import extract
from runtime.run.leasing import Leased, care_of
from runtime.run.prepare import Prepared
from runtime.run.services import Services, side

if TYPE_CHECKING:
    from runtime.run.schedule import Run


class Job(NamedTuple):
    """What there is to do for one agent. `reading`: how full its last prompt was. `turn`: the turn that just
    ended. `by_hand`: a person asked, so that all old turns are summed up whatever the monitor says."""

    node: PlanNode
    shelf: Shelf
    session_uid: str
    reading: Reading | None = None
    turn: Turn | None = None
    by_hand: bool = False


def jobs_of(run: Run) -> list[Job]:
    """What the turn of a completed run calls for."""
    turns = {turn.node_id: turn for turn in run.turns}
    return [
        Job(node, memory.shelf, run.session_uid, memory.reading, turns.get(node.id))
        for node, memory in run.memories
        if node.id in run.assignments
    ]


class Care:
    """What is to be done for the agents of one session, one at a time in all processes."""

    def __init__(self, prepared: Prepared, services: Services, jobs: Sequence[Job]) -> None:
        self._prepared, self._services, self._jobs = prepared, services, jobs
        self._begun = False

    async def carry_out(self) -> list[Compacting]:
        """Do what is due; no run is begun where nothing is. What came of each compaction."""
        services, jobs = self._services, self._jobs
        works = [Compacting(services, job.node, job.shelf, job.session_uid) for job in jobs]
        async with Leased(services.record, services.clock, care_of(self._prepared.session)):
            due: list[tuple[Job, Compacting]] = []
            for job, work in zip(jobs, works, strict=True):
                if await work.wanted(job.reading, by_hand=job.by_hand) or _extracts(job):
                    due.append((job, work))
            ages = [] if any(job.by_hand for job in jobs) else await _due_to_age(services, jobs)
            if due or ages:
                self._begun = True
                await self._run().carry_out(due, ages)
        return works

    async def skip(self) -> None:
        """Leave a run that says it was cancelled before it did anything."""
        if not self._begun:
            await self._run().skip()

    def _run(self) -> _Run:
        return _Run(self._prepared, self._services, self._jobs[0].session_uid)


Age = tuple[Job, ShelfAgeing]


async def _due_to_age(services: Services, jobs: Sequence[Job]) -> list[Age]:
    """The shelves, each once, on which it is time for derived facts to fade or to stay."""
    found: dict[Shelf, Age] = {}
    for job in jobs:
        if job.shelf not in found and job.node.memory is not None:
            ageing = ShelfAgeing(services, job.node, job.shelf)
            if await ageing.wanted():
                found[job.shelf] = (job, ageing)
    return list(found.values())


async def age(prepared: Prepared, services: Services, ages: Sequence[Age], actor: str) -> None:
    """Make the changes that were found, in a run of its own."""
    if ages:
        await _Run(prepared, services, ages[0][0].session_uid).carry_out((), ages, actor)


def _extracts(job: Job) -> bool:
    memory = job.node.memory
    return job.turn is not None and memory is not None and bool(memory.config.extraction.enabled)


class _Run:
    """One run for the agents of a session, charged to the session `serves`."""

    def __init__(self, prepared: Prepared, services: Services, serves: str) -> None:
        self.prepared, self.services = prepared, services
        plan, path, session = prepared.plan, prepared.request.flow_path, prepared.session
        self._whose = Whose(session.user_id, plan.flow_id, serves, prepared.rehearsal)
        self._run = BesideRun(
            services,
            Purpose(
                session=session,
                flow_name=plan.name,
                flow_hash=plan.hash,
                flow=plan.raw,
                flow_path=None if path is None else str(path.resolve()),
                model=prepared.model,
                charged=serves,
            ),
        )

    async def carry_out(
        self, due: Sequence[tuple[Job, Compacting]], ages: Sequence[Age], actor: str | None = None
    ) -> None:
        """Do it in a run of its own."""

        async def work() -> None:
            for job, compacting in due:
                await self._one(job, compacting)
            for job, ageing in ages:
                await ageing.carry_out(self._account(job.node), actor)

        await self._run.carry_out(work)

    async def skip(self) -> None:
        """Only say that there was something to look at, and that it was not."""
        await self._run.skip(
            "Skipped: the process was asked to end before the maintenance after a turn began.",
            "Old turns are looked at again after the next turn; nothing was extracted from this one.",
        )

    async def _one(self, job: Job, work: Compacting) -> None:
        account = self._account(job.node)
        if _extracts(job) and job.turn is not None and job.node.memory is not None:
            memory = MemoryService(job.node.memory.config, job.shelf, self._run.journal)
            await extract(self.services, account, memory, job.turn)
        if work.due:
            await work.carry_out(self._account(job.node, side(job.node.id)))

    def _account(self, node: PlanNode, by: str = "") -> Account:
        """Under which account this agent's calls are made; `by` names the assignment, where it is there."""
        assignments = self.prepared.assignments
        given = assignments.get(by, assignments[node.id])[0]
        return Account(
            journal=self._run.journal,
            run_id=self._run.run_id,
            node_id=node.id,
            path=f"{node.id}/maintenance",
            rules=tuple(rule for rule in given.rules if rule.period != "run"),
            provider=given.provider,
            model=given.model,
            client=given.client,
            whose=self._whose,
        )
