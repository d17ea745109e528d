"""The order of a graph and its cycles. networkx is asked only where there is a cycle to explain."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import msgspec


class Order(msgspec.Struct, frozen=True):
    """`nodes` in an order that respects every edge but `back` edges; ties go by name. `cycles` lists the
    members of each strongly connected part that has more than one node or a loop of its own."""

    nodes: tuple[str, ...]
    back: frozenset[tuple[str, str]]
    cycles: tuple[tuple[str, ...], ...]


def order_of(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Order:
    """A deterministic order of the graph; both ends of every edge are in `names`."""
    plain = _kahn(names, edges)
    if len(plain) == len(names):
        return Order(tuple(plain), frozenset(), ())
    cycles = _cycles(names, edges)
    back = _back_edges(names, edges, cycles)
    forward = [edge for edge in edges if edge not in back]
    return Order(tuple(_kahn(names, forward)), back, cycles)


def _kahn(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    waiting = dict.fromkeys(names, 0)
    after: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        waiting[target] += 1
        after[source].append(target)
    ready = [name for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    done = []
    while ready:
        name = heapq.heappop(ready)
        done.append(name)
        for target in after[name]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, target)
    return done


def _cycles(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    parts = (sorted(part) for part in nx.strongly_connected_components(graph))
    return tuple(sorted(tuple(p) for p in parts if len(p) > 1 or graph.has_edge(p[0], p[0])))


def _back_edges(
    names: Sequence[str], edges: Sequence[tuple[str, str]], cycles: Sequence[Sequence[str]]
) -> frozenset[tuple[str, str]]:
    """The edges that close a cycle when walking from where the cycle is entered, in order of names."""
    part_of = {name: i for i, part in enumerate(cycles) for name in part}
    inside: Mapping[str, list[str]] = {name: [] for name in part_of}
    entered: dict[int, set[str]] = {i: set() for i in range(len(cycles))}
    for source, target in sorted(edges):
        if target in part_of and part_of.get(source) == part_of[target]:
            inside[source].append(target)
        elif target in part_of:
            entered[part_of[target]].add(target)
    back: set[tuple[str, str]] = set()
    done: set[str] = set()
    for i, part in enumerate(cycles):
        for start in [*sorted(entered[i]), *part]:
            _walk(start, inside, done, back)
    return frozenset(back)


def _walk(start: str, inside: Mapping[str, list[str]], done: set[str], back: set[tuple[str, str]]) -> None:
    """A depth-first walk without recursion: an edge to a node on the path closes a cycle."""
    if start in done:
        return
    path, stack = {start}, [(start, iter(inside[start]))]
    while stack:
        name, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            stack.pop()
            path.discard(name)
            done.add(name)
        elif target in path:
            back.add((name, target))
        elif target not in done:
            path.add(target)
            stack.append((target, iter(inside[target])))
