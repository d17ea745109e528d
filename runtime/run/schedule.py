"""Carrying out a plan: nodes run when their inputs are there, independent ones at the same time."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from runtime.calls import Account, Whose
from runtime.clock import Clock
from runtime.errors import BoundReached, FarthingError, NodeFailed, StoreError
from runtime.events import CallError, NodeFinished, NodeSkipped, NodeStarted
from runtime.events import NodeFailed as NodeFailedEvent
from runtime.facts import Shelf
from runtime.journal import Journal
from runtime.memory_service import MemoryService
from runtime.messages import Message
from runtime.node import Branch, Inputs, NodeResult
from runtime.plan import Plan, PlanNode
from runtime.record import Access, Turn
from runtime.run.context import Context
from runtime.run.ready import Board, CyclicBoard
from runtime.run.services import Assignment, Assignments, OnDelta, Services, side

MAX_VISITS = 25
"""Visits of one node at most where a router's edge leads back to it (SPEC 3)."""
MAX_STEPS = 1000
"""Reasoning steps of one run at most (SPEC 3)."""


class Run:
    """The state of one execution; lives as long as it runs."""

    def __init__(
        self,
        plan: Plan,
        services: Services,
        journal: Journal,
        *,
        run_id: str,
        session_uid: str,
        user: str | None,
        partition: Any,
        assignments: Assignments,
        value: Any,
        histories: dict[str, list[Message]],
        on_delta: OnDelta | None = None,
        real_tools: bool = False,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.plan, self.services, self.journal = plan, services, journal
        self.clock: Clock = services.clock
        self._say, self._say_both, self._now = journal.say, journal.say_both, services.clock.now
        self._plain = not plan.has_cycles
        self._door = Context(self, plan.nodes[0])
        self.run_id, self.session_uid, self.user, self.partition = run_id, session_uid, user, partition
        self._whose = Whose(user, plan.flow_id, session_uid, partition == "rehearsal")
        self.assignments, self.value, self.histories = assignments, value, histories
        self.on_delta, self.real_tools = on_delta, real_tools
        self.outputs: dict[str, Any] = {}
        self.turns: list[Turn] = []
        self.memories: list[tuple[PlanNode, MemoryService]] = []
        self.failure: FarthingError | None = None
        self._board = CyclicBoard(plan) if plan.has_cycles else Board(plan)
        self._visits: Counter[int] | None = Counter() if plan.has_cycles else None
        self._ready: deque[PlanNode] = deque()
        self._flying: dict[asyncio.Task[NodeResult | None], PlanNode] = {}
        self._steps, self._max_steps = 0, max_steps
        self._tainted: set[int] = set()

    async def drive(self) -> None:
        """Run to the end. The first failure is kept in `failure`; cancelling stops everything at once."""
        self._ready.extend(self._board.first())
        try:
            while (self._ready and self.failure is None) or self._flying:
                if self.failure is None:
                    await self._start_ready()
                if self._flying:
                    await self._land_some()
        except BaseException:
            await self._abort()
            raise

    async def _start_ready(self) -> None:
        ready, flying, journal = self._ready, self._flying, self.journal
        while ready and self.failure is None:
            node = ready.popleft()
            if node.type.instant:
                if self._plain and not self._tainted:
                    await self._pass(node)
                else:
                    self._settle(node, await self._visit(node))
                if journal.full:
                    await journal.flush()
            elif not (ready or flying):
                self._settle(node, await self._visit(node))
            else:
                flying[asyncio.create_task(self._visit(node))] = node

    async def _land_some(self) -> None:
        done, _ = await asyncio.wait(self._flying, return_when=asyncio.FIRST_COMPLETED)
        for task in sorted(done, key=lambda task: self._flying[task].index):
            self._settle(self._flying.pop(task), task.result())

    async def _abort(self) -> None:
        """Cancel what is in flight and wait until all of it has settled its account."""
        for task in self._flying:
            task.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)
        self._flying.clear()

    async def _pass(self, node: PlanNode) -> None:
        """A visit of an instant node in a plan without circles: the common case, with nothing to spare."""
        kind, at, node_id, door = node.type, self._now(), node.id, self._door
        door.node = node  # it ends before the next one begins, so that one door serves them all
        inputs = Inputs(self.value, {}) if kind.entry_of_flow else self._board.inputs(node)
        try:
            result = await kind.run(node.config, inputs, door)  # type: ignore[misc]
        except Exception as error:
            self._say(NodeStarted(at=at, run_id=self.run_id, node_id=node_id))
            self._settle(node, self._fail(node, _as_ours(error)))
            return
        value, port = result.value, node.main_port
        if result.directive is not None or result.turn:
            self._say(NodeStarted(at=at, run_id=self.run_id, node_id=node_id))
            self._settle(node, result)
            return
        self._say_both(
            NodeStarted(at=at, run_id=self.run_id, node_id=node_id),
            NodeFinished(at=at, run_id=self.run_id, node_id=node_id, port=port, output=value),
        )
        if kind.result_of_flow:
            self.outputs[node_id] = value
        for skipped in self._board.finish(node, port, value, self._ready):
            self._say(NodeSkipped(at=at, run_id=self.run_id, node_id=skipped.id))

    async def _visit(self, node: PlanNode) -> NodeResult | None:
        """One visit of a node; None where it failed."""
        kind = node.type
        run = kind.run
        assert run is not None
        inputs = Inputs(self.value, {}) if kind.entry_of_flow else self._board.inputs(node)
        visit = 1 if self._visits is None else self._count_visit(node, self._visits)
        self._say(NodeStarted(at=self._now(), run_id=self.run_id, node_id=node.id, visit=visit))
        context = Context(self, node, visit)
        try:
            if visit > MAX_VISITS:
                raise _too_many_visits(node)
            return await run(node.config, inputs, context)
        except asyncio.CancelledError:
            self._say_failed(node, CallError(code="cancelled", message="The run was cancelled."))
            raise
        except Exception as error:
            return self._fail(node, _as_ours(error))
        finally:
            if context.tainted or (self._tainted and self.comes_tainted(node)):
                self._tainted.add(node.index)

    def _settle(self, node: PlanNode, result: NodeResult | None) -> None:
        if result is None:
            return
        port, directive = node.main_port, result.directive
        if directive is not None and isinstance(directive, Branch):
            port = directive.port
        self._say(
            NodeFinished(
                at=self._now(), run_id=self.run_id, node_id=node.id, visit=self._visit_now(node), port=port,
                output=result.value,
            )
        )  # fmt: skip
        if result.turn:
            tainted = node.index in self._tainted
            self.turns.append(Turn(node_id=node.id, messages=result.turn, tainted=tainted))
        if node.type.result_of_flow:
            self.outputs[node.id] = result.value
        for skipped in self._board.finish(node, port, result.value, self._ready):
            self.journal.say(NodeSkipped(at=self.clock.now(), run_id=self.run_id, node_id=skipped.id))

    def _fail(self, node: PlanNode, error: FarthingError) -> NodeResult | None:
        """Say that a node failed; the result to go on with where its `on_error` says so."""
        error.node_id = error.node_id or node.id
        error.run_id = self.run_id
        told = CallError(code=error.code, message=error.message, remedy=error.remedy)
        wish = "stop" if isinstance(error, StoreError) else getattr(node.config, "on_error", "stop")
        if wish == "stop":
            self._say_failed(node, told)
            self.failure = self.failure or error
            return None
        port = "error" if wish == "branch" else node.main_port
        self._say_failed(node, told, port)
        if wish == "continue":
            return NodeResult(None, Branch(port))
        return NodeResult(msgspec.to_builtins(told), Branch(port))

    def _say_failed(self, node: PlanNode, error: CallError, port: str | None = None) -> None:
        self.journal.say(
            NodeFailedEvent(
                at=self.clock.now(), run_id=self.run_id, node_id=node.id, visit=self._visit_now(node),
                error=error, handled=port is not None, port=port,
            )
        )  # fmt: skip

    def _count_visit(self, node: PlanNode, visits: Counter[int]) -> int:
        visits[node.index] += 1
        return visits[node.index]

    def _visit_now(self, node: PlanNode) -> int:
        """Which visit of a node is under way, or has just ended."""
        return 1 if self._visits is None else max(1, self._visits[node.index])

    # -- for the nodes' door

    def comes_tainted(self, node: PlanNode) -> bool:
        """Whether what comes into a node may hold what a lent tool gave to a node before it."""
        return bool(self._tainted) and any(source.node in self._tainted for source in node.sources)

    def accounts(self, node: PlanNode, visit: int) -> list[Account]:
        """On whose behalf a node's calls are made: its model's, then those of its fallbacks."""
        return [self._account(node, visit, given) for given in self.assignments[node.id]]

    def side_account(self, node: PlanNode, visit: int) -> Account:
        """Under which account the side calls of a node are made that names a model of their own."""
        return self._account(node, visit, self.assignments[side(node.id)][0])

    def _account(self, node: PlanNode, visit: int, given: Assignment) -> Account:
        return Account(
            journal=self.journal,
            run_id=self.run_id,
            node_id=node.id,
            path=f"{node.id}#{visit}",
            rules=given.rules,
            provider=given.provider,
            model=given.model,
            client=given.client,
            whose=self._whose,
        )

    def accesses(self, at: datetime) -> tuple[Access, ...]:
        """The facts that this run's models were sent or read; each counts once a run."""
        used: dict[tuple[Shelf, str], Access] = {}
        for _, memory in self.memories:
            for access in memory.uses.accesses(memory.shelf, at):
                known = used.get((access.shelf, access.key))
                used[access.shelf, access.key] = access if known is None or known.fading is None else known
        return tuple(used[where] for where in sorted(used))

    def take_step(self, node_id: str) -> None:
        """Count a reasoning step. Raises BoundReached at the run's bound."""
        self._steps += 1
        if self._steps > self._max_steps:
            raise BoundReached(
                f"The run made {self._max_steps:,} reasoning steps, which is its bound.",
                code="run.max_steps",
                remedy="Give it a smaller task, or split the flow.",
                node_id=node_id,
                run_id=self.run_id,
            )


def _as_ours(error: Exception) -> FarthingError:
    """A node's own bug must not take the run's record with it."""
    if isinstance(error, FarthingError):
        return error
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" ({Path(at.tb_frame.f_code.co_filename).name}, line {at.tb_lineno})" if at is not None else ""
    return NodeFailed(f"The node failed: {type(error).__name__}: {error}{where}.")


def _too_many_visits(node: PlanNode) -> BoundReached:
    return BoundReached(
        f"The run came to {node.id!r} more than {MAX_VISITS} times, which is its bound.",
        code="run.max_visits",
        remedy="Let the router leave the circle earlier.",
        node_id=node.id,
    )
