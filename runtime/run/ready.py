"""When a node is ready: pure predicates over what its incoming edges came to."""

from __future__ import annotations

from typing import Any

from runtime.node import Inputs
from runtime.plan import Plan, PlanNode

PENDING, TAKEN, SKIPPED = 0, 1, 2


class Board:
    """What every edge and node came to so far; nothing here awaits or decides what a failure means.

    A node is ready when none of its incoming message edges is pending and one of them was taken; it is
    skipped when all of them were skipped. An edge that closes a cycle is not awaited.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.values: list[Any] = [None] * len(plan.nodes)
        self.port: list[str | None] = [None] * len(plan.nodes)
        self.waiting = [sum(not source.back for source in node.sources) for node in plan.nodes]
        self.taken = [False] * len(plan.nodes)

    def first(self) -> list[int]:
        """Nodes that wait for nothing, in plan order."""
        return [node.index for node in self.plan.nodes if self.waiting[node.index] == 0]

    def finish(self, node: PlanNode, port: str, value: Any) -> tuple[list[int], list[int]]:
        """Note a node's result on `port`. Gives the nodes that are ready now and those skipped now."""
        self.values[node.index], self.port[node.index] = value, port
        ready: list[int] = []
        skipped: list[int] = []
        self._resolve(node, port, ready, skipped)
        return ready, skipped

    def _resolve(self, node: PlanNode, port: str | None, ready: list[int], skipped: list[int]) -> None:
        """Resolve the edges that leave a node; a skip travels on. No recursion: chains may be long."""
        work = [(node, port)]
        while work:
            here, on = work.pop()
            for target in here.targets:
                if target.back:
                    continue
                self.waiting[target.node] -= 1
                if target.port == on:
                    self.taken[target.node] = True
                if self.waiting[target.node] == 0:
                    if self.taken[target.node]:
                        ready.append(target.node)
                    else:
                        skipped.append(target.node)
                        work.append((self.plan.nodes[target.node], None))

    def inputs(self, node: PlanNode) -> Inputs:
        """The values of the edges that were taken; several from one node count once."""
        values, port = self.values, self.port
        sources = node.sources
        if len(sources) == 1:
            source = sources[0]
            value = values[source.node]
            return Inputs(value, {source.id: value})
        came = {s.id: values[s.node] for s in sources if port[s.node] == s.port}
        if not came:
            return Inputs(None, came)
        return Inputs(next(iter(came.values())) if len(came) == 1 else came, came)
