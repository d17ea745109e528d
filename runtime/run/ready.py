"""When a node is ready: pure predicates over what its incoming edges came to."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from runtime.node import Inputs
from runtime.plan import Plan, PlanNode


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

    def first(self) -> list[PlanNode]:
        """Nodes that wait for nothing, in plan order."""
        return [node for node in self.plan.nodes if self.waiting[node.index] == 0]

    def finish(self, node: PlanNode, port: str, value: Any, ready: deque[PlanNode]) -> Sequence[PlanNode]:
        """Note a node's result on `port`. Nodes that are ready now join `ready`; those skipped now are given
        back."""
        self.values[node.index], self.port[node.index] = value, port
        waiting, taken, nodes = self.waiting, self.taken, self.plan.nodes
        skipped: list[PlanNode] | None = None
        for index, on, back in node.targets:
            if back:
                continue
            left = waiting[index] = waiting[index] - 1
            if on == port:
                taken[index] = True
            if left == 0:
                if taken[index]:
                    ready.append(nodes[index])
                else:
                    skipped = skipped or []
                    skipped.append(nodes[index])
        return () if skipped is None else self._skip(skipped, ready)

    def _skip(self, skipped: list[PlanNode], ready: deque[PlanNode]) -> list[PlanNode]:
        """A skip travels on; without recursion, since chains may be long."""
        work = list(skipped)
        while work:
            for index, _, back in work.pop().targets:
                if back:
                    continue
                self.waiting[index] -= 1
                if self.waiting[index] == 0:
                    node = self.plan.nodes[index]
                    if self.taken[index]:
                        ready.append(node)
                    else:
                        skipped.append(node)
                        work.append(node)
        return skipped

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
