"""When a node is ready: pure predicates over what its incoming edges came to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from runtime.node import Inputs
from runtime.plan import Plan, PlanNode, Source


class Board:
    """What every edge and node came to so far; nothing here awaits or decides what a failure means.

    A node is ready when none of its incoming message edges is pending and one of them was taken; it is
    skipped when all of them were skipped. An edge that closes a cycle is not awaited.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.values: list[Any] = [None] * len(plan.nodes)
        self.port: list[str | None] = [None] * len(plan.nodes)
        self.waiting = [node.awaits for node in plan.nodes]
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


class CyclicBoard(Board):
    """A board for flows in which a router's edge leads back.

    When a node's result goes back to an earlier one, the part between them is set out anew: the earlier
    node is visited again with that value alone, the others wait for each other once more. The other
    branches of the node that goes back are left open, since a later visit may take them.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._resolved: list[dict[tuple[int, str], bool]] = [{} for _ in plan.nodes]
        self._again: dict[int, Source] = {}

    def finish(self, node: PlanNode, port: str, value: Any, ready: deque[PlanNode]) -> Sequence[PlanNode]:
        back = [target for target in node.targets if target.back and target.port == port]
        self._again.pop(node.index, None)
        if not back:
            self._note(node, port)
            return super().finish(node, port, value, ready)
        self.values[node.index], self.port[node.index] = value, port
        for target in back:
            self._set_out_anew(node, self.plan.nodes[target.node], port, ready)
        return ()

    def _skip(self, skipped: list[PlanNode], ready: deque[PlanNode]) -> list[PlanNode]:
        gone = super()._skip(skipped, ready)
        for node in gone:
            self._note(node, None)
        return gone

    def inputs(self, node: PlanNode) -> Inputs:
        again = self._again.get(node.index)
        if again is None:
            return super().inputs(node)
        value = self.values[again.node]
        return Inputs(value, {again.id: value})

    def _note(self, node: PlanNode, port: str | None) -> None:
        """Remember what each edge came to, so that a part can be set out anew."""
        self.port[node.index] = port
        for target in node.targets:
            if not target.back:
                self._resolved[target.node][(node.index, target.port)] = target.port == port

    def _set_out_anew(self, node: PlanNode, first: PlanNode, port: str, ready: deque[PlanNode]) -> None:
        part = self._between(first.index, node.index)
        for index in part:
            here = self.plan.nodes[index]
            known = self._resolved[index]
            edges = {(s.node, s.port): known.get((s.node, s.port)) for s in here.sources if not s.back}
            for edge in edges:
                if edge[0] in part:
                    edges[edge] = None
                    known.pop(edge, None)
            self.waiting[index] = sum(state is None for state in edges.values())
            self.taken[index] = any(state is True for state in edges.values())
        source = next(s for s in first.sources if s.back and s.node == node.index and s.port == port)
        self._again[first.index] = source
        ready.append(first)

    def _between(self, first: int, last: int) -> set[int]:
        """The nodes on the forward ways from `first` to `last`, both included."""
        onward = self._reach(first, lambda n: [t.node for t in self.plan.nodes[n].targets if not t.back])
        before = self._reach(last, lambda n: [s.node for s in self.plan.nodes[n].sources if not s.back])
        return onward & before

    @staticmethod
    def _reach(start: int, following: Callable[[int], list[int]]) -> set[int]:
        seen, work = {start}, [start]
        while work:
            for index in following(work.pop()):
                if index not in seen:
                    seen.add(index)
                    work.append(index)
        return seen
